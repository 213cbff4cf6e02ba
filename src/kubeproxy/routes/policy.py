"""Internal and external policy → the pools in use, and the Verdict when one is empty."""

from msgspec import Struct

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.routes import topology
from kubeproxy.routes.eligible import draining, eligible, ready, usable
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import Because, Topology, Verdict


class Choice(Struct, frozen=True, gc=False):
    """Who may be used under which policy; None for a policy that no traffic is subject to."""

    cluster: tuple[Endpoint, ...] | None
    local: tuple[Endpoint, ...] | None
    #: both together, in order of their text
    reachable: tuple[Endpoint, ...]
    usable_anywhere: bool
    topology: Topology = Topology.NONE


def choose(port: ServicePort, endpoints: tuple[Endpoint, ...], node: NodeView) -> Choice:
    """The pools of a ServicePort on this node.

    Their fallbacks to draining endpoints are independent: the cluster may have ready endpoints while this
    node has only one that drains, and under Local policy that one still serves.
    """
    if not port.uses_cluster:
        local = _local(endpoints, node)
        return Choice(None, local, local, any(map(usable, endpoints)))
    cluster, hints = _cluster(endpoints, node)
    if not port.uses_local:
        return Choice(cluster, None, cluster, bool(cluster), hints)
    local = _local(endpoints, node)
    if local == cluster:
        local = cluster
    return Choice(cluster, local, _union(cluster, local, endpoints), bool(cluster), hints)


def verdict(anywhere: bool) -> tuple[Verdict, Because]:
    """What a client of an empty pool meets.

    Nobody anywhere: it is told so at once. Nobody here under Local policy: it is ignored, because whoever
    sent it here (a load balancer that still has to notice) should try another node.
    """
    if anywhere:
        return Verdict.DROP, Because.NO_LOCAL_ENDPOINTS
    return Verdict.REJECT, Because.NO_ENDPOINTS


def is_here(endpoint: Endpoint, node: NodeView) -> bool:
    """Whether the endpoint runs on this node; a node that does not know its name has none."""
    return endpoint.node == node.name != ""


def _cluster(endpoints: tuple[Endpoint, ...], node: NodeView) -> tuple[tuple[Endpoint, ...], Topology]:
    first_choice = ready(endpoints)
    if not first_choice:
        return draining(endpoints), Topology.NONE
    hints = topology.choose(first_choice, node)
    return topology.admitted(first_choice, hints, node), hints


def _local(endpoints: tuple[Endpoint, ...], node: NodeView) -> tuple[Endpoint, ...]:
    """Hints are not asked: Local is a promise about this node, whatever the control plane prefers."""
    name = node.name
    here = tuple([endpoint for endpoint in endpoints if endpoint.node == name]) if name else ()
    return eligible(endpoints if len(here) == len(endpoints) else here)


def _union(
    cluster: tuple[Endpoint, ...], local: tuple[Endpoint, ...], endpoints: tuple[Endpoint, ...]
) -> tuple[Endpoint, ...]:
    """Both come from the same endpoints, so identity tells them apart and their order is kept."""
    chosen = set(map(id, cluster))
    if chosen.issuperset(map(id, local)):
        return cluster
    chosen.update(map(id, local))
    return tuple([endpoint for endpoint in endpoints if id(endpoint) in chosen])
