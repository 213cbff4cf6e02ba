"""Drift: somebody else changed our rules. Noticed without listing them, named where the kernel names it,
repaired by the next sync, which reads what there is and writes the difference.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from msgspec import Struct

from kubeproxy.model.identity import Family
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.metrics import Counter
from kubeproxy.runtime.restraint import Restraint, Waiting
from kubeproxy.runtime.sync import Report
from kubeproxy.wire.netlink import AF_INET, AF_INET6

FAMILIES: Final = {AF_INET: Family.IPV4, AF_INET6: Family.IPV6}
_MOST_LINES: Final = 3
_MOST_PLACES: Final = 8


class Damage(Struct, frozen=True):
    """What was done to our rules, and by whom, as far as the kernel tells."""

    touched: tuple[str, ...]
    process: str = ""
    pid: int = 0
    #: it is more than a chain or two: the way into ours is gone, or much of what is there
    grave: bool = False


class Guard:
    """One family's: collects what was noticed, and asks for a repair when it is time for one."""

    def __init__(self, family: Family, doubt: Callable[[], None], repairs: Counter) -> None:
        self.family = family
        self._doubt, self._repairs = doubt, repairs
        self._restraint = Restraint()
        self._waiting: Waiting[Damage] = Waiting()
        self._timer: asyncio.TimerHandle | None = None
        #: a sync has begun: from now on there is something that can be damaged
        self.active = False
        #: a sync is at work; what is asked of the kernel meanwhile may see half of it
        self.syncing = False
        #: counts syncs: two looks with another number between them cannot be compared
        self.turns = 0
        #: a reading was asked for and has not been made
        self.asked = False
        self._answering = False
        self._counted = False
        self._grave = False

    def noticed(self, damage: Damage) -> None:
        """Something of ours is damaged: repair it as soon as it is quiet, unless that happens too often."""
        if not self.active:
            return
        loop = asyncio.get_running_loop()
        quiet = self._waiting.add(loop.time(), damage)
        self._grave |= damage.grave
        due = max(quiet, self._restraint.not_before(grave=self._grave))
        if due > quiet and self._timer is None:
            log.warning(
                "Somebody changes our rules again and again; the next repair waits",
                ipFamily=self.family.value,
                seconds=round(due - loop.time(), 1),
                touched=list(damage.touched)[:_MOST_PLACES],
            )
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(due, self._repair)

    def suspected(self) -> None:
        """Somebody changed something, perhaps ours: have a look, unless it is time to hold back."""
        if self.asked or asyncio.get_running_loop().time() < self._restraint.not_before():
            return
        self.asked, self._counted = True, False
        log.info("Somebody changed a table; looking whether our rules stand", ipFamily=self.family.value, v=2)
        self._doubt()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def began(self) -> None:
        self.active = self.syncing = True
        self.turns += 1
        self._answering = self.asked

    def ended(self, report: Report) -> None:
        """A sync is over; if it was the one that was asked for, say what it repaired."""
        self.syncing = False
        if not self._answering or report.error is not None or not report.complete:
            return
        self.asked = False
        if not report.operations:
            return
        self._repairs.inc(ip_family=self.family.value)
        if not self._counted:
            self._restraint.repaired(asyncio.get_running_loop().time())
        counts = {f"{table}Rules": count for table, count in report.written if count}
        log.warning("Repaired what somebody changed", ipFamily=self.family.value, **counts)

    def _repair(self) -> None:
        self._timer, self._grave = None, False
        self._restraint.repaired(asyncio.get_running_loop().time())
        self._say(self._waiting.take())
        self.asked = self._counted = True
        self._doubt()

    def _say(self, damages: list[Damage]) -> None:
        pause = self._restraint.pause
        message = "Somebody changed our rules; repairing them"
        if pause:
            message = "Somebody changes our rules again and again; repairing them, but ever more rarely"
        by_whom: dict[tuple[str, int], dict[str, None]] = {}
        for damage in damages:
            by_whom.setdefault((damage.process, damage.pid), {}).update(dict.fromkeys(damage.touched))
        for (process, pid), places in list(by_whom.items())[:_MOST_LINES]:
            keys: dict[str, object] = {"process": process, "pid": pid} if process else {}
            if pause:
                keys["pauseSeconds"] = pause
            touched = list(places)[:_MOST_PLACES]
            log.warning(message, ipFamily=self.family.value, **keys, touched=touched)
        if len(by_whom) > _MOST_LINES:
            log.warning(message, ipFamily=self.family.value, others=len(by_whom) - _MOST_LINES)


Guards = Mapping[Family, Guard]


class Ear(Protocol):
    """A way to notice what others do."""

    async def run(self) -> None:
        """Until cancelled."""

    async def before(self, family: Family) -> None:
        """A sync of this family begins."""

    async def after(self, family: Family, report: Report) -> None:
        """It is over."""


class Drift:
    """Everything that notices, for all families; the loop tells when it is at work itself.

    Without guards and ears nothing is noticed.
    """

    def __init__(self, guards: Guards | None = None, ears: Iterable[Ear] = ()) -> None:
        self._guards, self._ears = guards or {}, tuple(ears)

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for ear in self._ears:
                    group.create_task(ear.run(), name=type(ear).__name__)
        finally:
            for guard in self._guards.values():
                guard.close()

    async def before(self, family: Family) -> None:
        if family in self._guards:
            self._guards[family].began()
        for ear in self._ears:
            await ear.before(family)

    async def after(self, family: Family, report: Report) -> None:
        for ear in self._ears:
            await ear.after(family, report)
        if family in self._guards:
            self._guards[family].ended(report)
