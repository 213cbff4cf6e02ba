"""When to run next: soon when somebody asked, eventually when nobody did, later after a failure."""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct


class Pace(Struct, frozen=True):
    """The seconds that bound how often something runs."""

    #: between the end of one run and the start of the next
    min_gap: float = 1.0
    #: after a run that failed
    retry: float = 30.0
    #: after a run that succeeded, when nobody asks
    max_gap: float = 3600.0


class Timetable(Struct):
    """What a Pace needs to remember; time is told to it."""

    pace: Pace
    asked: bool = False
    #: when the last run ended; None before the first
    ended: float | None = None
    #: when the next run is due if nobody asks
    due: float = 0.0

    def start(self, now: float) -> None:
        self.due = now + self.pace.max_gap

    def ask(self) -> None:
        self.asked = True

    def next_run(self) -> float:
        """The moment of the next run, as things stand."""
        if not self.asked:
            return self.due if self.ended is None else max(self.due, self.ended + self.pace.min_gap)
        return 0.0 if self.ended is None else self.ended + self.pace.min_gap

    def begin(self) -> None:
        """A run begins; who asks from now on asks for another one."""
        self.asked = False

    def end(self, now: float, *, ok: bool, retry: float | None = None) -> None:
        self.ended = now
        gap = self.pace.max_gap
        if not ok:
            gap = min(self.pace.retry if retry is None else retry, gap)
        self.due = now + gap


class Runner:
    """Runs one thing at the pace of a Timetable until it is cancelled."""

    def __init__(self, pace: Pace, run: Callable[[], Awaitable[float | None]]) -> None:
        """`run` returns None when all went well, else the seconds after which it wants another try."""
        self.timetable = Timetable(pace)
        self._run = run
        self._wake = asyncio.Event()

    def follow(self, pace: Pace) -> None:
        """Another pace from now on, also for the run that is being waited for."""
        self.timetable.pace = pace
        self._wake.set()

    def ask(self) -> None:
        """Asking again before the run begins changes nothing."""
        self.timetable.ask()
        self._wake.set()

    async def forever(self) -> None:
        clock = asyncio.get_running_loop().time
        self.timetable.start(clock())
        while True:
            await self._until_due(clock)
            self.timetable.begin()
            retry = await self._run()
            self.timetable.end(clock(), ok=retry is None, retry=retry)

    async def _until_due(self, clock: Callable[[], float]) -> None:
        while (wait := self.timetable.next_run() - clock()) > 0:
            self._wake.clear()
            try:
                async with asyncio.timeout(wait):
                    await self._wake.wait()
            except TimeoutError:
                return
