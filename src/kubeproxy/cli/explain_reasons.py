"""Which fields decided, the one that counts first, in words for somebody who never read the code."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kubeproxy.cli.explain_answer import Decision
from kubeproxy.cli.explain_scene import Scene
from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import PortName
from kubeproxy.packets.packet import Outcome, Step, Story
from kubeproxy.routes import topology
from kubeproxy.routes.eligible import usable
from kubeproxy.routes.nodeview import NodeView, is_loopback, within
from kubeproxy.routes.route import Because, FrontendKind, PortRoutes, Route, Topology

_HINTS = {Topology.NODE: "forNodes", Topology.ZONE: "forZones"}
_DAY, _HOUR, _MINUTE = 86400, 3600, 60


class Case(Struct, frozen=True):
    """A story about a Service's address, with what was decided about that Service."""

    story: Story
    decided: PortRoutes
    route: Route
    #: all there are, usable or not
    endpoints: tuple[Endpoint, ...]
    #: the ports that its EndpointSlices know
    served: tuple[PortName, ...]
    node: NodeView

    @property
    def name(self) -> PortName:
        return self.decided.name

    def has(self, because: Because) -> bool:
        return any(step.because == because for step in self.story.steps)

    @property
    def refusing(self) -> Step | None:
        """An endpoint that was chosen may itself be an address where somebody refuses."""
        return next((step for step in self.story.steps if step.what.endswith(", which refuses")), None)

    @property
    def inside(self) -> bool:
        return self.route.frontend.kind is FrontendKind.CLUSTER_IP

    @property
    def local(self) -> bool:
        """Whether the policy for this address is Local."""
        port = self.decided.port
        return port.internal_local if self.inside else port.external_local

    @property
    def policy(self) -> str:
        side = "internal" if self.inside else "external"
        return f"spec.{side}TrafficPolicy: {'Local' if self.local else 'Cluster'}"


def case(story: Story, scene: Scene) -> Case | None:
    """None for a packet that no Service's address was dialled with."""
    if story.service is None or story.frontend is None:
        return None
    family = story.service.family
    decided = scene.routes(family)[story.service]
    route = next(route for route in decided.routes if route.frontend == story.frontend)
    served = tuple(scene.picture.tracker.snapshot.served_names(story.service.owner, family))
    return Case(story, decided, route, scene.endpoints(story.service), served, scene.view(family))


def decisions(found: Case) -> tuple[Decision, ...]:
    """Ends first, then what narrowed the choice, then what only might have."""
    if found.story.outcome is Outcome.ARRIVES:
        return (*_choosing(found), *_sticky(found), *_let_in(found), *_ignored(found))
    return tuple(_ending(found))


def _ending(found: Case) -> Iterator[Decision]:
    port, packet = found.decided.port, found.story.packet
    if found.has(Because.SOURCE_NOT_ALLOWED):
        ranges = ", ".join(port.source_ranges)
        yield Decision(
            f"spec.loadBalancerSourceRanges: {ranges}",
            f"{packet.source} is in none of them, and everybody else is dropped",
        )
        return
    if found.has(Because.LOOPBACK_GUARD):
        yield Decision("iptables.localhostNodePorts: true", f"{Because.LOOPBACK_GUARD}")
        return
    if found.has(Because.NOT_A_NODE_PORT_ADDRESS):
        yield _not_an_address(found)
        return
    if found.refusing is not None:
        yield Decision(found.refusing.detail, f"{found.refusing.what}: {found.refusing.because}")
        return
    if not found.decided.usable_anywhere:
        yield _nobody(found)
    if found.local or found.decided.usable_anywhere:
        yield Decision(found.policy, "only endpoints on this node may answer, and none here can be used")
    if found.story.outcome is Outcome.UNTOUCHED:
        yield Decision("where it is refused", f"{Because.NOT_REFUSED_HERE}")


def _not_an_address(found: Case) -> Decision:
    packet, networks = found.story.packet, found.node.node_ports.networks
    if packet.destination == "::1":
        return Decision("spec.ports[].nodePort", "no node port answers on the loopback address of IPv6")
    if is_loopback(packet.destination):
        field = "iptables.localhostNodePorts, nodePortAddresses"
        return Decision(field, "node ports do not answer on this loopback address")
    listed = f": {', '.join(networks)}" if networks else ""
    return Decision(f"nodePortAddresses{listed}", f"{packet.destination} is not among them")


def _nobody(found: Case) -> Decision:
    """A port that is named otherwise in the slices is a slip that is hard to see."""
    name = found.name
    if found.endpoints:
        many = len(found.endpoints)
        said = f"none of its {many} endpoints is ready" if many > 1 else "its only endpoint is not ready"
        return Decision("EndpointSlice endpoints[].conditions", said)
    if found.served:
        there = ", ".join(f"{port.port!r} ({port.protocol})" for port in found.served)
        asked = f"{name.port!r} ({name.protocol})"
        said = f"the slices have {there}, and the Service asks for {asked}"
        return Decision("EndpointSlice ports[].name", said)
    return Decision(f"EndpointSlices of {name.owner}", "it has none with an endpoint")


def _choosing(found: Case) -> Iterator[Decision]:
    """Which endpoints may be chosen, the narrowest reason first."""
    yield from _draining(found)
    if found.has(Because.SHORTCUT):
        yield Decision(
            "spec.externalTrafficPolicy: Local",
            "but the client is inside the cluster, so any usable endpoint may be chosen",
        )
        return
    if found.local:
        seen = "" if found.inside else ", and a client outside keeps its address"
        yield Decision(found.policy, f"only endpoints on this node may be chosen{seen}")
        return
    hints = found.decided.topology
    if hints is not Topology.NONE:
        place = f"this node's zone ({found.node.zone})" if hints is Topology.ZONE else "this node"
        yield Decision(
            f"EndpointSlice endpoints[].hints.{_HINTS[hints]}",
            f"only endpoints meant for {place}, since every ready endpoint says whom it is meant for",
        )
        yield Decision(found.policy, "which lets hints narrow the choice")
        return
    yield Decision(found.policy, "any usable endpoint in the cluster may be chosen")


def _draining(found: Case) -> Iterator[Decision]:
    if found.has(Because.DRAINING_FALLBACK):
        yield Decision(
            "EndpointSlice endpoints[].conditions: serving and terminating",
            f"{Because.DRAINING_FALLBACK}",
        )


def _sticky(found: Case) -> Iterator[Decision]:
    if seconds := found.decided.port.affinity_seconds:
        yield Decision(
            "spec.sessionAffinity: ClientIP",
            f"a client that comes again within {_span(seconds)} gets the same endpoint",
        )


def _let_in(found: Case) -> Iterator[Decision]:
    allowed, source = found.route.allowed, found.story.packet.source
    if allowed is None:
        return
    inside = next((network for network in allowed.ranges if within(source, network)), None)
    said = f"{source} is in {inside}" if inside else f"{source} is an address of the Service itself"
    yield Decision(f"spec.loadBalancerSourceRanges: {', '.join(allowed.ranges)}", f"{said}, so it may pass")


def _ignored(found: Case) -> Iterator[Decision]:
    """Hints that exist and were not followed surprise people most."""
    ready = [endpoint for endpoint in found.endpoints if endpoint.ready]
    if found.local or found.decided.topology is not Topology.NONE:
        return
    if any(endpoint.zone_hints or endpoint.node_hints for endpoint in ready):
        zones = any(endpoint.zone_hints for endpoint in ready)
        wanted = _of_zones if zones else _of_nodes
        reasons = [reason for reason in topology.explain(ready, found.node).ignored if wanted(reason)]
        hints = f"EndpointSlice endpoints[].hints.{'forZones' if zones else 'forNodes'}"
        yield Decision(hints, f"not followed: {', '.join(reasons)}")


def _of_zones(reason: topology.HintsIgnored) -> bool:
    return not _of_nodes(reason)


def _of_nodes(reason: topology.HintsIgnored) -> bool:
    return reason in (
        topology.HintsIgnored.NODE_HINTS_INCOMPLETE,
        topology.HintsIgnored.NODE_HINTS_NO_MATCH,
    )


def some_usable_elsewhere(endpoints: Sequence[Endpoint], node: NodeView) -> int:
    """How many endpoints on other nodes could answer."""
    return sum(usable(endpoint) and endpoint.node != node.name for endpoint in endpoints)


def _span(seconds: int) -> str:
    """10800 as people say it."""
    for size, word in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if seconds % size == 0:
            count = seconds // size
            return f"{count} {word}{'s' if count > 1 else ''}"
    return f"{seconds} second{'s' if seconds > 1 else ''}"
