"""How we stand with the server.

What is wrong is said when it begins, rarely while it lasts, and once more when it is over.
"""

import asyncio
import time

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.sources.apiserver.backoff import Pace
from kubeproxy.sources.apiserver.inbox import Inbox
from kubeproxy.sources.apiserver.refusal import Refused
from kubeproxy.sources.apiserver.resources import Resource
from kubeproxy.sources.http.failure import Failure
from kubeproxy.sources.notice import Level, Notice

_ROLE = "bind the ClusterRole system:node-proxier to who we are; kubectl auth can-i shows what is allowed"
_ACCOUNT = "see whether the token or certificate has expired or was revoked; it is read anew each time"
_AGAIN = "the API server answers again"
_WAITING = "what is programmed stays as it is"


class _Trouble(Struct):
    """`said` is whether anybody was told of it: what comes and goes quickly is not told each time."""

    since: float
    said: bool = False


class Contact:
    """Shared by all lists of a server: that it is away is one trouble and not four."""

    def __init__(self, server: str, origin: str, inbox: Inbox, pace: Pace) -> None:
        self._server, self._origin = server, origin
        self._inbox, self._pace = inbox, pace
        self._troubles: dict[str, _Trouble] = {}
        self._told: dict[str, float] = {}
        self._answers = asyncio.Event()
        self._back = time.monotonic()

    @property
    def starting(self) -> bool:
        """Whether the server is back for so short a time that its refusals may be over in a moment."""
        return time.monotonic() - self._back < self._pace.starting

    def lost(self, failure: Failure, lasted: float = 0.0) -> None:
        """Nobody answers, or nobody that we understand; that took so long to find out."""
        problem = f"no use of the API server: {failure.problem}; {_WAITING}"
        self._say("server", _notice("server", self._server, problem, failure.remedy), lasted)

    def answered(self) -> None:
        """Somebody answers; whoever waits for that need not wait any longer."""
        if "server" in self._troubles:
            self._back = time.monotonic()
            self._answers.set()
            self._answers = asyncio.Event()

    def refused(self, resource: Resource, verb: str, refusal: Refused) -> None:
        """The server declines; said once for each list, except who we are, which is the same for all."""
        self._over("server", _AGAIN)
        said = "".join(letter if letter.isprintable() else "?" for letter in str(refusal))
        if refusal.code == 401:
            problem = f"the API server does not know us: {said}"
            self._say("login", _notice("credentials", self._origin, problem, _ACCOUNT))
            return
        what = f"{verb} {resource.full_name}"
        if refusal.code == 403:
            notice = _notice("right", what, f"the API server forbids us to {what}: {said}", _ROLE)
        elif refusal.code == 404:
            remedy = "see whether the API server serves this resource, and that the URL is right"
            notice = _notice("resource", resource.full_name, "the API server has no such resource", remedy)
        else:
            problem = f"the API server answers {refusal.code}: {said}"
            notice = _notice("request", what, problem, "it is tried again; see the API server's log")
        self._say(resource.kind, notice)

    def garbled(self, resource: Resource, failure: Failure) -> None:
        """It answers, but of one list not in a way that can be understood."""
        problem = f"{failure.problem}; {_WAITING}"
        self._say(resource.kind, _notice("answers", resource.full_name, problem, failure.remedy))

    def helped(self) -> None:
        """It answers and lets us go on."""
        self._over("server", _AGAIN)
        self._over("login", "the API server knows us again")

    def followed(self, resource: Resource) -> None:
        """What it says of a list is understood: whatever was wrong with that list is no longer."""
        self._over(resource.kind, f"{resource.full_name} can be followed now")

    async def pause(self, seconds: float, *, until_answer: bool) -> None:
        """Wait; where it was for the server to come back, only until another list has found it there."""
        if not until_answer:
            await asyncio.sleep(seconds)
            return
        answers = self._answers
        try:
            async with asyncio.timeout(seconds):
                await answers.wait()
        except TimeoutError:
            pass

    def _say(self, key: str, notice: Notice, lasted: float = 0.0) -> None:
        now = time.monotonic()
        trouble = self._troubles.setdefault(key, _Trouble(now - lasted))
        if now - trouble.since < self._pace.doubt:
            return
        gap = self._pace.remind if trouble.said else self._pace.calm
        if key in self._told and now - self._told[key] < gap:
            return
        if trouble.said:
            minutes = round((now - trouble.since) / 60)
            notice = replace(notice, problem=f"{notice.problem} (for {minutes} minutes now)")
        trouble.said = True
        self._told[key] = now
        self._inbox.say([notice])

    def _over(self, key: str, relief: str) -> None:
        trouble = self._troubles.pop(key, None)
        if trouble is not None and trouble.said:
            seconds = round(time.monotonic() - trouble.since, 1)
            remedy = f"nothing is to be done; it took {seconds:g} s"
            self._inbox.say([Notice(Level.INFO, "", 0, None, "server", self._server, relief, remedy)])


def _notice(field: str, value: str, problem: str, remedy: str) -> Notice:
    return Notice(Level.ERROR, "", 0, None, field, value, problem, remedy)
