"""Same node, same zone, or everyone: what the hints in slices make of the cluster-wide pool.

It is all or nothing for a ServicePort. Hints that cover only some endpoints are a sign that the control plane
is still writing them, and following them then would overload the few that have one.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import Topology


class HintsIgnored(StrEnum):
    """Why hints that exist were not followed; the values are the reasons upstream logs."""

    NODE_HINTS_INCOMPLETE = "some ready endpoint has no node hints"
    NODE_HINTS_NO_MATCH = "no endpoint has a hint for this node"
    ZONE_HINTS_INCOMPLETE = "some ready endpoint has no zone hints"
    ZONE_HINTS_NO_MATCH = "no endpoint has a hint for this node's zone"
    NODE_LABEL_MISSING = "this node has no zone label"


class Hints(Struct, frozen=True, gc=False):
    """What was made of the hints, and why not more."""

    topology: Topology
    ignored: tuple[HintsIgnored, ...]


def choose(ready: Sequence[Endpoint], node: NodeView) -> Topology:
    """Only ready endpoints have a say: what is going away must not keep traffic from its own zone."""
    if _node_hints_complete(ready) and any(node.name in endpoint.node_hints for endpoint in ready):
        return Topology.NODE
    if _zone_hints_complete(ready) and any(node.zone in endpoint.zone_hints for endpoint in ready):
        return Topology.ZONE
    return Topology.NONE


def admitted(ready: tuple[Endpoint, ...], topology: Topology, node: NodeView) -> tuple[Endpoint, ...]:
    """Those that the hints leave; never empty where the hints were chosen."""
    if topology is Topology.NODE:
        return tuple([endpoint for endpoint in ready if node.name in endpoint.node_hints])
    if topology is Topology.ZONE:
        return tuple([endpoint for endpoint in ready if node.zone in endpoint.zone_hints])
    return ready


def explain(ready: Sequence[Endpoint], node: NodeView) -> Hints:
    """The same choice, with the reasons against what was not chosen."""
    topology = choose(ready, node) if ready else Topology.NONE
    return Hints(topology, tuple(_ignored(ready, node, topology)) if ready else ())


def _ignored(ready: Sequence[Endpoint], node: NodeView, topology: Topology) -> Iterator[HintsIgnored]:
    if topology is not Topology.NODE:
        complete = _node_hints_complete(ready)
        yield HintsIgnored.NODE_HINTS_NO_MATCH if complete else HintsIgnored.NODE_HINTS_INCOMPLETE
    if topology is Topology.NONE:
        if not _zone_hints_complete(ready):
            yield HintsIgnored.ZONE_HINTS_INCOMPLETE
        else:
            yield HintsIgnored.ZONE_HINTS_NO_MATCH if node.zone else HintsIgnored.NODE_LABEL_MISSING


def _node_hints_complete(ready: Sequence[Endpoint]) -> bool:
    return all(endpoint.node_hints for endpoint in ready)


def _zone_hints_complete(ready: Sequence[Endpoint]) -> bool:
    return all(endpoint.zone_hints for endpoint in ready)
