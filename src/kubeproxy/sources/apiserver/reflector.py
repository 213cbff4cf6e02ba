"""Follows one list of the server: all of it once, then every change, through whatever happens on the way."""

import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from kubeproxy.api.change import Change
from kubeproxy.sources.apiserver.account import Account
from kubeproxy.sources.apiserver.backoff import Backoff, Pace
from kubeproxy.sources.apiserver.client import Call, Client
from kubeproxy.sources.apiserver.contact import Contact
from kubeproxy.sources.apiserver.events import Ended, Event, Mark, read_line, read_object
from kubeproxy.sources.apiserver.items import Items, ListHead
from kubeproxy.sources.apiserver.lines import Lines, TooLong
from kubeproxy.sources.apiserver.refusal import Refused
from kubeproxy.sources.apiserver.resources import (
    Query,
    Resource,
    listed,
    listed_whole,
    streamed_list,
    watched,
)
from kubeproxy.sources.http.connection import Response
from kubeproxy.sources.http.failure import Cut, Distrusted, Failure, Garbled, Nonsense, Silent, Unreachable
from kubeproxy.sources.notice import Notice

Deliver = Callable[[Sequence[Change], Sequence[Notice]], Awaitable[None]]

#: what a server answers that does not know how to stream a list
_UNKNOWN: Final = (400, 415, 422)
#: what it would answer to a plain list as well
_SAME_FOR_A_LIST: Final = (401, 403, 404, 410, 429)
_STANDS_BEFORE: Final = "see what stands before the API server; it is tried again"
_BROKEN_OFF: Final = "it is resumed; if it goes on, look at what stands between here and the API server"


class Reflector:
    """`_version` is where to resume, or nothing: then all of the list is asked for."""

    def __init__(
        self, resource: Resource, client: Client, contact: Contact, deliver: Deliver, pace: Pace
    ) -> None:
        self._resource, self._client, self._contact = resource, client, contact
        self._deliver, self._pace = deliver, pace
        self._account = Account(resource)
        self._version = ""
        self._following = False
        self._streams = True
        self._list_next = False
        self._bookmarks = False
        self._stumbles = 0
        self._renewed = -math.inf
        self._away = Backoff(pace.first, pace.away)
        self._declined = Backoff(pace.first, pace.longest)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            began = time.monotonic()
            self._following = False
            try:
                await self._turn()
            except Refused as refusal:
                self._settle(began)
                await self._after_refusal(refusal)
            except Failure as failure:
                self._settle(began)
                await self._after_failure(failure, time.monotonic() - began)

    async def _turn(self) -> None:
        if self._version:
            await self._watch(initial=False)
        elif self._streams and not self._list_next:
            await self._watch(initial=True)
        else:
            await self._list()

    def _settle(self, began: float) -> None:
        """What went well for long makes up for what went wrong before."""
        if self._following and time.monotonic() - began >= self._pace.settled:
            self._declined.reset()

    # Watching

    async def _watch(self, *, initial: bool) -> None:
        seconds = round(self._pace.watch * (1.0 + random.random()))
        ask = streamed_list if initial else watched
        query = ask(self._resource, self._version, max(1, seconds))
        began = time.monotonic()
        call = Call(path=self._resource.path, query=query, patience=self._pace.answer, watch=True)
        async with self._client.ask(call) as response:
            self._answered()
            if initial:
                self._account.begin()
            heard = await self._follow(response, began + seconds + self._pace.grace)
        if not self._version:
            # It never told where the list ended, so it does not know how to.
            self._list_next = True
            raise Cut("a list ended without an end", _BROKEN_OFF)
        if not heard and time.monotonic() - began < self._pace.short:
            self._following = False
            raise Cut(f"a watch ended within {self._pace.short:g} s", _BROKEN_OFF)
        self._contact.followed(self._resource)
        self._declined.reset()
        self._stumbles = 0

    async def _follow(self, response: Response, end: float) -> bool:
        """To the end of a watch; whether anything was heard."""
        lines = Lines()
        heard = False
        if self._version:
            self._helped()
        while piece := await response.read(self._patience(end)):
            heard |= await self._hear(lines.feed(piece))
        if lines.within:
            raise Cut("a watch ended in the middle of a line", _BROKEN_OFF)
        return heard

    def _patience(self, end: float) -> float:
        """How long nothing may be heard: a list is on its way, and a server that is well sends bookmarks."""
        left = max(0.001, end - time.monotonic())
        if not self._version:
            return min(left, self._pace.answer)
        return min(left, self._pace.silence) if self._bookmarks else left

    def _answered(self) -> None:
        self._away.reset()
        self._contact.answered()

    def _helped(self) -> None:
        self._following = True
        self._contact.helped()

    async def _hear(self, lines: Sequence[bytes | TooLong]) -> bool:
        """What was understood is delivered, whatever comes after it."""
        changes: list[Change] = []
        try:
            for line in lines:
                self._obey(read_line(self._resource, line), changes)
            if self._version and lines:
                self._contact.followed(self._resource)
        finally:
            notices = self._account.notices()
            if changes or notices:
                await self._deliver(changes, notices)
        return bool(changes)

    def _obey(self, event: Event, changes: list[Change]) -> None:
        if isinstance(event, Ended):
            self._stumble()
            raise Refused(event.status, by_server=True)
        if isinstance(event, Mark):
            self._marked(event, changes)
            return
        changes += self._account.heard([event])
        if self._version and event.version:
            # Before all of it is there, its parts are in no order that could be resumed.
            self._version = event.version

    def _marked(self, mark: Mark, changes: list[Change]) -> None:
        if self._version:
            self._bookmarks = True
            self._version = mark.version or self._version
        elif mark.whole:
            # A server that can do this sends bookmarks too, so its silence will mean something.
            self._bookmarks = True
            self._version = mark.version
            changes += self._account.whole()
            self._stumbles = 0
            self._helped()

    # Listing

    async def _list(self) -> None:
        """Page by page; a server may answer with all of it at once, and old ones do."""
        self._account.begin()
        # From the server's memory the first time, later on from what is true at that moment.
        since = "" if len(self._account) else "0"
        head = await self._page(listed(self._resource, since, ""))
        while head.page:
            try:
                head = await self._page(listed(self._resource, "", head.page))
            except Refused as refusal:
                if not refusal.status.expired:
                    raise
                self._account.begin()
                head = await self._page(listed_whole(self._resource, since))
        if not head.version:
            raise Nonsense(f"a list of {self._resource.name} does not say how new it is", _BROKEN_OFF)
        self._version, self._list_next, self._stumbles = head.version, False, 0
        await self._deliver(list(self._account.whole()), self._account.notices())
        self._helped()

    async def _page(self, query: Query) -> ListHead:
        items = Items()
        call = Call(path=self._resource.path, query=query, patience=self._pace.answer)
        async with self._client.ask(call) as response:
            self._answered()
            while piece := await response.read(self._pace.answer):
                await self._take(items.feed(piece))
        head, rest = items.end()
        await self._take(rest)
        return head

    async def _take(self, items: Sequence[bytes]) -> None:
        changes = list(self._account.heard(read_object(self._resource, item) for item in items))
        notices = self._account.notices()
        if changes or notices:
            await self._deliver(changes, notices)

    # What goes wrong

    async def _after_refusal(self, refusal: Refused) -> None:
        """The server answers, and declines."""
        streaming = not self._version and self._streams and not self._list_next
        if _meant(refusal):
            self._answered()
        if refusal.status.expired or refusal.status.ahead:
            self._version = ""
            if self._renews():
                return
        elif streaming and _meant(refusal) and refusal.code not in _SAME_FOR_A_LIST:
            # It cannot stream, or not with the storage it has; a plain list will show.
            self._streams, self._list_next = refusal.code not in _UNKNOWN, True
            return
        else:
            self._tell(refusal, "watch" if self._version or streaming else "list")
        if self._resource.optional and refusal.code in (403, 404):
            await self._deliver(list(self._account.settled()), ())
        await self._wait_after(refusal)

    async def _wait_after(self, refusal: Refused) -> None:
        if refusal.retry_after:
            wait = min(refusal.retry_after, self._pace.most_asked) + self._pace.first * random.random()
            await self._contact.pause(wait, until_answer=False)
        elif not _meant(refusal):
            await self._contact.pause(self._away.next(random.random()), until_answer=True)
        elif self._contact.starting:
            await self._contact.pause(self._pace.first * (1.0 + random.random()), until_answer=False)
        elif refusal.code == 401:
            await self._until_new_files(self._declined.next(random.random()))
        else:
            await self._contact.pause(self._declined.next(random.random()), until_answer=False)

    def _renews(self) -> bool:
        """Whether a fresh list may be asked for at once: not when the last one was asked for just now."""
        now = time.monotonic()
        recently, self._renewed = now - self._renewed < self._pace.settled, now
        return not recently

    def _tell(self, refusal: Refused, verb: str) -> None:
        if _meant(refusal):
            self._contact.refused(self._resource, verb, refusal)
        else:
            self._contact.lost(Failure(f"{refusal.code} {refusal}", _STANDS_BEFORE))

    async def _after_failure(self, failure: Failure, lasted: float) -> None:
        """There is no answer, or no end of it. That a watch is cut off is no news until it cannot go on."""
        if isinstance(failure, Silent) and not self._version:
            self._list_next = True
        if isinstance(failure, Nonsense):
            self._stumble()
            self._contact.garbled(self._resource, failure)
        elif not self._following:
            self._contact.lost(failure, lasted)
        if isinstance(failure, Distrusted):
            await self._until_new_files(self._declined.next(random.random()))
        elif isinstance(failure, Garbled):
            await self._contact.pause(self._declined.next(random.random()), until_answer=False)
        else:
            # Who waited in vain for a connection has waited already.
            spent = lasted if isinstance(failure, Unreachable) else 0.0
            wait = max(self._away.next(random.random()) - spent, self._pace.first * random.random())
            await self._contact.pause(wait, until_answer=True)

    def _stumble(self) -> None:
        """What cannot be had from one place, twice, will never be had from there: begin anew."""
        self._stumbles += 1
        if self._stumbles > 1:
            self._version = ""

    async def _until_new_files(self, seconds: float) -> None:
        """Wait, but no longer than until our files are others: who has a new token may be believed."""
        before = self._client.files()
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self._client.files() == before:
            await self._contact.pause(min(left, self._pace.look), until_answer=False)


def _meant(refusal: Refused) -> bool:
    """Whether it was the API server that declined, and not something that stands before it."""
    return refusal.by_server or refusal.code < 500
