"""When to repair what others break: at once, but not for ever at once.

Whoever breaks our rules may be half-way through, so it waits a moment until it is quiet. And somebody who
breaks them again after each repair would keep the node busy for nothing: every repair after the first few
waits longer than the one before, until there is peace.
"""

from typing import Final, Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")

#: quiet for so long, and it is over; but never wait longer for that than the second number
QUIET: Final = 0.1
PATIENCE: Final = 0.5
#: so many are remembered while a repair has to wait
ENOUGH: Final = 64
#: repairs that come at once
FREE: Final = 3
#: the first pause after these, and the longest
PAUSE: Final = 2.0
LONGEST: Final = 20.0
#: the longest pause where traffic cannot pass meanwhile: better a busy node than a dead one
GRAVE: Final = 1.0
#: so much calmer than the pause in force, and the count starts again
PEACE: Final = 30.0


class Restraint(Struct):
    """Paces repairs by how many there were; time is told to it."""

    repairs: int = 0
    last: float = 0.0

    @property
    def pause(self) -> float:
        """Between the last repair and the next."""
        if self.repairs < FREE:
            return 0.0
        return min(LONGEST, PAUSE * 2.0 ** min(self.repairs - FREE, 10))

    def not_before(self, *, grave: bool = False) -> float:
        """The earliest moment of the next repair; what stops traffic hardly waits."""
        pause = min(self.pause, GRAVE) if grave else self.pause
        return self.last + pause if self.repairs else 0.0

    def repaired(self, now: float) -> None:
        if now > self.last + 2 * self.pause + PEACE:
            self.repairs = 0
        self.repairs += 1
        self.last = now


class Waiting(Struct, Generic[T]):
    """What was noticed and not acted upon yet."""

    noticed: list[T] = []
    first: float = 0.0

    def add(self, now: float, item: T) -> float:
        """One more; returns when it will be quiet enough, if nothing else comes."""
        if not self.noticed:
            self.first = now
        if len(self.noticed) < ENOUGH:
            self.noticed.append(item)
        return min(now + QUIET, self.first + PATIENCE)

    def take(self) -> list[T]:
        taken, self.noticed = self.noticed, []
        return taken
