"""One family's way: what is kept until it is done, and what a node that changes sets in motion."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kubeproxy.kernel.errors import KernelError
from kubeproxy.model.changed import FamilyChanges
from kubeproxy.model.identity import Family, PortName, Protocol, ServiceName
from kubeproxy.routes.nodeview import NodePortAddresses
from kubeproxy.runtime.lane import Lane, Quarantined
from tests.runtime.faults import Faulty
from tests.runtime.rig import Rig
from tests.runtime.shops import pods, shop, shops

FOUR = Family.IPV4


@pytest.fixture
def rig() -> Iterator[Rig]:
    with Rig(Faulty()) as rig:
        rig.hear(*shops(range(3)))
        rig.kernel.given.clear()
        yield rig


@pytest.fixture
def lane(rig) -> Lane:
    return rig.lanes[FOUR]


def name(number: int) -> PortName:
    return PortName("shop", f"s{number}", "", Protocol.TCP, FOUR)


def test_what_changed_is_kept_until_it_is_taken(rig, lane):
    first = FamilyChanges((name(1),), (ServiceName("shop", "s1"),), (1.0,))
    second = FamilyChanges((name(2), name(1)), (), (2.0,))
    assert lane.hear(first)
    assert lane.hear(second)
    assert not lane.hear(FamilyChanges())
    both = FamilyChanges((name(1), name(2)), (ServiceName("shop", "s1"),), (1.0, 2.0))
    assert lane.take(rig.tracker.snapshot) == both
    assert not lane.take(rig.tracker.snapshot)


def test_what_a_failed_sync_took_comes_before_what_came_meanwhile(rig, lane):
    lane.hear(FamilyChanges((name(1),), (), (1.0,)))
    taken = lane.take(rig.tracker.snapshot)
    lane.hear(FamilyChanges((name(2),), (), (2.0,)))
    lane.give_back(taken)
    assert lane.take(rig.tracker.snapshot) == FamilyChanges((name(1), name(2)), (), (1.0, 2.0))


def test_another_address_of_the_node_concerns_no_service(rig, lane):
    view = replace(lane.node, addresses=(*lane.node.addresses, "192.0.2.77"))
    assert lane.move_to(view)
    assert not lane.take(rig.tracker.snapshot)
    assert not lane.move_to(view)
    assert rig.move_to(view).operations == 0


def test_where_node_ports_answer_on_some_addresses_one_rule_moves(rig, lane):
    some = replace(
        lane.node, node_ports=NodePortAddresses(False, ("192.168.0.0/16",)), loopback_node_ports=False
    )
    rig.move_to(some)
    rig.kernel.given.clear()
    rig.move_to(replace(some, addresses=(*some.addresses, "192.168.77.1")))
    (sent,) = rig.kernel.given
    assert [line.split()[0] for line in sent.splitlines() if line.startswith(":")] == [":KUBE-SERVICES"]
    assert "-d 192.168.77.1 -j KUBE-NODEPORTS" in sent


def test_in_another_zone_everything_is_decided_anew_and_only_what_is_other_is_sent(rig, lane):
    lane.move_to(replace(lane.node, zone="zone-2"))
    assert lane.take(rig.tracker.snapshot).names == tuple(name(number) for number in range(3))
    assert rig.kernel.given == []


def test_a_node_that_changes_back_before_anybody_looked_changed_nothing(rig, lane):
    before = lane.node
    lane.move_to(replace(before, zone="zone-2"))
    assert not lane.move_to(before)
    assert not lane.take(rig.tracker.snapshot)


def test_a_node_that_tells_pods_in_another_way_rewrites_the_rules_that_ask(rig, lane):
    report = rig.move_to(replace(lane.node, detector=None))
    assert report.ok
    with Rig(Faulty()) as fresh:
        fresh.lanes[FOUR].move_to(replace(lane.node, detector=None))
        fresh.hear(*shops(range(3)))
        assert rig.dump(FOUR) == fresh.dump(FOUR)


def test_a_change_of_the_node_outlives_a_sync_that_fails(rig, lane):
    rig.kernel.next = iter(["killed"])
    view = replace(lane.node, zone="zone-2", detector=None)
    assert not rig.move_to(view).ok
    assert rig.sync(FOUR).ok
    with Rig(Faulty()) as fresh:
        fresh.lanes[FOUR].move_to(view)
        fresh.hear(*shops(range(3)))
        assert rig.dump(FOUR) == fresh.dump(FOUR)


def test_doubt_that_comes_during_a_sync_is_for_the_next_one(rig, lane):
    """The sync at work began to read before whatever made us doubt."""
    commit = rig.kernel.commit

    def interrupted(ops):
        lane.doubt()
        commit(ops)

    rig.kernel.commit = interrupted
    assert not rig.hear(pods(1, 3))[FOUR].complete
    rig.kernel.commit = commit
    assert rig.sync(FOUR).complete
    assert not rig.sync(FOUR).complete


def test_pauses_double_for_who_is_refused_alone_and_not_for_suspects(lane):
    error = KernelError("iptables-restore", "line 7 failed")
    lane.trying = {name(1), name(2)}
    for now in (0.0, 100.0, 200.0):
        lane.brought({name(1): error, name(2): error}, {name(2)}, now)
    assert lane.quarantine == {
        name(1): Quarantined(str(error), 3, 220.0),
        name(2): Quarantined(str(error), 0, 205.0),
    }
    assert lane.due(210.0) == [name(2)]
    assert lane.next_retry() == 205.0


def test_only_who_was_tried_is_released(lane):
    error = KernelError("iptables-restore", "line 7 failed")
    lane.brought({name(1): error, name(2): error}, set(), 0.0)
    lane.trying = {name(1)}
    lane.brought({}, set(), 10.0)
    assert list(lane.quarantine) == [name(2)]


def test_two_who_want_one_address_are_told_once(rig):
    rival = shop(1, clusterIP="10.96.0.1", clusterIPs=["10.96.0.1"])
    assert [str(who) for who, _ in rig.hear(rival)[FOUR].lost] == ["shop/s1"]
    assert rig.hear(pods(1, 3))[FOUR].lost == ()
    assert rig.hear(shop(1))[FOUR].lost == ()
    assert len(rig.hear(rival)[FOUR].lost) == 1
