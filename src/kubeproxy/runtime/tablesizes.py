"""Tables that announce nothing tell at least their size: what changed in it that we did not do?

What is left of a table's entries without ours is other people's, and our own commits do not change it. So a
difference in it was made by somebody, even in the moment between a poll and our next commit. Whether ours
are among what changed only a reading can tell, and that is dear: so others may cause a reading now and then,
and only a loss that must be ours causes one at once.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from msgspec import Struct

from kubeproxy.wire.tableinfo import TableInfo

#: reading takes at most one part in so many of a processor's time, while others change tables without end
SHARE: Final = 50.0
#: so many readings may be made at once, if there were none for long
BURST: Final = 3
#: fewer entries than this are no matter of urgency: where they matter, reading is cheap
FEW: Final = 16
_NOTHING: Final = TableInfo(0, 0)

Infos = Mapping[str, TableInfo | None]


class Finding(IntEnum):
    """What a look at the sizes says, the worst last."""

    SAME = 0
    CHANGED = 1
    #: more is gone than others had, or as much as a good part of ours
    LOST = 2


class Mark(Struct, frozen=True):
    """A table as it was: entries that are not ours, and bytes with ours."""

    others: int
    size: int


class TableSizes:
    """One family's tables; time is told to it."""

    def __init__(self) -> None:
        self._own: Mapping[str, int] = {}
        #: as last looked at
        self._seen: dict[str, Mark] = {}
        #: as it was when all was known to be right
        self._trusted: dict[str, Mark] = {}
        #: worst of what was found since
        self.suspicion = Finding.SAME
        self._read_at = 0.0
        self._cost = 0.0
        #: processor time of readings not yet made up for by waiting
        self._debt = 0.0

    def look(self, infos: Infos) -> Finding:
        """Compare with the last look; what is found stays a suspicion until a reading."""
        now = self._marks(infos, self._own)
        findings = (self._compare(table, seen, now[table]) for table, seen in self._seen.items())
        finding = max(findings, default=Finding.SAME)
        if self._seen:
            self._seen = now
        self.suspicion = max(self.suspicion, finding)
        return finding

    def due(self) -> float:
        """When the suspicion is worth a reading."""
        if self.suspicion is Finding.LOST:
            return 0.0
        return self._read_at + SHARE * (self._debt - (BURST - 1) * self._cost)

    def written(self, infos: Infos, own: Mapping[str, int]) -> None:
        """We have written, and `own` entries are ours now."""
        before, self._own = self._seen, own
        self._seen = self._marks(infos, own)
        if any(self._seen[table].others != mark.others for table, mark in before.items()):
            self.suspicion = max(self.suspicion, Finding.CHANGED)

    def read(self, infos: Infos, own: Mapping[str, int], now: float, cost: float) -> None:
        """All was read for `cost` seconds of processor time, and what was wrong is written.

        When others' part is neither what it was before nor what it was when all was right, somebody was at
        it meanwhile, perhaps after we had read: then once more, some time later.
        """
        before, self._own = self._seen, own
        self._seen = self._marks(infos, own)
        self._debt = max(0.0, self._debt - (now - self._read_at) / SHARE) + cost
        self._read_at, self._cost = now, cost
        sure = all(
            mark.others in (before[table].others, self._trusted[table].others)
            for table, mark in self._seen.items()
            if table in before and table in self._trusted
        )
        self.suspicion = Finding.SAME if sure else Finding.CHANGED
        self._trusted = self._seen

    def forget(self) -> None:
        """A commit failed: until the next reading nothing can be said."""
        self._seen = {}
        self.suspicion = Finding.SAME

    def _marks(self, infos: Infos, own: Mapping[str, int]) -> dict[str, Mark]:
        found = {table: info or _NOTHING for table, info in infos.items()}
        return {t: Mark(info.entries - own.get(t, 0), info.size) for t, info in found.items()}

    def _compare(self, table: str, before: Mark, now: Mark) -> Finding:
        if now == before:
            return Finding.SAME
        gone = before.others - now.others
        own = self._own.get(table, 0)
        lost = own > 0 and gone >= FEW and (gone > before.others or 4 * gone > own)
        return Finding.LOST if lost else Finding.CHANGED
