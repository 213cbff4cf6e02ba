"""A node without a daemon: Changes go in, and any kernel holds what they lead to."""

import asyncio
from types import TracebackType
from typing import Any, Self

from kubeproxy.api.change import Change, Synced
from kubeproxy.backends.iptables.backend import IPTables
from kubeproxy.kernel.hands import TABLES
from kubeproxy.model.changed import FamilyChanges
from kubeproxy.model.identity import Family, ServiceName
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.healthports import HealthPort, health_ports
from kubeproxy.routes.nodeview import DetectBy, Detector, NodePortAddresses, NodeView
from kubeproxy.runtime.lane import Lane
from kubeproxy.runtime.sync import Report, sync

VIEWS = {
    Family.IPV4: NodeView(
        family=Family.IPV4,
        name="node-a",
        zone="zone-1",
        node_ip="192.168.50.11",
        addresses=("127.0.0.1", "192.168.50.11", "192.168.61.11"),
        detector=Detector(DetectBy.CIDR, "10.77.0.0/16"),
        loopback_node_ports=True,
    ),
    Family.IPV6: NodeView(
        family=Family.IPV6,
        name="node-a",
        zone="zone-1",
        node_ip="fd00:50::11",
        addresses=("::1", "fd00:50::11", "fd00:61::11"),
        detector=Detector(DetectBy.CIDR, "fd00:77::/32"),
        node_ports=NodePortAddresses(match_all=False, networks=("fd00:50::/64",)),
    ),
}


class Rig:
    """Both families' lanes on one kernel: the loop of the daemon without its pace."""

    def __init__(self, kernel: Any, portion: int | None = None) -> None:
        self.kernel = kernel
        self.now = 0.0
        self.tracker = Tracker()
        self.lanes = {
            family: Lane(family, IPTables(ipv6=family is Family.IPV6, portion=portion), view)
            for family, view in VIEWS.items()
        }
        self.health: dict[Family, dict[ServiceName, HealthPort]] = {family: {} for family in Family}
        #: what the last syncs took
        self.taken: dict[Family, FamilyChanges] = {}
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.close()

    def hear(self, *changes: Change) -> dict[Family, Report]:
        """Fold, then sync every family that is concerned."""
        changed = self.tracker.fold(changes)
        return {
            family: self.sync(family)
            for family, lane in self.lanes.items()
            if lane.hear(changed.of(family)) or any(isinstance(change, Synced) for change in changes)
        }

    def move_to(self, view: NodeView) -> Report:
        """The node is another one."""
        self.lanes[view.family].move_to(view)
        return self.sync(view.family)

    def sync(self, family: Family) -> Report:
        """One turn of a family, as the daemon makes it."""
        lane, snapshot = self.lanes[family], self.tracker.snapshot
        taken = self.taken[family] = lane.take(snapshot)
        report = self._runner.run(sync(lane, taken.names, snapshot, self.kernel, self.now))
        if report.error is not None:
            lane.give_back(taken)
        else:
            self._follow(family, health_ports(snapshot, lane.node, taken.names))
        return report

    def _follow(self, family: Family, ports: dict[ServiceName, HealthPort | None]) -> None:
        for service, port in ports.items():
            self.health[family].pop(service, None)
            if port is not None:
                self.health[family][service] = port

    def dump(self, family: Family) -> list[str]:
        """What the save program prints, without its remarks."""
        lines = self.kernel.save(family is Family.IPV6, TABLES)
        return [line.decode().rstrip("\n") for line in lines if not line.startswith(b"#")]
