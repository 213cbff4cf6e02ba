"""Who did what could not be heard: by elimination."""

import asyncio

import pytest

from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.runtime import rollcall
from kubeproxy.runtime.drift import Damage
from kubeproxy.runtime.rollcall import RollCall
from kubeproxy.wire.netlink import Doubt
from kubeproxy.wire.nfnotify import Transaction

WHY = "announcements came faster than they were read"
TOO_MUCH = ("so many rules at once that not all of it was heard",)


def commit(generation: int, process: str, port: int = 900) -> Transaction:
    return Transaction(generation, port, port, process, ())


class Scene:
    def __init__(self) -> None:
        self.programs = Programs(Flavour.NFT)
        self.told: list[Damage] = []
        self._more = asyncio.Event()
        self.roll = RollCall(self.programs, self.noticed)

    def noticed(self, damage: Damage) -> None:
        self.told.append(damage)
        self._more.set()

    async def until_told(self) -> list[Damage]:
        async with asyncio.timeout(5):
            await self._more.wait()
        self._more.clear()
        return self.told


def play(story) -> None:
    async def scene() -> None:
        await story(Scene())

    asyncio.run(scene())


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollcall, "MOMENT", 0.002)


def test_the_one_of_whom_not_everything_was_heard_is_named():
    async def story(scene: Scene) -> None:
        for number, process in ((4, "cni"), (5, "iptables-nft"), (6, "dockerd")):
            scene.roll.heard(commit(number, process))
        scene.roll.complete(4)
        scene.roll.complete(6)
        scene.roll.missed(WHY)
        assert await scene.until_told() == [Damage(TOO_MUCH, "iptables-nft", 900, grave=True)]

    play(story)


def test_a_commit_that_is_still_at_work_is_waited_for():
    """What is lost is lost while he commits; his name comes last."""

    async def story(scene: Scene) -> None:
        scene.roll.missed(WHY)
        scene.roll.missed(WHY)
        asyncio.get_running_loop().call_later(0.005, scene.roll.heard, commit(5, "nft"))
        assert await scene.until_told() == [Damage(TOO_MUCH, "nft", 900, grave=True)]

    play(story)


def test_nobody_is_accused_without_knowing():
    async def story(scene: Scene) -> None:
        scene.roll.heard(Doubt(WHY))
        scene.roll.missed(WHY)
        assert await scene.until_told() == [Damage((f"unknown: {WHY}",), grave=True)]

    play(story)


def test_our_own_children_are_not_others():
    async def story(scene: Scene) -> None:
        scene.programs.started(900)
        scene.roll.heard(commit(5, "iptables-nft-re"))
        scene.roll.missed(WHY)
        assert await scene.until_told() == [Damage((f"unknown: {WHY}",), grave=True)]

    play(story)


def test_each_loss_is_told_once():
    async def story(scene: Scene) -> None:
        scene.roll.heard(commit(5, "nft"))
        scene.roll.missed(WHY)
        await scene.until_told()
        scene.roll.heard(commit(7, "ufw"))
        scene.roll.missed(WHY)
        assert [damage.process for damage in await scene.until_told()] == ["nft", "ufw"]

    play(story)
