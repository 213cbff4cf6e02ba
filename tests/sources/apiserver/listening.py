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
from tests.sources.apiserver.fake import FakeApi, Object
from tests.sources.objects import service, slice_of

#: like the real one, a hundred times as fast
FAST = Pace(
    first=0.008,
    longest=0.3,
    away=0.02,
    short=0.0,
    settled=0.3,
    look=0.02,
    answer=0.6,
    silence=1.65,
    calm=3.0,
    doubt=0.006,
    starting=0.0,
)
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
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.create_task(self._listen())

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.source.close()

    async def _listen(self) -> None:
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


def node(name: str = "node-a", **fields: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **fields}


def cidr(name: str = "kubernetes") -> Object:
    spec = {"cidrs": ["10.96.0.0/16"]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": name},
        "spec": spec,
    }


def cluster(api: FakeApi) -> FakeApi:
    """Two Services with a slice each, the Nodes and the range."""
    api.put(node(), node("node-b"), service(), service("web"), slice_of(), slice_of("web"), cidr())
    return api


def client_of(url: str, observe: Callable[[Exchange], None] | None = None, **access: Any) -> Client:
    """A client without a rate limit, that looks at no variables of this process."""
    found = Access(server=parse_url(url), origin="the test", **access)
    limit = RateLimit(-1, 0, asyncio.get_running_loop().time)
    return Client(found, limit, environ={}, user_agent="kube-proxy/test", observe=observe)


@contextlib.asynccontextmanager
async def listening(
    url: str,
    *,
    pace: Pace = FAST,
    client: Client | None = None,
    watches: bool = True,
    **access: Any,
) -> AsyncIterator[Listener]:
    """A source of node-a; it is watched from the start, unless the test begins that itself."""
    listener = Listener(ApiServerSource(client or client_of(url, **access), "node-a", pace))
    if watches:
        listener.begin()
    try:
        yield listener
    finally:
        await listener.end()
