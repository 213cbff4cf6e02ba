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
from kubeproxy.sources.notice import Level, Notice, shown

_ROLE = "bind the ClusterRole system:node-proxier to who we are; kubectl auth can-i shows what is allowed"
_ACCOUNT = "see whether the token or certificate has expired or was revoked; it is read anew each time"
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

    def lost(self, failure: Failure) -> None:
        """Nobody answers, or nobody that we understand."""
        problem = f"no use of the API server: {failure.problem}; {_WAITING}"
        self._say("server", _notice("server", self._server, problem, failure.remedy))

    def answered(self) -> None:
        """Somebody answers; whoever waits for that need not wait any longer."""
        if self._over("server", "the API server answers again"):
            self._answers.set()
            self._answers = asyncio.Event()

    def refused(self, resource: Resource, verb: str, refusal: Refused) -> None:
        """The server declines; said once for each list, except who we are, which is the same for all."""
        said = shown(str(refusal))
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

    def helped(self, resource: Resource) -> None:
        """A list is followed: whatever was wrong with it is no longer."""
        self.answered()
        self._over("login", "the API server knows us again")
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

    def _say(self, key: str, notice: Notice) -> None:
        now = time.monotonic()
        trouble = self._troubles.setdefault(key, _Trouble(now))
        gap = self._pace.remind if trouble.said else self._pace.calm
        if key in self._told and now - self._told[key] < gap:
            return
        if trouble.said:
            minutes = round((now - trouble.since) / 60)
            notice = replace(notice, problem=f"{notice.problem} (for {minutes} minutes now)")
        trouble.said = True
        self._told[key] = now
        self._inbox.say([notice])

    def _over(self, key: str, relief: str) -> bool:
        trouble = self._troubles.pop(key, None)
        if trouble is None:
            return False
        if trouble.said:
            seconds = round(time.monotonic() - trouble.since, 1)
            remedy = f"nothing is to be done; it took {seconds:g} s"
            self._inbox.say([Notice(Level.INFO, "", 0, None, "server", self._server, relief, remedy)])
        return True


def _notice(field: str, value: str, problem: str, remedy: str) -> Notice:
    return Notice(Level.ERROR, "", 0, None, field, value, problem, remedy)
