"""The chains a packet passes, so that an operator can look at each of them and its counters.

The story is known already; here its stations get their names.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from kubeproxy.backends.iptables.names import (
    EXTERNAL_SERVICES,
    FIREWALL,
    FORWARD,
    MARK_MASQ,
    NODE_PORTS,
    POSTROUTING,
    PROXY_FIREWALL,
    SERVICES,
    Kind,
    endpoint_hashes,
    port_hash,
)
from kubeproxy.backends.waypoint import Waypoint
from kubeproxy.model.identity import Family
from kubeproxy.packets.packet import Outcome, Story
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import Because, FrontendKind, PortRoutes, Route

_NAT: Final = "nat"
_FILTER: Final = "filter"
_PROGRAM: Final = {Family.IPV4: "iptables", Family.IPV6: "ip6tables"}

#: table, chain, what happens there
_Station: TypeAlias = tuple[str, str, str]


def trail(story: Story, decided: PortRoutes | None, node: NodeView) -> tuple[Waypoint, ...]:
    """Every chain of ours in which something happens to the packet, in its order."""
    program = _PROGRAM[story.packet.family]
    stations = tuple(_stations(story, decided, node))
    choosing = f"{Kind.CLUSTER}", f"{Kind.LOCAL}"
    decides = [chain.startswith(choosing) for _, chain, _ in stations]
    if not any(decides):
        decides[-1] = True
    return tuple(
        Waypoint(f"{table} {chain}", what, f"{program} -t {table} -nvL {chain}", here)
        for (table, chain, what), here in zip(stations, decides, strict=True)
    )


def _stations(story: Story, decided: PortRoutes | None, node: NodeView) -> Iterator[_Station]:
    route = _route(story, decided)
    reasons = {step.because for step in story.steps}
    unlisted = story.outcome is Outcome.DROPPED and Because.SOURCE_NOT_ALLOWED in reasons
    way: tuple[_Station, ...] = ()
    if decided is not None and route is not None and _dispatched(story, route, node):
        way = tuple(_to_service(story, decided, route, listed=not unlisted))
    finds = "finds" if way else "finds nothing for"
    yield _NAT, SERVICES, f"{finds} this address and port"
    yield from way
    if Because.LOOPBACK_GUARD in reasons:
        yield _FILTER, FIREWALL, "drops what comes from elsewhere to a loopback address"
    elif route is None and any(step.detail == "spec.healthCheckNodePort" for step in story.steps):
        yield _FILTER, NODE_PORTS, "lets load balancers ask for the health of a Service"
    elif decided is not None and route is not None and story.outcome is not Outcome.UNTOUCHED:
        yield from _filtered(story, decided, route, node)


def _route(story: Story, decided: PortRoutes | None) -> Route | None:
    routes = decided.routes if decided is not None else ()
    return next((route for route in routes if route.frontend == story.frontend), None)


def _dispatched(story: Story, route: Route, node: NodeView) -> bool:
    """A node port is looked for only where it is served, even if it is refused everywhere."""
    anywhere = route.frontend.kind is not FrontendKind.NODE_PORT
    return anywhere or node.serves_node_port_on(story.packet.destination)


def _to_service(story: Story, decided: PortRoutes, route: Route, *, listed: bool) -> Iterator[_Station]:
    """From the dispatch to the endpoint; where nobody may answer, as far as it leads."""
    digest, kind = port_hash(decided.name), route.frontend.kind
    inside = kind is FrontendKind.CLUSTER_IP
    if not decided.usable_anywhere or (inside and not route.pool):
        return
    if kind is FrontendKind.NODE_PORT:
        yield _NAT, NODE_PORTS, "finds the node port"
    if route.allowed is not None:
        yield _NAT, f"{Kind.FIREWALL}{digest}", "lets only clients in the source ranges go on"
    if not listed:
        return
    if not inside:
        yield _NAT, f"{Kind.EXTERNAL}{digest}", "for clients that dial from outside the cluster"
    if story.outcome is Outcome.ARRIVES or route.pool:
        yield from _to_endpoints(story, decided, route)


def _to_endpoints(story: Story, decided: PortRoutes, route: Route) -> Iterator[_Station]:
    inside = route.frontend.kind is FrontendKind.CLUSTER_IP
    local = decided.port.internal_local if inside else decided.port.external_local
    cut = any(step.because == Because.SHORTCUT for step in story.steps)
    digest = port_hash(decided.name)
    if local and not cut:
        yield _NAT, f"{Kind.LOCAL}{digest}", "chooses among the endpoints of this node"
    else:
        yield _NAT, f"{Kind.CLUSTER}{digest}", "chooses an endpoint"
    texts = [choice.endpoint for choice in story.choices]
    for text, hashed in zip(texts, endpoint_hashes(decided.name, texts), strict=True):
        yield _NAT, f"{Kind.ENDPOINT}{hashed}", f"sends it to {text}"


def _filtered(story: Story, decided: PortRoutes, route: Route, node: NodeView) -> Iterator[_Station]:
    """What comes after the address was rewritten, or was not."""
    hidden = [choice for choice in story.choices if choice.masqueraded]
    if hidden:
        yield _NAT, MARK_MASQ, "marks it, to be given this node's address"
        if not story.packet.from_node and not all(node.is_local(_host(c.endpoint)) for c in hidden):
            yield _FILTER, FORWARD, "lets what is marked pass"
        yield _NAT, POSTROUTING, "gives it this node's address as its source"
    if story.outcome is Outcome.ARRIVES:
        return
    if route.allowed is not None and decided.usable_anywhere:
        yield _FILTER, PROXY_FIREWALL, "drops what the source ranges do not let in"
    elif not route.pool:
        inside = route.frontend.kind is FrontendKind.CLUSTER_IP
        word = "refuses" if story.outcome is Outcome.REJECTED else "drops"
        yield _FILTER, SERVICES if inside else EXTERNAL_SERVICES, f"{word} what no endpoint may answer"


def _host(endpoint: str) -> str:
    return endpoint.rpartition(":")[0].strip("[]")
