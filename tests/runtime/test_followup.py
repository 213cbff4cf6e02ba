"""What follows a sync: stale UDP flows go, times are measured, and who failed to look looks again."""

import asyncio
import time

import pytest

from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.memory import Memory
from kubeproxy.model.changed import FamilyChanges
from kubeproxy.model.identity import Family, ServiceName
from kubeproxy.runtime.followup import FollowUp
from kubeproxy.runtime.healthservers import HealthServers
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.sync import Report
from kubeproxy.wire.conntrack import UDP, Flow
from kubeproxy.wire.netlink import AF_INET
from tests.runtime.rig import Rig
from tests.runtime.shops import pods, shop

FOUR = Family.IPV4
TCP = 6
UDP_CHANGED = FamilyChanges(udp=(ServiceName("shop", "s1"),))


def flow(answers: str, port: int = 5000, protocol: int = UDP) -> Flow:
    """A client's, to the cluster IP of shop/s1."""
    return Flow(AF_INET, protocol, "10.77.9.9", port, "10.96.0.2", 80, answers, 8080, "10.77.9.9", port)


class Followed:
    """A node with one UDP Service of two endpoints, one of which has just gone."""

    def __init__(self) -> None:
        self.memory, self.metrics = Memory(), Metrics()
        self.rig = Rig(self.memory)
        self.rig.hear(shop(1, "UDP"), pods(1, 2, "UDP"))
        self.rig.hear(pods(1, 1, "UDP"))
        self.looked = 0
        self.broken = False
        servers = HealthServers(lambda: (), lambda: True)
        lane = self.rig.lanes[FOUR]
        self.followup = FollowUp(lane, servers, self.metrics, self._flows, self.memory.delete_flows)

    def _flows(self, family: Family) -> tuple[Flow, ...]:
        self.looked += 1
        if self.broken:
            raise KernelError("conntrack", "Resource temporarily unavailable")
        return self.memory.udp_flows(AF_INET)

    def after(self, taken: FamilyChanges = FamilyChanges()) -> None:  # noqa: B008
        asyncio.run(self.followup.after(taken, self.rig.tracker.snapshot, Report()))


@pytest.fixture
def node() -> Followed:
    return Followed()


def test_flows_to_an_endpoint_that_went_are_forgotten_and_no_others(node):
    kept, gone = flow("10.77.1.1"), flow("10.77.1.2", 5001)
    node.memory.flows = [kept, gone, flow("10.77.1.2", 5002, TCP)]
    node.after(UDP_CHANGED)
    assert node.memory.flows == [kept, flow("10.77.1.2", 5002, TCP)]
    assert node.metrics.conntrack_deleted.values == {("IPv4",): 1}
    assert node.metrics.conntrack.buckets.keys() == {("IPv4",)}


def test_flows_are_not_looked_at_when_no_udp_endpoint_changed(node):
    node.after()
    assert node.looked == 0


def test_who_could_not_look_looks_again_next_time(node):
    node.memory.flows = [flow("10.77.1.2")]
    node.broken = True
    node.after(UDP_CHANGED)
    assert node.metrics.conntrack.buckets == {}
    node.broken = False
    node.after()
    assert node.memory.flows == []
    node.after()
    assert node.looked == 2


def test_the_time_until_packets_notice_is_measured_for_each_change(node):
    now = time.time()
    node.after(FamilyChanges(triggered=(now - 0.4, now - 7.5, now + 5)))
    ((key, buckets),) = node.metrics.programming.buckets.items()
    upper = [bound for bound, count in zip(node.metrics.programming.bounds, buckets, strict=False) if count]
    # A change from a clock that is ahead took no time.
    assert (key, upper) == (("IPv4",), [0, 0.5, 8])
    assert node.metrics.last_sync.values[("IPv4",)] >= now


def test_services_that_nobody_here_serves_are_counted(node):
    node.rig.hear(shop(2, internalTrafficPolicy="Local"), pods(2), shop(3), pods(3))
    node.after()
    assert node.metrics.no_local_endpoints.values == {("IPv4", "internal"): 1, ("IPv4", "external"): 0}
