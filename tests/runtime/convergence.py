"""Converged equals fresh: however a node came to where it is, it holds what a newcomer would make."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from difflib import unified_diff
from itertools import islice
from random import Random
from typing import Any

from kubeproxy.api.change import Synced
from kubeproxy.kernel.memory import Memory
from kubeproxy.model.identity import Family
from tests.runtime.changes import Changes
from tests.runtime.faults import FATES, Faulty, meddle
from tests.runtime.rig import Rig

#: makes a kernel that holds nothing
Kernels = Callable[[], AbstractContextManager[Any]]

SYNCED = (Synced("Service"), Synced("EndpointSlice"))


def differences(rig: Rig, fresh: Rig) -> str:
    """What the kernels hold, the running totals and the health ports, side by side; empty when all is equal."""
    lines: list[str] = []
    for family, lane in rig.lanes.items():
        other = fresh.lanes[family]
        lines += unified_diff(rig.dump(family), fresh.dump(family), "converged", "fresh", lineterm="", n=0)
        for what, ours, theirs in (
            ("totals", lane.routes.totals, other.routes.totals),
            ("rules", lane.wanted.rule_counts(), other.wanted.rule_counts()),
            ("chains", lane.wanted.own_chains, other.wanted.own_chains),
            ("health ports", rig.health[family], fresh.health[family]),
        ):
            if ours != theirs:
                lines.append(f"{family} {what}: converged {ours}, fresh {theirs}")
    return "\n".join(lines)


def newcomer(kernel: Any, rig: Rig, story: Changes, portion: int | None) -> Rig:
    """A node that is told only how things are now."""
    fresh = Rig(kernel, portion)
    for family, lane in rig.lanes.items():
        fresh.lanes[family].move_to(lane.node)
    fresh.hear(*story.objects(), *SYNCED)
    return fresh


def converges(
    seed: int,
    count: int,
    kernels: Kernels,
    *,
    portion: int | None = None,
    every: int = 50,
    moves: float = 0.02,
) -> int:
    """Apply changes one by one and look every few of them; returns how many rules there were to compare."""
    story, compared = Changes(seed), 0
    roll = story.rng
    with kernels() as kernel, Rig(kernel, portion) as rig:
        for number, change in enumerate(islice(story, count), 1):
            reports = rig.hear(change)
            if roll.random() < moves:
                family = roll.choice(tuple(Family))
                reports[family] = rig.move_to(story.another(rig.lanes[family].node))
            for report in reports.values():
                assert report.ok and not report.culprits, (seed, number, report)
            if number % every == 0:
                with kernels() as empty, newcomer(empty, rig, story, portion) as fresh:
                    found = differences(rig, fresh)
                    assert not found, f"seed {seed}, after change {number}:\n{found}"
                    compared += sum(line.startswith("-A") for f in Family for line in rig.dump(f))
    return compared


def survives(seed: int, count: int, *, portion: int | None, every: int = 25) -> int:
    """Like `converges`, but the kernel fails in every way it can, and others meddle; returns the failures."""
    story, kernel, failures = Changes(seed), Faulty(), 0
    kernel.names_lines = seed % 2 == 0
    roll = Random(seed)
    with Rig(kernel, portion) as rig:
        for number, change in enumerate(islice(story, count), 1):
            kernel.next = iter(roll.choices(("", *FATES), weights=(5, 1, 1, 1, 1, 1), k=4))
            kernel.refuses = set(
                roll.sample([f"shop/svc-{n}-{copy}" for n in range(5) for copy in range(5)], 3)
            )
            if roll.random() < 0.1:
                meddle(kernel, roll)
                for lane in rig.lanes.values():
                    lane.doubt()
            reports = rig.hear(change)
            failures += sum(not report.ok or bool(report.culprits) for report in reports.values())
            rig.now += roll.choice((0.0, 0.0, 4.0))
            if number % every == 0:
                kernel.refuses, kernel.next = set(), iter(())
                recover(rig)
                with newcomer(Memory(), rig, story, portion) as fresh:
                    found = differences(rig, fresh)
                assert not found, f"seed {seed}, after change {number}:\n{found}"
    return failures


def recover(rig: Rig) -> None:
    """The kernel is well again: one sync that takes what is left, and what was withheld as it comes due."""
    rig.now += 1000.0
    for family, lane in rig.lanes.items():
        report = rig.sync(family)
        assert report.ok and not report.culprits, report
        assert not lane.quarantine, lane.quarantine
        assert rig.sync(family).operations == 0
