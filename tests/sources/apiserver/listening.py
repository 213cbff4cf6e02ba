"""A source that is being watched, for tests: what it said so far, and waiting for more."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from kubeproxy.api.change import Delete, KubeObject, Synced, Upsert, ref_of
from kubeproxy.sources.apiserver.access import Access
from kubeproxy.sources.apiserver.backoff import Pace
from kubeproxy.sources.apiserver.client import Client, Exchange
from kubeproxy.sources.apiserver.ratelimit import RateLimit
from kubeproxy.sources.apiserver.source import ApiServerSource
from kubeproxy.sources.http.url import parse_url
from kubeproxy.sources.notice import Notice, Reading

#: like the real one, a hundred times as fast
FAST = Pace(first=0.008, longest=0.3, away=0.02, short=0.0, settled=0.3, look=0.02, answer=0.6, silence=1.65)
ALL = ("Node", "Service", "EndpointSlice", "ServiceCIDR")
LONGEST_WAIT = 30.0


class Listener:
    """What a proxy would know now, and how it came to that."""

    def __init__(self, source: ApiServerSource) -> None:
        self.source = source
        self.readings: list[Reading] = []
        self.objects: dict[str, KubeObject] = {}
        self.synced: list[str] = []
        self.deleted: list[str] = []
        self.notices: list[Notice] = []
        self._more = asyncio.Event()

    async def listen(self) -> None:
        async for reading in self.source.watch():
            self.readings.append(reading)
            self.notices += reading.notices
            for change in reading.changes:
                self._fold(change)
            self._more.set()

    def _fold(self, change: Upsert | Delete | Synced) -> None:
        match change:
            case Upsert(obj):
                self.objects[str(ref_of(obj))] = obj
            case Delete(ref):
                self.objects.pop(str(ref), None)
                self.deleted.append(str(ref))
            case Synced(kind):
                self.synced.append(kind)

    async def until(self, true: Callable[[], Any], what: str = "") -> None:
        """Until it is so; a test that waits for ever says what for."""
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                while not true():
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            said = "\n".join(map(str, self.notices))
            raise AssertionError(
                f"never {what or true}: {sorted(self.objects)}, {self.synced}\n{said}"
            ) from None

    async def until_synced(self) -> None:
        await self.until(lambda: set(self.synced) == set(ALL), "synced")

    def names(self, kind: str) -> list[str]:
        return sorted(name.removeprefix(f"{kind} ") for name in self.objects if name.startswith(f"{kind} "))

    def said(self, text: str) -> list[str]:
        return [str(notice) for notice in self.notices if text in str(notice)]


def client_of(url: str, observe: Callable[[Exchange], None] | None = None, **access: Any) -> Client:
    """A client without a rate limit, that looks at no variables of this process."""
    found = Access(server=parse_url(url), origin="the test", **access)
    limit = RateLimit(-1, 0, asyncio.get_running_loop().time)
    return Client(found, limit, environ={}, user_agent="kube-proxy/test", observe=observe)


@contextlib.asynccontextmanager
async def listening(
    url: str, node: str = "node-a", pace: Pace = FAST, client: Client | None = None, **access: Any
) -> AsyncIterator[Listener]:
    source = ApiServerSource(client or client_of(url, **access), node, pace)
    listener = Listener(source)
    task = asyncio.create_task(listener.listen())
    try:
        yield listener
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await source.close()
