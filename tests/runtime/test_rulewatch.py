"""Who did what to the rules, as the kernel announces it, and what we make of it: with hand-made commits."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from kubeproxy.backends.iptables import drift as ours
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.model.identity import Family
from kubeproxy.runtime import rollcall, rulewatch
from kubeproxy.runtime.drift import Damage, Guard
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.rulewatch import RuleWatch
from kubeproxy.runtime.sync import Report
from kubeproxy.wire.netlink import AF_INET, AF_INET6, Doubt
from kubeproxy.wire.nfnotify import Happened, RulesetChange, Thing, Transaction
from kubeproxy.wire.nfquery import BaseRule

JUMPS = (BaseRule(7, "DOCKER"), BaseRule(8, "KUBE-SERVICES"))


class Noticing(Guard):
    """A guard that keeps what it was told."""

    def __init__(self, family: Family) -> None:
        super().__init__(family, lambda: None, Metrics().drift)
        self.damages: list[Damage] = []
        self.told = asyncio.Event()
        self.active = True

    def noticed(self, damage: Damage) -> None:
        self.damages.append(damage)
        self.told.set()


class Scene:
    """A watch, the kernel's answers about built-in chains, and what came of the news."""

    def __init__(self) -> None:
        self.guards = {family: Noticing(family) for family in Family}
        self.rules: tuple[BaseRule, ...] = JUMPS
        self.asked: list[tuple[int, str, str]] = []
        self.refusals = 0
        self.watch = RuleWatch(self.guards, ours, Programs(Flavour.NFT), self.answer)

    def answer(self, family: int, table: str, chain: str) -> tuple[BaseRule, ...]:
        self.asked.append((family, table, chain))
        if self.refusals:
            self.refusals -= 1
            raise KernelError("rules", "changed while it was being read")
        return self.rules

    async def hear(self, *changes: RulesetChange, process: str = "tidy", pid: int = 4711) -> None:
        self.watch.heard(Transaction(9, 4711, pid, process, changes))
        await self.watch._verify_all()

    @property
    def damages(self) -> dict[str, list[Damage]]:
        return {family.value: guard.damages for family, guard in self.guards.items() if guard.damages}


def scene(story: Callable[[Scene], Coroutine[None, None, None]]) -> None:
    async def play() -> None:
        await story(Scene())

    asyncio.run(play())


def removed(chain: str, handle: int = 1, family: int = AF_INET, table: str = "nat") -> RulesetChange:
    return RulesetChange(Happened.REMOVED, Thing.RULE, family, table, chain, handle)


def added(chain: str, table: str = "nat") -> RulesetChange:
    return RulesetChange(Happened.ADDED, Thing.RULE, AF_INET, table, chain, 50)


def test_a_flush_is_noticed_with_the_name_of_who_did_it():
    async def story(scene: Scene) -> None:
        await scene.hear(removed("KUBE-SERVICES", 3), removed("KUBE-SERVICES", 4), process="nft", pid=12)
        told = ("2 rules removed, table nat, chain KUBE-SERVICES",)
        assert scene.damages == {"IPv4": [Damage(told, "nft", 12, grave=True)]}
        assert scene.asked == []

    scene(story)


def test_one_commit_may_harm_both_families():
    async def story(scene: Scene) -> None:
        await scene.hear(removed("KUBE-SERVICES"), removed("KUBE-MARK-MASQ", family=AF_INET6))
        assert {family: len(damages) for family, damages in scene.damages.items()} == {"IPv4": 1, "IPv6": 1}

    scene(story)


def test_what_others_add_and_do_to_their_own_is_not_even_asked_about():
    async def story(scene: Scene) -> None:
        for _ in range(100):
            await scene.hear(added("PREROUTING"), added("DOCKER"), removed("CNI-HOSTPORT-DNAT"))
        await scene.hear(RulesetChange(Happened.REMOVED, Thing.TABLE, 1, "nat"))
        assert (scene.damages, scene.asked) == ({}, [])

    scene(story)


def test_what_our_own_children_did_comes_without_changes_and_means_nothing():
    async def story(scene: Scene) -> None:
        await scene.hear()
        assert scene.damages == {}

    scene(story)


def test_a_rule_that_goes_beside_our_jump_is_looked_into_once():
    """After one look the handles of our jumps are known, so that others' rules are told from them."""

    async def story(scene: Scene) -> None:
        for handle in range(100, 120):
            await scene.hear(removed("PREROUTING", handle))
        assert scene.asked == [(AF_INET, "nat", "PREROUTING")]
        assert scene.damages == {}

    scene(story)


def test_a_jump_of_ours_that_goes_is_noticed():
    async def story(scene: Scene) -> None:
        await scene.hear(removed("PREROUTING", 100))
        scene.rules = JUMPS[:1]
        await scene.hear(removed("PREROUTING", 8))
        told = ("1 rule removed, table nat, chain PREROUTING",)
        assert scene.damages == {"IPv4": [Damage(told, "tidy", 4711, grave=True)]}

    scene(story)


def test_a_jump_that_was_put_back_at_once_is_no_harm():
    """Somebody moves it: it goes, and comes again in the same commit with another handle."""

    async def story(scene: Scene) -> None:
        await scene.hear(removed("PREROUTING", 100))
        scene.rules = (BaseRule(30, "KUBE-SERVICES"), *JUMPS[:1])
        await scene.hear(removed("PREROUTING", 8), added("PREROUTING"))
        assert scene.damages == {}
        scene.rules = JUMPS[:1]
        await scene.hear(removed("PREROUTING", 30))
        assert list(scene.damages) == ["IPv4"]

    scene(story)


def test_after_a_repair_the_new_jumps_are_known_by_their_new_handles():
    async def story(scene: Scene) -> None:
        await scene.hear(removed("PREROUTING", 100))
        await scene.watch.after(Family.IPV4, Report(complete=True, operations=1))
        scene.rules = JUMPS[:1]
        await scene.hear(removed("PREROUTING", 31))
        assert list(scene.damages) == ["IPv4"]

    scene(story)


def test_before_the_first_sync_nothing_of_ours_can_be_missing():
    async def story(scene: Scene) -> None:
        scene.guards[Family.IPV4].active = False
        await scene.hear(removed("PREROUTING"))
        assert scene.asked == []

    scene(story)


def test_an_answer_that_does_not_come_is_asked_for_again(monkeypatch: pytest.MonkeyPatch):
    async def story(scene: Scene) -> None:
        scene.refusals = 1
        scene.rules = JUMPS[:1]
        await scene.hear(removed("PREROUTING", 8))
        assert scene.damages == {}
        await scene.watch._verify_all()
        assert list(scene.damages) == ["IPv4"]

    scene(story)


def test_when_announcements_were_lost_anything_may_have_happened(monkeypatch: pytest.MonkeyPatch):
    async def story(scene: Scene) -> None:
        monkeypatch.setattr(rollcall, "MOMENT", 0.0)
        scene.watch.heard(Doubt("announcements came faster than they were read"))
        async with asyncio.timeout(5):
            await scene.guards[Family.IPV6].told.wait()
        expected = [Damage(("unknown: announcements came faster than they were read",), grave=True)]
        assert scene.damages == {"IPv4": expected, "IPv6": expected}

    scene(story)


def test_of_a_flush_too_large_to_keep_it_is_told_how_large_it_was():
    """What was not kept may have been of the other family, so both look."""

    async def story(scene: Scene) -> None:
        change = removed("KUBE-SERVICES")
        scene.watch.heard(Transaction(9, 1, 12, "nft", (change,), more=160000))
        told = ("1 rule removed, table nat, chain KUBE-SERVICES", "and 160000 more changes")
        assert scene.damages["IPv4"] == [Damage(told, "nft", 12, grave=True)]
        assert scene.damages["IPv6"] == [Damage(("and 160000 more changes",), "nft", 12, grave=True)]

    scene(story)


def test_who_may_not_listen_goes_on_without(monkeypatch: pytest.MonkeyPatch):
    """The proxy is worth more than its ears."""

    def refuse(*_: object) -> None:
        raise KernelError("netlink listener (netfilter)", "Operation not permitted", errno=1)

    monkeypatch.setattr(rulewatch, "RulesetWatch", refuse)

    async def story(scene: Scene) -> None:
        async with asyncio.timeout(5):
            await scene.watch.run()

    scene(story)
