"""A packet that is to no Service → what becomes of it, and what may have been meant."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from kubeproxy.api.addresses import canonical_ip
from kubeproxy.api.service import Service
from kubeproxy.cli.explain_answer import Decision, Next
from kubeproxy.cli.explain_question import PING
from kubeproxy.cli.explain_scene import Scene
from kubeproxy.model.identity import Protocol, ServiceName
from kubeproxy.model.service import OTHER_PROXY_LABEL
from kubeproxy.packets.packet import Packet
from kubeproxy.routes.nodeview import DetectBy, is_loopback, within
from kubeproxy.routes.route import FrontendKind, PortRoutes

_OWN_PROXY: Final = "answered there, by the proxy of that node; ask with --hostname-override"
_MANY: Final = 8


class Miss(Struct, frozen=True):
    """What is said of such a packet."""

    summary: str
    decided: tuple[Decision, ...] = ()
    remarks: tuple[str, ...] = ()
    next: tuple[Next, ...] = ()


Guess: TypeAlias = Callable[[Packet, Scene], Miss | None]


def miss(packet: Packet, scene: Scene) -> Miss:
    """The first guess that fits."""
    for guess in GUESSES:
        found = guess(packet, scene)
        if found is not None:
            return found
    return _elsewhere(packet, scene)


def _health_check(packet: Packet, scene: Scene) -> Miss | None:
    """Health-check ports are answered by the proxy's own server, and no rule leads there."""
    if packet.protocol != Protocol.TCP or not scene.view(packet.family).is_local(packet.destination):
        return None
    decided = scene.addresses(packet.family).health_check(packet.family, packet.port)
    if decided is None:
        return None
    from kubeproxy.routes.healthports import local_endpoints

    owner, view = decided.name.owner, scene.view(packet.family)
    count = local_endpoints(scene.picture.tracker.snapshot, view, owner)
    ready = f"{count} ready endpoint{'' if count == 1 else 's'}"
    code = 200 if count else 503
    said = f"this node has {ready} of it, so the answer is {code}"
    return Miss(
        f"answered by kube-proxy itself: it tells load balancers about Service {owner}",
        (Decision(f"spec.healthCheckNodePort: {packet.port}", said),),
    )


def _other_port(packet: Packet, scene: Scene) -> Miss | None:
    """The address is of a Service, but not with this port."""
    here = scene.addresses(packet.family).here(packet.destination)
    if not here or scene.view(packet.family).is_local(packet.destination):
        return None
    owners = _listed(sorted({f"Service {decided.name.owner}" for decided in here}))
    ports = _ports(here)
    if packet.protocol == PING:
        return _ping(packet, here, owners)
    asked = f"{packet.port}/{packet.protocol}"
    cluster_ip = scene.addresses(packet.family).is_cluster_ip(packet.destination)
    summary = f"not answered: {owners} has no port {asked} on {packet.destination}"
    follows = "the packet goes on as if no Service were there"
    ends = f"{follows}; nobody has a cluster IP, so it is lost" if cluster_ip else follows
    again = _dial(packet.destination, here[0].port.port, here[0].name.protocol)
    return Miss(
        summary,
        (Decision(f"spec.ports: {ports}", "only these ports lead to endpoints"),),
        (f"{ends}: the client waits until its time is up",) if cluster_ip else (f"{ends}",),
        (Next("ask about a port that it has", f"kube-proxy explain {again}"),),
    )


def _ping(packet: Packet, here: Sequence[PortRoutes], owners: str) -> Miss:
    to = packet.destination
    host = f"[{to}]" if ":" in to else to
    first = next((d for d in here if d.name.protocol is Protocol.TCP), here[0])
    tries = {
        Protocol.TCP: f"curl -v telnet://{host}:{first.port.port}",
        Protocol.UDP: f"nc -u {to} {first.port.port}",
    }.get(first.name.protocol, "")
    if any(decided.port.cluster_ip == to for decided in here):
        summary = f"not answered: {to} is a cluster IP, which does not answer pings"
        because = f"{owners} has these ports and nothing else; no machine has the address, so none answers"
    else:
        summary = f"not touched: a ping to {to} is not for {owners}, only its ports are"
        because = "whoever has the address, such as a load balancer, answers pings or does not"
    return Miss(
        summary,
        (Decision(f"spec.ports: {_ports(here)}", because),),
        ("that a ping fails says nothing about whether the Service works",),
        (Next("to test it, connect to a port of it", tries),),
    )


def _not_programmed(packet: Packet, scene: Scene) -> Miss | None:
    """The address is written in a Service, and yet is not ours to answer."""
    for name, service in scene.picture.services.items():
        for field, said in _unprogrammed(packet, name, service, scene):
            return Miss(f"not touched: {said}", (Decision(field, "so this proxy leaves it alone"),))
    return None


def _unprogrammed(
    packet: Packet, name: ServiceName, service: Service, scene: Scene
) -> Iterator[tuple[str, str]]:
    to, spec = packet.destination, service.spec
    other = service.metadata.labels.get(OTHER_PROXY_LABEL)
    balanced = service.status.loadBalancer.ingress
    for ingress in balanced:
        if ingress.ipMode == "Proxy" and canonical_ip(ingress.ip) == to:
            field = "status.loadBalancer.ingress[].ipMode: Proxy"
            yield field, f"{to} is the load balancer of Service {name}, which wants its packets itself"
    written = (*spec.clusterIPs, spec.clusterIP, *spec.externalIPs, *(entry.ip for entry in balanced))
    if to not in map(canonical_ip, written):
        return
    if other is not None:
        field = f"metadata.labels[{OTHER_PROXY_LABEL}]: {other or '(empty)'}"
        yield field, f"{to} is an address of Service {name}, which is left to another proxy"
    elif not scene.serves_external_ips and to in map(canonical_ip, spec.externalIPs):
        field = "featureGates.AllowServiceExternalIPs: false"
        yield field, f"{to} is an external IP of Service {name}, and external IPs are switched off"


def _loopback(packet: Packet, scene: Scene) -> Miss | None:
    if not is_loopback(packet.destination):
        return None
    return Miss(
        f"not touched: {packet.destination} is the sender's own loopback, and {_no_node_port(packet)}",
        (Decision(f"spec.ports[].nodePort: {packet.port}/{packet.protocol}", "no Service has it"),),
        (_program(packet), *_node_ports(packet, scene)),
    )


def _this_node(packet: Packet, scene: Scene) -> Miss | None:
    if not scene.view(packet.family).is_local(packet.destination):
        return None
    to = packet.destination
    summary = f"not touched: {to} is this node, and {_no_node_port(packet)}"
    if packet.protocol == PING:
        summary = f"not touched: {to} is this node, which answers pings itself"
        return Miss(summary, (_no_service("a Service has only its ports"),))
    field = f"spec.ports[].nodePort: {packet.port}/{packet.protocol}"
    return Miss(
        summary,
        (Decision(field, "no Service has it"),),
        (_program(packet), *_also(packet, scene), *_node_ports(packet, scene)),
    )


def _also(packet: Packet, scene: Scene) -> Iterator[str]:
    """A Service may name a node's address as its own."""
    for decided in scene.addresses(packet.family).here(packet.destination):
        port = f"{decided.port.port}/{decided.name.protocol}"
        yield f"on port {port} it is an address of Service {decided.name}"


def _other_node(packet: Packet, scene: Scene) -> Miss | None:
    node = scene.node_with(packet.destination)
    if node is None:
        return None
    name, to = node.metadata.name, packet.destination
    behind = scene.addresses(packet.family).node_port(packet.family, packet.protocol, packet.port)
    told = [f"Service {behind.name} has node port {packet.port}: {_OWN_PROXY} {name}"] if behind else []
    return Miss(
        f"not touched: {to} is the node {name}, and this node only routes to it",
        (_no_service("what other nodes answer is decided there"),),
        tuple(told),
    )


def _pod(packet: Packet, scene: Scene) -> Miss | None:
    """Who dials a pod needs no Service."""
    pod = scene.pod(packet.destination, packet.family)
    if pod is None:
        return None
    where = scene.here(pod.endpoint)
    return Miss(
        f"not touched: {packet.destination} is a pod {where}, and packets to pods pass by all Services",
        (_no_service("a pod's own address is routed to it as it is"),),
        (f"it is an endpoint of Service {pod.name}", "the pod sees the sender as it is"),
    )


def _pod_network(packet: Packet, scene: Scene) -> Miss | None:
    to, node = packet.destination, scene.node_of_pods(packet.destination, packet.family)
    if node is not None:
        whose = f"in the pod network of {node.metadata.name}"
    else:
        detector = scene.view(packet.family).detector
        if detector is None or detector.by is not DetectBy.CIDR or not within(to, detector.value):
            return None
        whose = f"in the pod network {detector.value}"
    return Miss(
        f"not touched: {to} is {whose}, and packets to pods pass by all Services",
        (_no_service("a pod's own address is routed to it as it is"),),
        ("it is no endpoint of any Service; whether there is such a pod, nothing here says",),
    )


def _unallocated(packet: Packet, scene: Scene) -> Miss | None:
    networks = scene.service_networks(packet.family)
    network = next((network for network in networks if within(packet.destination, network)), None)
    if network is None:
        return None
    return Miss(
        f"not answered: no Service has the cluster IP {packet.destination}",
        (Decision(f"cluster IPs come from {network}", "nobody else has such an address"),),
        ("the packet goes on as if no Service were there, and is lost: the client waits in vain",),
        (Next("look up its name once more: a Service that was made anew has another address"),),
    )


def _elsewhere(packet: Packet, scene: Scene) -> Miss:
    """Most packets of a cluster are none of ours."""
    return Miss(
        f"not touched: no Service has the address {packet.destination}",
        (_no_service("kube-proxy leaves the packet as it is, and it is routed as usual"),),
        (
            (
                "whether a pod's address is replaced on its way out (masqueraded) is up to the network "
                "plug-in or an ip-masq-agent, not to kube-proxy"
            ),
        ),
    )


GUESSES: Final[tuple[Guess, ...]] = (
    _health_check,
    _other_port,
    _not_programmed,
    _loopback,
    _this_node,
    _other_node,
    _pod,
    _pod_network,
    _unallocated,
)


def _no_service(because: str) -> Decision:
    return Decision("no field of any Service", because)


def _no_node_port(packet: Packet) -> str:
    return f"no Service has node port {packet.port}/{packet.protocol}"


def _program(packet: Packet) -> str:
    return f"a program on that machine that listens on port {packet.port} would answer"


def _node_ports(packet: Packet, scene: Scene) -> Iterator[str]:
    """What there is instead, the same number first."""
    found: list[tuple[bool, int, str]] = []
    for decided in scene.routes(packet.family).values():
        if number := decided.port.node_port:
            text = f"{number}/{decided.name.protocol} of Service {decided.name}"
            found.append((number != packet.port, number, text))
    if found:
        found.sort()
        more = f", and {len(found) - _MANY} more" if len(found) > _MANY else ""
        yield f"node ports there are: {', '.join(text for _, _, text in found[:_MANY])}{more}"


def _ports(here: Sequence[PortRoutes]) -> str:
    found = {
        (d.port.port, f"{d.port.port}/{d.name.protocol}{f' ({d.name.port})' if d.name.port else ''}")
        for d in here
        if any(route.frontend.kind is not FrontendKind.NODE_PORT for route in d.routes)
    }
    return _listed([text for _, text in sorted(found)])


def _listed(texts: list[str]) -> str:
    return ", ".join(texts)


def _dial(address: str, port: int, protocol: str) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{port}" + ("" if protocol == Protocol.TCP else f"/{protocol.lower()}")
