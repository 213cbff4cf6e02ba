"""The words of a story: which field decided, who the client is, and whom a packet nobody answers missed."""

from collections.abc import Iterable
from typing import Final

from kubeproxy.packets.addresses import Addresses, Answer
from kubeproxy.packets.packet import Packet, Step
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import Because, FrontendKind, PortRoutes, Source, Topology

FIELDS: Final = {
    FrontendKind.CLUSTER_IP: "spec.clusterIPs",
    FrontendKind.EXTERNAL_IP: "spec.externalIPs",
    FrontendKind.LOAD_BALANCER: "status.loadBalancer.ingress",
    FrontendKind.NODE_PORT: "spec.ports[].nodePort",
}
SOURCE_RANGES: Final = "spec.loadBalancerSourceRanges"
TOPOLOGY: Final = {Topology.NODE: Because.TOPOLOGY_NODE, Topology.ZONE: Because.TOPOLOGY_ZONE}
_CLIENTS: Final = {
    Source.POD: "the client counts as a pod",
    Source.HOST: "the client is this node itself",
    Source.OTHER: "the client is neither a pod nor this node",
}


def dialled(answer: Answer) -> Step:
    """Whom the packet is for, and the field that says so."""
    kind = answer.route.frontend.kind
    return Step(f"dials the {kind} of Service {answer.name}", detail=FIELDS[kind])


def passed_by(answer: Answer, allowed: bool) -> Step:
    """Somebody the packet was for who did not give it to an endpoint, so that the next one is asked."""
    said = f"dials the {answer.route.frontend.kind} of Service {answer.name}"
    if not allowed:
        return Step(f"{said}, which does not let it in", Because.SOURCE_NOT_ALLOWED, SOURCE_RANGES)
    return Step(f"{said}, which has nobody for it", answer.route.because or "", policy(answer))


def policy(answer: Answer) -> str:
    """The policy field that chose the pool, as it is spelled in the Service."""
    port = answer.decided.port
    internal = answer.route.frontend.kind is FrontendKind.CLUSTER_IP
    local = port.internal_local if internal else port.external_local
    return f"spec.{'internal' if internal else 'external'}TrafficPolicy: {'Local' if local else 'Cluster'}"


def client(packet: Packet, source: Source, node: NodeView) -> Step:
    """Which class of client it is, and how that is known."""
    detector = node.detector
    known_by = (
        f"pods are known by {detector.by.value} {detector.value}" if detector else "pods are not told apart"
    )
    return Step(_CLIENTS[source], detail="" if source is Source.HOST else known_by)


def near_misses(packet: Packet, addresses: Addresses, node: NodeView) -> tuple[Step, ...]:
    """What a packet that no Service answers may have been meant for."""
    if node.is_local(packet.destination) and packet.protocol == "TCP":
        decided = addresses.health_check(packet.family, packet.port)
        if decided is not None:
            said = (
                f"dials the health check port of Service {decided.name.owner}, which the proxy itself answers"
            )
            return (Step(said, detail="spec.healthCheckNodePort"),)
    here = addresses.here(packet.destination)
    if not here:
        return (Step("meets no Service", Because.NO_FRONTEND),)
    owners = ", ".join(sorted({f"Service {decided.name.owner}" for decided in here}))
    return (Step(f"the address is of {owners}, which answers on {_ports(here)}", Because.NO_FRONTEND),)


def _ports(here: Iterable[PortRoutes]) -> str:
    ports = sorted({(decided.port.port, decided.name.protocol) for decided in here})
    return ", ".join(f"{port}/{protocol}" for port, protocol in ports)
