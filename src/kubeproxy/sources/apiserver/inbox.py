"""Where what four lists say comes together, a portion at a time."""

import asyncio
from collections.abc import Iterable

from kubeproxy.api.change import Change
from kubeproxy.sources.notice import Notice, Reading

#: so many may wait to be taken before who brings more has to wait: a large cluster is never here as a whole
MOST = 512


class Inbox:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._changes: list[Change] = []
        self._notices: list[Notice] = []
        self._some, self._room, self._stirs = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._failure: BaseException | None = None

    async def put(self, changes: Iterable[Change], notices: Iterable[Notice] = ()) -> None:
        """Bring changes, in order; waits while there is too much here."""
        while len(self._changes) >= self._most:
            self._room.clear()
            await self._room.wait()
        self._changes += changes
        self.say(notices)

    def say(self, notices: Iterable[Notice]) -> None:
        """Bring something to say, at once."""
        self._notices += notices
        if self._changes or self._notices:
            self._some.set()
            self._stirs.set()

    def said(self) -> tuple[Notice, ...]:
        """What there is to say, without the changes: these stay."""
        notices, self._notices = tuple(self._notices), []
        return notices

    def fail(self, failure: BaseException) -> None:
        """Who brings changes has a defect: whoever takes them shall not wait for ever."""
        self._failure = failure
        self._some.set()
        self._stirs.set()

    async def filled(self) -> None:
        """Until there is something to take."""
        await self._some.wait()
        self._check()

    async def stirs(self) -> None:
        """Until there is more than there is now."""
        self._stirs.clear()
        await self._stirs.wait()
        self._check()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def take(self) -> Reading:
        reading = Reading(tuple(self._changes), tuple(self._notices))
        self._changes, self._notices = [], []
        self._some.clear()
        self._room.set()
        return reading
