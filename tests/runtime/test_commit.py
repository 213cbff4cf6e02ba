"""Who is to blame when the kernel refuses: found quickly, withheld alone, tried again, and nobody is forgotten."""

from collections.abc import Iterator
from typing import Any

import pytest

from kubeproxy.api.change import Synced
from kubeproxy.backends.iptables.names import port_hash
from kubeproxy.kernel.errors import Busy, KernelError, TooLarge, Unsure
from kubeproxy.kernel.memory import Memory
from kubeproxy.kernel.processes import Flavour
from kubeproxy.model.identity import Family, PortName, Protocol
from kubeproxy.runtime.commit import PATIENCE
from kubeproxy.runtime.sync import Report
from kubeproxy.wire.restore import Restore
from tests.runtime.faults import Faulty
from tests.runtime.rig import Rig
from tests.runtime.shops import closed, pods, shop, shops

FOUR = Family.IPV4
SYNCED = (Synced("Service"), Synced("EndpointSlice"))


@pytest.fixture
def kernel() -> Faulty:
    return Faulty()


@pytest.fixture
def rig(kernel) -> Iterator[Rig]:
    with Rig(kernel) as rig:
        yield rig


@pytest.fixture
def portions(kernel) -> Iterator[Rig]:
    """Loads ten Services at a time."""
    with Rig(kernel, portion=10) as rig:
        yield rig


def hear(rig: Rig, *changes: Any) -> Report:
    return rig.hear(*changes)[FOUR]


def again(rig: Rig, later: float = 1000.0) -> Report:
    rig.now += later
    return rig.sync(FOUR)


def withheld(report: Report) -> list[str]:
    return sorted(str(name) for name, _ in report.culprits)


def programmed(rig: Rig) -> set[str]:
    """The Services whose cluster IP leads somewhere."""
    lines = [line for line in rig.dump(FOUR) if line.startswith("-A KUBE-SERVICES") and "cluster IP" in line]
    return {line.split('"')[1].split()[0] for line in lines}


def names(numbers: Any) -> set[str]:
    return {f"shop/s{number}" for number in numbers}


def fresh(*changes: Any) -> list[str]:
    """What a kernel holds that was told this and nothing else."""
    with Rig(Memory()) as rig:
        rig.hear(*changes)
        return rig.dump(FOUR)


def refuse(kernel: Faulty, *numbers: int) -> None:
    kernel.refuses = {f'"shop/s{number} ' for number in numbers}


def test_a_line_leads_to_the_culprit_and_nobody_else_notices(rig, kernel):
    refuse(kernel, 37)
    report = hear(rig, *shops(range(100)))
    assert report.ok
    assert withheld(report) == ["shop/s37"]
    assert programmed(rig) == names(range(100)) - names([37])
    # filter; nat, refused; nat without it.
    assert len(kernel.given) == 3


def test_without_a_line_halving_finds_one_among_a_hundred(rig, kernel):
    kernel.names_lines = False
    refuse(kernel, 37)
    report = hear(rig, *shops(range(100)))
    assert withheld(report) == ["shop/s37"]
    assert programmed(rig) == names(range(100)) - names([37])
    # The first try, everybody else's, and one or two for each halving of a hundred.
    assert len(kernel.given) <= 2 + 2 * 2 + 2 * 7


@pytest.mark.parametrize("lines", [True, False])
def test_two_culprits_are_both_found(rig, kernel, lines):
    kernel.names_lines = lines
    refuse(kernel, 3, 98)
    report = hear(rig, *shops(range(100)))
    assert withheld(report) == ["shop/s3", "shop/s98"]
    assert programmed(rig) == names(range(100)) - names([3, 98])


@pytest.mark.parametrize("lines", [True, False])
def test_what_is_left_is_what_a_node_without_the_culprit_would_hold(rig, kernel, lines):
    """Nothing is made twice on the way, and nothing half-made is left."""
    kernel.names_lines = lines
    refuse(kernel, 5)
    hear(rig, *shops(range(9)))
    assert rig.dump(FOUR) == fresh(*(c for n in range(9) if n != 5 for c in (shop(n), pods(n))))


@pytest.mark.parametrize("lines", [True, False])
def test_a_culprit_keeps_what_it_had(rig, kernel, lines):
    hear(rig, *shops(range(10)))
    before = rig.dump(FOUR)
    kernel.names_lines = lines
    kernel.refuses = {"10.77.4.3:8080"}
    report = hear(rig, pods(4, 3))
    assert withheld(report) == ["shop/s4"]
    assert rig.dump(FOUR) == before


def test_it_is_tried_again_and_comes_back_when_it_is_accepted(rig, kernel):
    refuse(kernel, 4)
    hear(rig, *shops(range(9)))
    lane = rig.lanes[FOUR]
    pauses = []
    for _ in range(9):
        (kept,) = lane.quarantine.values()
        pauses.append(kept.next_try - rig.now)
        assert not again(rig, pauses[-1] - 0.1).refusals
        assert withheld(again(rig, 0.1)) == ["shop/s4"]
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    kernel.refuses = set()
    assert again(rig).ok
    assert lane.quarantine == {}
    assert rig.dump(FOUR) == fresh(*shops(range(9)))


def test_a_culprit_that_is_refused_for_months_does_no_harm(rig, kernel):
    """Two to the power of the tries would be too large a number after a few days."""
    refuse(kernel, 1)
    hear(rig, *shops(range(2)))
    for _ in range(1200):
        assert withheld(again(rig)) == ["shop/s1"]


@pytest.mark.parametrize(
    "change", [closed(4), (shop(4, "UDP"), pods(4, 2, "UDP"))], ids=["deleted", "mended"]
)
def test_a_culprit_that_is_gone_or_mended_is_withheld_no_longer(rig, kernel, change):
    kernel.refuses = {'"shop/s4 -> 10.77.4.1:8080" -m tcp'}
    assert withheld(hear(rig, *shops(range(9)))) == []
    kernel.refuses = {"--to-destination 10.77.4.1:8080"}
    assert withheld(hear(rig, shop(4, internalTrafficPolicy="Local"), *closed(4))) == []
    assert withheld(hear(rig, shop(4), pods(4))) == ["shop/s4"]
    kernel.refuses = set()
    assert hear(rig, *change).ok
    assert rig.lanes[FOUR].quarantine == {}
    assert rig.lanes[FOUR].next_retry() is None


def test_what_everybody_shares_is_nobodys_fault(rig, kernel):
    hear(rig, *shops(range(9)))
    kernel.refuses = {"-A KUBE-SERVICES"}
    report = hear(rig, shop(9), pods(9))
    assert isinstance(report.error, KernelError)
    assert report.culprits == ()
    assert rig.lanes[FOUR].quarantine == {}
    kernel.refuses = set()
    assert again(rig).ok
    assert rig.dump(FOUR) == fresh(*shops(range(10)))


def test_a_refusal_that_does_not_come_again_is_nobodys_fault(rig, kernel):
    kernel.next = iter(["refused"])
    report = hear(rig, *shops(range(9)))
    assert report.ok
    assert report.refusals == 1
    assert report.culprits == ()
    assert rig.dump(FOUR) == fresh(*shops(range(9)))


@pytest.mark.parametrize(
    ("fate", "kind"), [("busy", Busy), ("killed", Unsure), ("killed afterwards", Unsure)]
)
@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("at", range(8))
def test_a_search_that_is_interrupted_loses_nobody(rig, kernel, fate, kind, lines, at):
    """Whoever was set aside for the search is wanted again."""
    kernel.names_lines = lines
    refuse(kernel, 3)
    kernel.next = iter([*[""] * at, fate])
    report = hear(rig, *shops(range(9)))
    if report.error is not None:
        assert type(report.error) is kind
        assert report.culprits == ()
        report = again(rig)
    assert report.ok
    kernel.refuses, kernel.next = set(), iter(())
    assert again(rig).ok
    assert rig.dump(FOUR) == fresh(*shops(range(9)))


def test_whoever_is_busy_is_not_read_again(rig, kernel):
    """The lock says nothing about what the kernel holds."""
    hear(rig, *shops(range(9)))
    kernel.next = iter(["busy"])
    assert isinstance(hear(rig, pods(4, 3)).error, Busy)
    report = again(rig)
    assert (report.ok, report.complete) == (True, False)
    assert "10.77.4.3:8080" in "\n".join(rig.dump(FOUR))


def test_after_a_kill_the_kernel_is_read(rig, kernel):
    hear(rig, *shops(range(9)))
    kernel.next = iter(["killed afterwards"])
    assert isinstance(hear(rig, pods(4, 3)).error, Unsure)
    report = again(rig)
    assert (report.ok, report.complete, report.operations) == (True, True, 0)


def test_hundreds_of_culprits_do_not_keep_out_the_others(portions, kernel):
    """A kernel without one of its modules refuses every Service that needs it."""
    bad = set(range(0, 300, 2))
    refuse(kernel, *bad)
    report = hear(portions, *shops(range(300)))
    assert report.ok
    assert report.refusals < PATIENCE + 30 + 5
    for _ in range(20):
        again(portions, 5.0)
    assert programmed(portions) == names(range(300)) - names(bad)
    kernel.refuses = set()
    again(portions)
    assert again(portions).operations == 0
    assert portions.dump(FOUR) == fresh(*shops(range(300)))


@pytest.mark.parametrize("lines", [True, False])
def test_portions_that_passed_stay(portions, kernel, lines):
    """To take back what stands already would cost more than to load it."""
    kernel.names_lines = lines
    refuse(kernel, 37)
    report = hear(portions, *shops(range(100)))
    assert withheld(report) == ["shop/s37"]
    assert programmed(portions) == names(range(100)) - names([37])
    written = [
        line.split()[0]
        for text in kernel.given
        for line in text.splitlines()
        if line.startswith(":KUBE-SVC-")
    ]
    innocent = [chain for chain in written if written.count(chain) > 1]
    # Who was sent again was in the portion that was refused, or comes after it.
    assert len(set(innocent)) <= 10
    assert not any(line.startswith("-X") for text in kernel.given[:12] for line in text.splitlines())


def test_a_portion_that_passed_is_taken_back_when_it_is_what_nat_refuses_to_lead_to(portions, kernel):
    kernel.refuses = {f"-j KUBE-SVC-{port_hash(PortName('shop', 's37', '', Protocol.TCP, FOUR))}"}
    kernel.names_lines = False
    report = hear(portions, *shops(range(100)))
    assert withheld(report) == ["shop/s37"]
    assert programmed(portions) == names(range(100)) - names([37])


def test_services_go_in_portions_too(portions, kernel):
    """A payload that deletes thousands of chains costs as much as one that makes them."""
    hear(portions, *shops(range(100), 10))
    del kernel.given[:]
    report = hear(portions, *(change for number in range(99) for change in closed(number)))
    assert report.ok
    deleted = [text.count("\n-X ") for text in kernel.given]
    assert sum(deleted) == 99 * 11
    assert max(deleted) <= 120
    assert portions.dump(FOUR) == fresh(shop(99), pods(99, 10))


@pytest.mark.parametrize("flavour", list(Flavour))
def test_somebodys_own_rule_into_a_chain_of_ours_blocks_nobody(flavour):
    """The chain cannot go while the rule is there, so it stays, empty; after a restart it is the same."""
    kernel = Faulty(flavour)
    name = f"KUBE-SVC-{port_hash(PortName('shop', 's3', '', Protocol.TCP, FOUR))}"
    foreign = f"*nat\n-A PREROUTING -d 192.0.2.1 -j {name}\nCOMMIT\n".encode()
    left = [f":{name} - [0:0]", f"-A PREROUTING -d 192.0.2.1/32 -j {name}"]
    with Rig(kernel) as rig, Rig(kernel) as restarted:
        hear(rig, *shops(range(9)))
        kernel.commit([Restore(False, (foreign,))])
        assert hear(rig, *closed(3), pods(4, 3)).ok
        others = [
            change for number in range(9) if number not in (3, 4) for change in (shop(number), pods(number))
        ]
        clean = fresh(*others, shop(4), pods(4, 3))
        assert sorted(rig.dump(FOUR)) == sorted([*clean, *left])
        assert hear(rig, pods(5, 3)).refusals == 0
        assert hear(restarted, *others, shop(4), pods(4, 3), pods(5, 3), *SYNCED).ok
        assert sorted(rig.dump(FOUR)) == sorted([*fresh(*others, shop(4), pods(4, 3), pods(5, 3)), *left])
        hear(restarted, shop(3), pods(3))
        assert f"-A {name} " in "\n".join(rig.dump(FOUR))


def test_a_kernel_that_takes_little_at_once_gets_little_at_once(portions, kernel):
    """So it is in a user namespace. What was learnt is remembered, and nobody is to blame."""
    kernel.most = 40
    report = hear(portions, *shops(range(30)))
    assert (report.ok, report.culprits) == (True, ())
    assert portions.dump(FOUR) == fresh(*shops(range(30)))
    before = len(kernel.given)
    assert hear(portions, *(pods(number, 3) for number in range(30))).ok
    assert all(text.count("\n") < 40 for text in kernel.given[before:])


def test_what_cannot_be_any_smaller_is_an_error_and_nobody_is_to_blame(portions, kernel):
    """The chain that leads to all Services is written as a whole."""
    kernel.most = 20
    report = hear(portions, *shops(range(30)))
    assert isinstance(report.error, TooLarge)
    assert report.culprits == ()
    kernel.most = 1000
    assert again(portions).ok
    assert portions.dump(FOUR) == fresh(*shops(range(30)))


def test_few_large_services_are_portions_too(portions, kernel):
    hear(portions, *shops(range(6), 100))
    assert max(text.count("\n:KUBE-SEP-") for text in kernel.given) == 100


def test_a_service_that_is_back_is_not_taken_for_a_stale_one(portions, kernel):
    """Deleted in a sync that failed after its first portions, and made again before the next."""
    hear(portions, *shops(range(30)))
    before = portions.dump(FOUR)
    kernel.next = iter(["", "", "busy"])
    changes = [change for number in range(5) for change in closed(number)]
    assert hear(portions, *changes, *(pods(number, 3) for number in range(5, 30))).error
    report = hear(portions, *shops(range(30)))
    assert (report.ok, report.refusals) == (True, 0)
    assert portions.dump(FOUR) == before


def test_a_failed_sync_keeps_what_follows_from_its_changes(rig, kernel):
    """The UDP flows that may be stale, and the times from which programming is measured."""
    hear(rig, *shops(range(3)), shop(3, "UDP"), pods(3, 1, "UDP"))
    kernel.next = iter(["killed"])
    triggered = "2099-01-01T00:00:00Z"
    assert hear(rig, pods(3, 2, "UDP", triggered)).error
    lost = rig.taken[FOUR]
    assert [str(name) for name in lost.udp] == ["shop/s3"]
    assert len(lost.triggered) == 1
    assert hear(rig, pods(1, 3)).ok
    assert rig.taken[FOUR].udp == lost.udp
    assert rig.taken[FOUR].triggered == lost.triggered
    again(rig)
    assert rig.taken[FOUR].triggered == ()
