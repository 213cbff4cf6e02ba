"""UDP flows whose endpoint no longer serves their Frontend.

UDP has no end of a connection, so the kernel keeps sending a talkative client to a pod that is gone, for as
long as the client talks. TCP clients notice by themselves.
"""

from collections.abc import Iterable
from typing import Final

from kubeproxy.model.identity import PortName, Protocol
from kubeproxy.model.snapshot import Snapshot
from kubeproxy.routes.decide import Routes
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.wire.conntrack import UDP, Flow

_UDP: Final = Protocol.UDP


def stale_flows(
    flows: Iterable[Flow], routes: Routes, snapshot: Snapshot, node: NodeView
) -> tuple[Flow, ...]:
    """Those the kernel should forget, so that their next packet finds an endpoint that serves.

    An endpoint counts as long as it serves: readiness and policy are about new flows.
    """
    serving: dict[PortName, frozenset[tuple[str, int]]] = {}
    local: dict[str, bool] = {}
    stale = []
    for flow in flows:
        if flow.protocol != UDP:
            continue
        name, by_node_port = _dialled(flow, routes, node, local)
        if name is None:
            continue
        if name not in serving:
            serving[name] = _serving(name, snapshot)
        answers = serving[name]
        # A node port with nobody behind it keeps its flows: the port may be somebody else's by now.
        if (flow.reply_source, flow.reply_source_port) not in answers and (answers or not by_node_port):
            stale.append(flow)
    return tuple(stale)


def _dialled(
    flow: Flow, routes: Routes, node: NodeView, local: dict[str, bool]
) -> tuple[PortName | None, bool]:
    """The ServicePort a flow was sent to, and whether by its node port.

    A node port is one only on the node's own addresses: other hosts use the same numbers for other things.
    """
    address, port = flow.destination, flow.destination_port
    name = routes.claims.holder((address, _UDP, port))
    if name is not None:
        return name, False
    name = routes.claims.holder(("", _UDP, port))
    if name is None:
        return None, True
    if address not in local:
        local[address] = node.is_local(address)
    return (name if local[address] else None), True


def _serving(name: PortName, snapshot: Snapshot) -> frozenset[tuple[str, int]]:
    return frozenset((e.address, e.port) for e in snapshot.endpoints(name) if e.serving)
