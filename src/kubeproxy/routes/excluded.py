"""Which endpoints a pool does not hold, and why: worked out only when somebody asks."""

from collections.abc import Iterator, Sequence

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.policy import is_here
from kubeproxy.routes.route import Because, Excluded, FrontendKind, PortRoutes, Route, Topology

_BY_HINT = {Topology.NODE: Because.OTHER_NODE_HINT, Topology.ZONE: Because.OTHER_ZONE}


def excluded(
    decided: PortRoutes, route: Route, endpoints: Sequence[Endpoint], node: NodeView
) -> tuple[Excluded, ...]:
    """The endpoints of a ServicePort that a Route's own pool leaves out."""
    internal = route.frontend.kind is FrontendKind.CLUSTER_IP
    port = decided.port
    if port.internal_local if internal else port.external_local:
        return excluded_from_local(decided, endpoints, node)
    return excluded_from_cluster(decided, endpoints)


def excluded_from_cluster(decided: PortRoutes, endpoints: Sequence[Endpoint]) -> tuple[Excluded, ...]:
    pool = _members(decided.cluster)
    by_hint = _BY_HINT.get(decided.topology, Because.NOT_READY)
    return tuple(_reasons([e for e in endpoints if e not in pool], by_hint))


def excluded_from_local(
    decided: PortRoutes, endpoints: Sequence[Endpoint], node: NodeView
) -> tuple[Excluded, ...]:
    pool = _members(decided.local)
    found = []
    for endpoint in endpoints:
        if not is_here(endpoint, node):
            found.append(Excluded(endpoint, Because.OTHER_NODE))
        elif endpoint not in pool:
            found.extend(_reasons([endpoint], Because.NOT_READY))
    return tuple(found)


def _members(pool: tuple[Endpoint, ...] | None) -> frozenset[Endpoint]:
    return frozenset(pool or ())


def _reasons(endpoints: Sequence[Endpoint], by_hint: Because) -> Iterator[Excluded]:
    for endpoint in endpoints:
        if endpoint.ready:
            yield Excluded(endpoint, by_hint)
        elif not endpoint.terminating:
            yield Excluded(endpoint, Because.NOT_READY)
        else:
            yield Excluded(endpoint, Because.DRAINING if endpoint.serving else Because.DEAD)
