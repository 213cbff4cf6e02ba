"""An API server of the tests: real HTTP over loopback, with the manners of the real one, and bad ones on demand."""

import asyncio
import contextlib
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

Object = dict[str, Any]
KINDS = {
    "Service": "services",
    "EndpointSlice": "endpointslices",
    "Node": "nodes",
    "ServiceCIDR": "servicecidrs",
}
PATHS = {
    "/api/v1/services": "services",
    "/api/v1/nodes": "nodes",
    "/apis/discovery.k8s.io/v1/endpointslices": "endpointslices",
    "/apis/networking.k8s.io/v1/servicecidrs": "servicecidrs",
}


class Seen(NamedTuple):
    """A request, as it came."""

    method: str
    target: str
    resource: str
    query: dict[str, str]
    headers: dict[str, str]
    peer: str

    @property
    def verb(self) -> str:
        return "watch" if self.query.get("watch") == "true" else "list"

    @property
    def initial(self) -> bool:
        return self.verb == "list" or "sendInitialEvents" in self.query


class Deed(NamedTuple):
    """Something done to one request instead of, or while, answering it."""

    status: int = 0
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    #: these very bytes, and the end of the connection
    raw: bytes | None = None
    #: no answer, or (with `after`) none any more
    hang: bool = False
    cut_after: int | None = None
    hang_after: int | None = None
    #: seconds between single bytes
    slow: float | None = None
    #: a line in place of the first event
    line: bytes | None = None


def refusal(code: int, reason: str, message: str, **headers: str) -> Deed:
    """A Status, as API servers write it."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason}
    body = json.dumps({**status, "code": code}).encode()
    return Deed(code, body, tuple((name.replace("_", "-"), value) for name, value in headers.items()))


def key_of(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{meta.get('namespace', '')}/{meta['name']}"


def selected(obj: Object, query: dict[str, str]) -> bool:
    """Label and field selectors, as far as a proxy uses them."""
    label, labels = query.get("labelSelector", ""), obj["metadata"].get("labels", {})
    if label and label.removeprefix("!") in labels:
        return False
    field, unequal, value = query.get("fieldSelector", "").partition("!=")
    if unequal:
        return field == "spec.clusterIP" and obj.get("spec", {}).get("clusterIP") != value
    field, _, value = field.partition("=")
    return not field or (field == "metadata.name" and obj["metadata"]["name"] == value)


class Out:
    """What goes to one client; a Deed may end it anywhere."""

    def __init__(self, writer: asyncio.StreamWriter, deed: Deed) -> None:
        self.writer, self.deed, self.sent = writer, deed, 0

    async def send(self, data: bytes) -> None:
        for limit, cut in ((self.deed.cut_after, True), (self.deed.hang_after, False)):
            if limit is not None and self.sent + len(data) > limit:
                self.writer.write(data[: max(0, limit - self.sent)])
                await self.writer.drain()
                if cut:
                    raise ConnectionError
                await asyncio.Event().wait()
        self.sent += len(data)
        if self.deed.slow is None:
            self.writer.write(data)
        else:
            for byte in data:
                self.writer.write(bytes((byte,)))
                await asyncio.sleep(self.deed.slow)
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")


class FakeApi:
    """One server; stopping it hangs up on everybody, and what it holds outlives it."""

    def __init__(
        self, tls: ssl.SSLContext | None = None, *, streams: bool = True, pages: bool = True
    ) -> None:
        self.tls, self.streams, self.pages = tls, streams, pages
        self.store: dict[str, dict[str, Object]] = {name: {} for name in PATHS.values()}
        self.history: list[tuple[int, str, str, Object | None, Object | None]] = []
        self.version, self.compacted = 100, 0
        self.seen: list[Seen] = []
        self.meddle: Callable[[Seen], Deed | None] = lambda _: None
        #: a watch ends after so long, whatever was asked for
        self.watch_seconds: float | None = None
        self.bookmarks: float | None = None
        self.compress = False
        self.port = 0
        self.connections = 0
        self._server: asyncio.Server | None = None
        self._at_work: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._noticed = asyncio.Event()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, ssl=self.tls, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self.cut_all()
        await asyncio.gather(*self._at_work, return_exceptions=True)

    def cut_all(self) -> None:
        for task in self._at_work:
            task.cancel()

    def put(self, *objects: Object) -> None:
        for obj in objects:
            resource, key = KINDS[obj["kind"]], key_of(obj)
            self.version += 1
            now = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
            self._record(resource, key, now)

    def delete(self, kind: str, key: str) -> None:
        self.version += 1
        self._record(KINDS[kind], key, None)

    def _record(self, resource: str, key: str, now: Object | None) -> None:
        held = self.store[resource]
        before = held.pop(key, None)
        if now is not None:
            held[key] = now
        self.history.append((self.version, resource, key, before, now))
        self._pulse()

    def compact(self) -> None:
        """Forget how it came to be as it is."""
        self.compacted = self.version
        self.history.clear()
        self._pulse()

    def _pulse(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def asked(self, matches: Callable[[Seen], bool], times: int = 1) -> list[Seen]:
        """Wait until so many such requests have come."""
        while len(found := [seen for seen in self.seen if matches(seen)]) < times:
            self._noticed.clear()
            await self._noticed.wait()
        return found

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._at_work.add(task)
        self.connections += 1
        try:
            while (seen := await self._request(reader, writer)) is not None:
                deed = self.meddle(seen) or Deed()
                self.seen.append(seen)
                self._noticed.set()
                if not await self._answer(seen, Out(writer, deed)):
                    break
        except (ConnectionError, asyncio.CancelledError, ssl.SSLError):
            writer.transport.abort()
        finally:
            self._at_work.discard(task)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Seen | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except (asyncio.IncompleteReadError, ssl.SSLError):
            return None
        first, *lines = head.rstrip().split("\r\n")
        method, target, _ = first.split(" ")
        path, _, query = target.partition("?")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        certificate = writer.get_extra_info("peercert") or {}
        peer = next((v for part in certificate.get("subject", ()) for k, v in part if k == "commonName"), "")
        if method == "CONNECT" or "://" in path:
            path = "/" + path.split("/", 3)[-1]
        return Seen(method, target, PATHS.get(path, ""), dict(parse_qsl(query, True)), headers, peer)

    async def _answer(self, seen: Seen, out: Out) -> bool:
        """Whether the connection can be used again."""
        deed = out.deed
        if deed.hang:
            await asyncio.Event().wait()
        if deed.raw is not None:
            await out.send(deed.raw)
            return False
        if deed.status:
            await self._whole(out, deed.status, deed.body, deed.headers)
        elif not seen.resource:
            await self._refuse(out, 404, "NotFound", "the server could not find the requested resource")
        elif seen.verb == "list":
            await self._list(seen, out)
        elif seen.initial and not self.streams:
            await self._refuse(out, 422, "Invalid", "sendInitialEvents: Forbidden")
        elif (since := int(seen.query.get("resourceVersion", 0))) and since < self.compacted:
            await self._refuse(out, 410, "Expired", f"too old resource version: {since} ({self.compacted})")
        elif since > self.version:
            await self._refuse(out, 504, "Timeout", f"Too large resource version: {since}")
        else:
            await self._watch(seen, out)
        return True

    async def _refuse(self, out: Out, code: int, reason: str, message: str) -> None:
        await self._whole(out, code, refusal(code, reason, message).body)

    async def _whole(
        self, out: Out, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        packed = ("Content-Encoding", "gzip") in headers
        kind = "application/json" if packed or body[:1] == b"{" else "text/plain"
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        await out.send("\r\n".join([*lines, "", ""]).encode() + body)

    async def _list(self, seen: Seen, out: Out) -> None:
        query = seen.query
        keys = sorted(key for key, obj in self.store[seen.resource].items() if selected(obj, query))
        start, _, version = query.get("continue", "0:").partition(":")
        if version and int(version) < self.compacted:
            await self._refuse(out, 410, "Expired", "The provided continue parameter is too old")
            return
        version = version or str(self.version)
        first, size = int(start), int(query.get("limit", 0)) if self.pages else 0
        page = keys[first : first + size] if size else keys[first:]
        meta = {"resourceVersion": version}
        if first + len(page) < len(keys):
            meta["continue"] = f"{first + len(page)}:{version}"
        # Items of a list do not say their kind.
        items = [
            {
                name: value
                for name, value in self.store[seen.resource][key].items()
                if name not in ("kind", "apiVersion")
            }
            for key in page
        ]
        body = compact_json({"kind": "List", "apiVersion": "v1", "metadata": meta, "items": items}) + b"\n"
        packed = self.compress and "gzip" in seen.headers.get("accept-encoding", "")
        if packed:
            await self._whole(out, 200, gzip.compress(body), (("Content-Encoding", "gzip"),))
        else:
            await self._whole(out, 200, body)

    async def _watch(self, seen: Seen, out: Out) -> None:
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        await out.send(head.encode())
        if out.deed.line is not None:
            await out.chunk(out.deed.line + b"\n")
        at = int(seen.query.get("resourceVersion", 0))
        if seen.initial:
            at = self.version
            for key in sorted(self.store[seen.resource]):
                if selected(obj := self.store[seen.resource][key], seen.query):
                    await out.chunk(event("ADDED", obj))
            await out.chunk(bookmark(at, whole=True))
        seconds = self.watch_seconds or float(seen.query["timeoutSeconds"])
        end = asyncio.get_running_loop().time() + seconds
        while True:
            changed = self._changed
            if at < self.compacted:
                await out.chunk(event("ERROR", json.loads(refusal(410, "Expired", "too old").body)))
                break
            for version, resource, _, before, now in [each for each in self.history if each[0] > at]:
                at = version
                if resource == seen.resource and (line := _told(seen, version, before, now)):
                    await out.chunk(line)
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                break
            try:
                async with asyncio.timeout(min(left, self.bookmarks or left)):
                    await changed.wait()
            except TimeoutError:
                if self.bookmarks:
                    await out.chunk(bookmark(at))
        await out.send(b"0\r\n\r\n")


def _told(seen: Seen, version: int, before: Object | None, now: Object | None) -> bytes:
    """What a watcher is told: leaving its selection is a deletion, entering it an addition."""
    was = before is not None and selected(before, seen.query)
    if now is not None and selected(now, seen.query):
        return event("MODIFIED" if was else "ADDED", now)
    if not was or before is None:
        return b""
    meta = {**before["metadata"], "resourceVersion": str(version)}
    return event("DELETED", {**before, "metadata": meta})


def compact_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def event(kind: str, obj: Object) -> bytes:
    return compact_json({"type": kind, "object": obj}) + b"\n"


def bookmark(version: int, *, whole: bool = False) -> bytes:
    meta: Object = {"resourceVersion": str(version), "creationTimestamp": None}
    if whole:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    return event("BOOKMARK", {"kind": "X", "apiVersion": "v1", "metadata": meta})


@contextlib.asynccontextmanager
async def serving(api: FakeApi | None = None) -> AsyncIterator[FakeApi]:
    found = api or FakeApi()
    await found.start()
    try:
        yield found
    finally:
        await found.stop()
