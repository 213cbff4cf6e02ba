"""What the kernel in memory holds besides rules, and how it is disturbed."""

import errno

import pytest

from kubeproxy.kernel.errors import Busy, KernelError
from kubeproxy.kernel.memory import Memory
from kubeproxy.wire.conntrack import DeleteFlows, Flow
from kubeproxy.wire.netlink import AF_INET, AF_INET6
from kubeproxy.wire.nfacct import Counter, EnsureCounter
from kubeproxy.wire.op import Operation
from kubeproxy.wire.restore import Restore, digest
from kubeproxy.wire.sysctl import Sysctl

NEW = Restore(False, (b"*nat\n:KUBE-NEW - [0:0]\n-A KUBE-NEW -j RETURN\nCOMMIT\n",))
LOCALNET = "net/ipv4/conf/all/route_localnet"


def flow(destination: str, family: int = AF_INET) -> Flow:
    client, pod = ("192.0.2.1", "10.77.1.5") if family == AF_INET else ("2001:db8::1", "fd00:10:77:1::5")
    return Flow(family, 17, client, 4711, destination, 53, pod, 53, client, 4711)


def test_operations_are_carried_out_in_order():
    memory = Memory()
    memory.flows = [flow("172.30.0.10"), flow("172.30.0.11"), flow("fd00:10:30::a", AF_INET6)]
    memory.commit([Sysctl(LOCALNET, "1"), EnsureCounter("seen"), NEW, DeleteFlows((flow("172.30.0.10"),))])
    assert memory.sysctl(LOCALNET) == "1"
    assert memory.counter("seen") == Counter("seen", 0, 0)
    assert memory.read(ipv6=False).chains == {("nat", "KUBE-NEW"): digest([b"-A KUBE-NEW -j RETURN"])}
    assert memory.udp_flows(AF_INET) == (flow("172.30.0.11"),)
    assert memory.udp_flows(AF_INET6) == (flow("fd00:10:30::a", AF_INET6),)


def test_the_first_refusal_ends_it():
    memory = Memory()
    with pytest.raises(KernelError) as caught:
        memory.commit([EnsureCounter("seen"), Sysctl("net/of/the/future", "1"), NEW])
    assert caught.value.errno == errno.ENOENT
    assert memory.counter("seen") is not None
    assert memory.read(ipv6=False).chains == {}


def test_a_counter_that_exists_keeps_its_count():
    memory = Memory()
    memory.counters["seen"] = Counter("seen", 7, 700)
    memory.commit([EnsureCounter("seen")])
    assert memory.counter("seen") == Counter("seen", 7, 700)


def test_a_flow_that_went_by_itself_counts_as_gone():
    assert Memory().delete_flows([flow("172.30.0.10")]) == 1


class Locked(Memory):
    """Somebody holds the lock for the first attempts: faults are a test's own business."""

    attempts = 0

    def commit(self, ops: list[Operation]) -> None:
        self.attempts += 1
        if self.attempts < 3:
            raise Busy("iptables-restore", "the lock is held")
        super().commit(ops)


def test_faults_are_put_in_by_a_subclass():
    memory = Locked()
    for _ in range(2):
        with pytest.raises(Busy):
            memory.commit([NEW])
    memory.commit([NEW])
    assert memory.chain_exists("nat", "KUBE-NEW", ipv6=False)


def test_an_operation_nobody_knows_is_a_mistake_of_ours():
    class Dance(Operation, frozen=True):
        pass

    with pytest.raises(KeyError):
        Memory().commit([Dance()])
