"""A Tracker and the Routes of a node, told of changes in one line."""

from collections.abc import Mapping

from kubeproxy.api.change import Change
from kubeproxy.model.identity import PortName
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.decide import Routes, decide
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import FrontendKind, PortRoutes
from tests.routes.cases import ME


class Cluster:
    """What one node makes of what it hears."""

    def __init__(self, *changes: Change, node: NodeView = ME) -> None:
        self.tracker, self.routes, self.node = Tracker(), Routes(), node
        self.hears(*changes)

    def hears(self, *changes: Change) -> Mapping[PortName, PortRoutes | None]:
        names = self.tracker.fold(changes).of(self.node.family).names
        return decide(self.tracker.snapshot, self.node, names, self.routes)

    def moves_to(self, node: NodeView) -> Mapping[PortName, PortRoutes | None]:
        self.node = node
        return decide(self.tracker.snapshot, node, self.tracker.snapshot.names(node.family), self.routes)

    def addresses(self, name: PortName) -> list[str]:
        """Where a ServicePort answers, but for its cluster IP."""
        kinds = [
            r.frontend for r in self.routes[name].routes if r.frontend.kind is not FrontendKind.CLUSTER_IP
        ]
        return [frontend.address or f"node port {frontend.port}" for frontend in kinds]

    def lost(self, name: PortName) -> list[tuple[str, str]]:
        """What it does not answer on, and who does."""
        return [(lost.frontend.address or "node port", str(lost.holder)) for lost in self.routes[name].lost]
