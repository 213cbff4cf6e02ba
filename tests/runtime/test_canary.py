"""The canary: when it is missed, and when it only cannot be seen."""

import asyncio
from collections.abc import Callable

import pytest

from kubeproxy.kernel.errors import Busy
from kubeproxy.model.identity import Family
from kubeproxy.runtime import canary as module
from kubeproxy.runtime.canary import Canary, Place
from kubeproxy.runtime.drift import Damage, Guard
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.sync import Report

MANGLE, NAT, FILTER = PLACES = (("mangle", "C"), ("nat", "C"), ("filter", "C"))
SYNCED = Report(complete=True)


class Scene(Guard):
    """A guard that keeps what it was told, and a kernel that answers as the story wants."""

    def __init__(self) -> None:
        super().__init__(Family.IPV6, lambda: None, Metrics().drift)
        self.there = set(PLACES)
        self.busy: set[Place] = set()
        self.asked: list[Place] = []
        self.damages: list[Damage] = []
        self._changed = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.canary = Canary(self, PLACES, self.exists, period=lambda: 0.001)

    def exists(self, family: Family, place: Place) -> bool:
        assert family is Family.IPV6
        self.asked.append(place)
        self.loop.call_soon_threadsafe(self._changed.set)
        if place in self.busy:
            raise Busy("canary", "somebody holds the lock")
        return place in self.there

    def noticed(self, damage: Damage) -> None:
        self.damages.append(damage)
        self._changed.set()

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(5):
            while not true():
                self._changed.clear()
                await self._changed.wait()


def play(story) -> None:
    async def run() -> None:
        scene = Scene()
        watching = asyncio.ensure_future(scene.canary.run())
        try:
            await story(scene)
        finally:
            watching.cancel()

    asyncio.run(run())


async def synced(scene: Scene) -> None:
    await scene.canary.after(Family.IPV6, SYNCED)


def test_it_cannot_be_missed_before_a_sync_of_its_family_put_it_there():
    async def story(scene: Scene) -> None:
        scene.there.clear()
        await scene.canary.after(Family.IPV4, SYNCED)
        for _ in range(20):
            await asyncio.sleep(0)
        assert scene.asked == []
        await synced(scene)
        await scene.until(lambda: scene.damages)

    play(story)


def test_only_the_cheapest_table_is_asked_while_it_is_there():
    async def story(scene: Scene) -> None:
        await synced(scene)
        await scene.until(lambda: len(scene.asked) >= 5)
        assert set(scene.asked) == {MANGLE}
        assert scene.damages == []

    play(story)


def test_it_is_missed_when_it_is_gone_everywhere(monkeypatch: pytest.MonkeyPatch):
    """A flush goes from table to table; the repair waits for the last."""
    monkeypatch.setattr(module, "POLL", 0.001)

    async def story(scene: Scene) -> None:
        await synced(scene)
        scene.there = {NAT, FILTER}
        await scene.until(lambda: scene.asked.count(NAT) >= 3)
        scene.there = {FILTER}
        await scene.until(lambda: scene.asked.count(FILTER) >= 3)
        assert scene.damages == []
        scene.there = set()
        await scene.until(lambda: scene.damages)
        assert scene.damages == [Damage(("the canary is gone",), grave=True)]

    play(story)


def test_gone_in_one_table_only_is_believed_after_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "POLL", 0.001)
    monkeypatch.setattr(module, "LONGEST", 0.01)

    async def story(scene: Scene) -> None:
        await synced(scene)
        scene.there = {NAT, FILTER}
        await scene.until(lambda: scene.damages)

    play(story)


def test_who_cannot_see_it_has_not_seen_it_go():
    async def story(scene: Scene) -> None:
        scene.there.clear()
        scene.busy = {MANGLE}
        await synced(scene)
        await scene.until(lambda: scene.asked.count(MANGLE) >= 5)
        assert scene.damages == []
        scene.busy = set()
        await scene.until(lambda: scene.damages)

    play(story)


def test_it_is_missed_once_until_a_sync_puts_it_there_again():
    async def story(scene: Scene) -> None:
        await synced(scene)
        scene.there.clear()
        await scene.until(lambda: scene.damages)
        asked = len(scene.asked)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert len(scene.asked) == asked
        await synced(scene)
        await scene.until(lambda: len(scene.damages) == 2)

    play(story)


def test_a_sync_at_work_is_not_disturbed():
    async def story(scene: Scene) -> None:
        await synced(scene)
        scene.syncing = True
        scene.there.clear()
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert scene.asked == []

    play(story)
