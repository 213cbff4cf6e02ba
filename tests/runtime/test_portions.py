"""A large load has many steps, and no packet may notice: what it can reach is whole at every moment."""

from collections.abc import Sequence

import pytest

from kubeproxy.kernel.memory import Memory
from kubeproxy.model.identity import Family
from kubeproxy.wire.op import Operation
from tests.runtime.rig import Rig
from tests.runtime.shops import pods, shop, shops

FOUR = Family.IPV4
Text = dict[tuple[str, str], list[str]]


class Watched(Memory):
    """Looks around after every commit."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[Text] = []

    def commit(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            super().commit([op])
            self.moments.append(reachable(self))


def reachable(kernel: Memory) -> Text:
    """Every chain of ours that a packet can come into, with its rules."""
    found: Text = {}
    for table in ("filter", "nat"):
        held = kernel.tables[False][table].chains
        todo = [name for name, chain in held.items() if chain.policy]
        while todo:
            name = todo.pop()
            if (table, name) in found:
                continue
            found[table, name] = [rule.text for rule in held[name].rules]
            todo += [rule.target for rule in held[name].rules if rule.target in held]
    return found


def services(moment: Text) -> Text:
    """The chains that lead to Services, or are theirs."""
    return {place: rules for place, rules in moment.items() if place[0] == "nat" and "KUBE-S" in place[1]}


@pytest.fixture(scope="module")
def final() -> Text:
    """What is reachable in the end, in a kernel that was told everything at once."""
    with Rig(Memory()) as rig:
        rig.hear(*shops(range(200)))
        return reachable(rig.kernel)


def test_on_an_empty_node_nothing_is_reachable_until_everything_is(final):
    with Rig(Watched(), portion=10) as rig:
        rig.hear(*shops(range(200)))
        before, last = rig.kernel.moments[:-1], rig.kernel.moments[-1]
    assert len(before) > 20
    assert [services(moment) for moment in before] == [{}] * len(before)
    assert last == final


def test_after_a_flush_nothing_is_reachable_until_everything_is(final):
    """Whoever flushes a table leaves the chains, empty, and takes the jumps."""
    with Rig(Watched(), portion=10) as rig:
        rig.hear(*shops(range(200)))
        table = rig.kernel.tables[False]["nat"]
        for name in list(table.chains):
            table.empty(name)
        rig.kernel.moments.clear()
        rig.lanes[FOUR].doubt()
        assert rig.sync(FOUR).ok
        before, last = rig.kernel.moments[:-1], rig.kernel.moments[-1]
    assert len(before) > 20
    assert [services(moment) for moment in before] == [{}] * len(before)
    assert last == final


def test_while_packets_pass_each_service_is_the_old_one_or_the_new(final):
    """Everything changes at once on a node that is in use: endpoints come to all, and some Services go and come."""
    grown = [pods(number, 3) for number in range(150)]
    with Rig(Watched(), portion=10) as rig:
        rig.hear(*shops(range(200)))
        rig.kernel.moments.clear()
        rig.hear(*grown, shop(200), pods(200))
        moments = rig.kernel.moments
    with Rig(Memory()) as rig:
        rig.hear(*shops(range(200)), *grown, shop(200), pods(200))
        grown_up = reachable(rig.kernel)
    assert len(moments) > 15
    assert moments[-1] == grown_up
    for moment in moments:
        for place, rules in moment.items():
            assert rules in (final.get(place), grown_up.get(place)), place
