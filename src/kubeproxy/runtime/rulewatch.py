"""Hears every commit of others in the kernel's announcements, and takes notice of those that harm us."""

import asyncio
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import Final, Protocol, TypeAlias

from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.listen import CommitWatch, RulesetNews, RulesetWatch
from kubeproxy.model.identity import Family
from kubeproxy.runtime.drift import FAMILIES, Damage, Guards
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.rollcall import RollCall
from kubeproxy.runtime.sync import Report
from kubeproxy.wire.netlink import Doubt
from kubeproxy.wire.nfnotify import RulesetChange, Thing, Transaction
from kubeproxy.wire.nfquery import BaseRule

#: a family's number, a table, a chain
Spot: TypeAlias = tuple[int, str, str]

_AGAIN: Final = 1.0
#: more changes than this at once, and it is no tinkering with one Service
_FEW: Final = 8


class Ours(Protocol):
    """What a dialect knows of its own things in the kernel."""

    def ours(self, change: RulesetChange, /) -> bool: ...

    def hook(self, change: RulesetChange, /) -> bool: ...

    def single(self, change: RulesetChange, /) -> bool: ...

    def hooked(self, change: RulesetChange, rules: Sequence[BaseRule], /) -> frozenset[int] | None: ...

    def told(self, changes: Iterable[RulesetChange], /) -> tuple[str, ...]: ...


class AtWork(Protocol):
    """Whoever starts processes that write rules for us."""

    tell: Callable[[Collection[int]], None]

    @property
    def children(self) -> Container[int]: ...


class RuleWatch:
    """For all families at once, as one socket hears them all."""

    def __init__(
        self,
        guards: Guards,
        ours: Ours,
        at_work: AtWork,
        rules: Callable[[int, str, str], Sequence[BaseRule]],
    ) -> None:
        """`rules` asks the kernel for the rules of one place."""
        self._guards, self._ours, self._at_work, self._rules = guards, ours, at_work, rules
        #: where our jumps may be missing, and who took a rule away there
        self._unsure: dict[Spot, tuple[RulesetChange, Transaction]] = {}
        #: the handles of our jumps, where they were looked at
        self._handles: dict[Spot, frozenset[int]] = {}
        #: counts the times they were forgotten: what was asked before is not worth keeping after
        self._times = 0
        self._roll = RollCall(at_work, self._everywhere)
        self._wake = asyncio.Event()

    async def run(self) -> None:
        try:
            watch = RulesetWatch(self.heard, self._at_work.children, self._matters)
            commits = CommitWatch(self._roll.heard)
        except KernelError as error:
            log.error("Cannot hear who changes the rules; a flush is noticed by the canary alone", error)
            return
        self._at_work.tell = watch.silence
        watch.start()
        commits.start()
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._verify_all()
        finally:
            commits.close()
            watch.close()
            self._roll.close()

    async def before(self, family: Family) -> None:
        """Our own commits are not heard."""

    async def after(self, family: Family, report: Report) -> None:
        """Only a complete sync makes jumps; it gives them new handles."""
        if report.complete:
            self._forget(family)

    def heard(self, news: RulesetNews) -> None:
        if isinstance(news, Doubt):
            self._roll.missed(news.why)
        else:
            self._roll.complete(news.generation)
            if news.changes:
                self._judge(news)

    def _everywhere(self, damage: Damage) -> None:
        for family, guard in self._guards.items():
            self._forget(family)
            guard.noticed(damage)

    def _matters(self, change: RulesetChange) -> bool:
        """Everybody's rules pass by here; of most of them nothing is kept."""
        return self._ours.ours(change) or self._ours.hook(change)

    def _judge(self, transaction: Transaction) -> None:
        harmed: dict[Family, list[RulesetChange]] = {}
        ours, hook = self._ours.ours, self._ours.hook
        for change in transaction.changes:
            family = FAMILIES.get(change.family)
            if family is None or family not in self._guards:
                continue
            if ours(change):
                harmed.setdefault(family, []).append(change)
            elif hook(change):
                self._suspect(change, transaction)
        if transaction.more:
            # What is not kept may have been of either family.
            harmed |= {family: harmed.get(family, []) for family in self._guards}
        for family, changes in harmed.items():
            self._noticed(family, changes, transaction)

    def _suspect(self, change: RulesetChange, transaction: Transaction) -> None:
        spot = (change.family, change.table, change.name)
        handles = self._handles.get(spot)
        if self._guards[FAMILIES[change.family]].active and (handles is None or change.handle in handles):
            self._unsure.setdefault(spot, (change, transaction))
            self._wake.set()

    async def _verify_all(self) -> None:
        """One look at each place, however many rules went there."""
        unsure, self._unsure = self._unsure, {}
        for spot, (change, transaction) in unsure.items():
            times = self._times
            try:
                rules = await asyncio.to_thread(self._rules, *spot)
            except KernelError:
                self._unsure.setdefault(spot, (change, transaction))
                asyncio.get_running_loop().call_later(_AGAIN, self._wake.set)
                continue
            handles = self._ours.hooked(change, rules)
            if handles is None:
                self._handles.pop(spot, None)
                self._noticed(FAMILIES[change.family], [change], transaction)
            elif times == self._times:
                self._handles[spot] = handles

    def _noticed(self, family: Family, changes: list[RulesetChange], transaction: Transaction) -> None:
        told = self._ours.told(changes)
        if transaction.more:
            told = (*told, f"and {transaction.more} more changes")
        grave = bool(transaction.more) or len(changes) > _FEW or any(self._leads(each) for each in changes)
        self._guards[family].noticed(Damage(told, transaction.process, transaction.pid, grave))

    def _leads(self, change: RulesetChange) -> bool:
        """Whether more than one Service hangs on it."""
        return change.thing is not Thing.RULE or not self._ours.single(change)

    def _forget(self, family: Family) -> None:
        self._times += 1
        self._handles = {spot: each for spot, each in self._handles.items() if FAMILIES[spot[0]] != family}
