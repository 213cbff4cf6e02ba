"""One family's guard: when it asks for a repair, and what it says of it."""

import asyncio
import io
import sys
from collections.abc import Callable, Coroutine

import pytest
from msgspec.structs import replace

from kubeproxy.kernel.errors import KernelError
from kubeproxy.model.identity import Family
from kubeproxy.runtime import restraint
from kubeproxy.runtime.drift import Damage, Drift, Guard
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.sync import Report

FLUSH = Damage(("9 rules removed, table nat, chain KUBE-SERVICES",), "iptables-nft", 4711)
READ = Report(complete=True)
REPAIRED = Report(complete=True, operations=1, written=(("nat", 9), ("filter", 0)))


class Scene:
    """A guard with a proxy that only counts, and what was logged."""

    def __init__(self, said: io.StringIO) -> None:
        self.doubts = 0
        self.doubted = asyncio.Event()
        self.metrics = Metrics()
        self.guard = Guard(Family.IPV4, self.doubt, self.metrics.drift)
        self._said = said

    def doubt(self) -> None:
        self.doubts += 1
        self.doubted.set()

    async def until_doubt(self) -> None:
        async with asyncio.timeout(5):
            await self.doubted.wait()
        self.doubted.clear()

    def sync(self, report: Report) -> None:
        self.guard.began()
        self.guard.ended(report)

    @property
    def repairs(self) -> float:
        return self.metrics.drift.values.get(("IPv4",), 0.0)

    @property
    def said(self) -> list[str]:
        return [line.partition("] ")[2] for line in self._said.getvalue().splitlines()]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Scene], Coroutine[None, None, None]]], None]:
    said = io.StringIO()
    # How long it waits until it is quiet is told in test_restraint.
    monkeypatch.setattr(restraint, "QUIET", 0.0)

    def run(story: Callable[[Scene], Coroutine[None, None, None]]) -> None:
        monkeypatch.setattr(sys, "stderr", said)

        async def scene() -> None:
            await story(Scene(said))

        asyncio.run(scene())

    return run


def test_before_the_first_sync_there_is_nothing_to_damage(play):
    async def story(scene: Scene) -> None:
        scene.guard.noticed(FLUSH)
        scene.guard.close()
        assert scene.guard._timer is None

    play(story)


def test_a_flush_of_several_commands_is_one_repair_with_everybody_named(play):
    async def story(scene: Scene) -> None:
        scene.sync(READ)
        scene.guard.noticed(FLUSH)
        scene.guard.noticed(Damage(("table mangle removed",), "iptables-nft", 4711))
        scene.guard.noticed(FLUSH)
        scene.guard.noticed(Damage(("table filter removed",), "nft", 4712))
        await scene.until_doubt()
        scene.sync(REPAIRED)
        assert (scene.doubts, scene.repairs) == (1, 1)
        head = '"Somebody changed our rules; repairing them" ipFamily="IPv4"'
        assert scene.said == [
            f'{head} process="iptables-nft" pid=4711 touched=["{FLUSH.touched[0]}","table mangle removed"]',
            f'{head} process="nft" pid=4712 touched=["table filter removed"]',
            '"Repaired what somebody changed" ipFamily="IPv4" natRules=9',
        ]

    play(story)


def test_a_suspicion_is_a_repair_only_if_there_was_something_to_repair(play):
    async def story(scene: Scene) -> None:
        scene.sync(READ)
        scene.guard.suspected()
        scene.guard.suspected()
        assert scene.doubts == 1, "once is enough until it was looked"
        scene.sync(READ)
        assert (scene.repairs, scene.said) == (0, [])
        scene.guard.suspected()
        scene.sync(REPAIRED)
        assert (scene.doubts, scene.repairs) == (2, 1)

    play(story)


def test_only_the_sync_that_was_asked_for_is_taken_for_the_repair(play):
    """One was at work when the damage was noticed; one failed; one had no doubt to settle."""

    async def story(scene: Scene) -> None:
        scene.guard.began()
        scene.guard.suspected()
        scene.guard.ended(REPAIRED)
        assert scene.repairs == 0
        scene.sync(Report(complete=True, operations=1, error=KernelError("nat", "refused")))
        assert (scene.repairs, scene.guard.asked) == (0, True)
        scene.sync(REPAIRED)
        scene.sync(REPAIRED)
        assert scene.repairs == 1

    play(story)


def test_somebody_who_fights_is_held_off_and_told_about(play):
    async def story(scene: Scene) -> None:
        scene.sync(READ)
        for _ in range(3):
            scene.guard.noticed(FLUSH)
            await scene.until_doubt()
            scene.sync(REPAIRED)
        scene.guard.noticed(FLUSH)
        scene.guard.suspected()
        assert scene.doubts == 3
        timer = scene.guard._timer
        assert timer is not None
        assert 1 < timer.when() - asyncio.get_running_loop().time() <= restraint.PAUSE
        assert "again and again; the next repair waits" in scene.said[-1]
        scene.guard.close()

    play(story)


def test_a_flush_is_answered_soon_even_while_somebody_fights(play):
    async def story(scene: Scene) -> None:
        scene.sync(READ)
        for _ in range(3):
            scene.guard.noticed(FLUSH)
            await scene.until_doubt()
            scene.sync(REPAIRED)
        scene.guard.noticed(replace(FLUSH, grave=True))
        timer = scene.guard._timer
        assert timer is not None
        assert timer.when() - asyncio.get_running_loop().time() <= restraint.GRAVE
        scene.guard.close()

    play(story)


def test_repairs_that_nobody_announced_are_paced_as_well(play):
    """Where tables only tell their sizes, it is the reading that shows the harm."""

    async def story(scene: Scene) -> None:
        scene.sync(READ)
        for _ in range(10):
            scene.guard.suspected()
            scene.sync(REPAIRED)
        assert scene.doubts == 3

    play(story)


def test_without_ears_nothing_is_noticed_and_nothing_is_missing(play):
    async def story(scene: Scene) -> None:
        drift = Drift()
        await drift.before(Family.IPV4)
        await drift.after(Family.IPV4, READ)
        await drift.run()

    play(story)
