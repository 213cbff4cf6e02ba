"""What it costs to read a cluster from an API server: streamed, and as the one large page of old servers.

Run it as `python -m benchmarks.apiserver [SERVICESxENDPOINTS]`. The server is another process and has its
answers ready, so the CPU is ours: HTTP, splitting, decoding, names. Resident memory is what it adds at most.
"""

import asyncio
import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

import msgspec

from benchmarks.cluster import NODE, cluster
from kubeproxy.api.change import Synced, Upsert, kind_of
from kubeproxy.sources.apiserver.access import Access
from kubeproxy.sources.apiserver.client import Client
from kubeproxy.sources.apiserver.ratelimit import RateLimit
from kubeproxy.sources.apiserver.source import ApiServerSource
from kubeproxy.sources.http.url import Url

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_KIND_OF = {
    "nodes": "Node",
    "services": "Service",
    "endpointslices": "EndpointSlice",
    "servicecidrs": "ServiceCIDR",
}
_END = (
    b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}'
)


def objects(services: int, endpoints: int) -> dict[str, list[bytes]]:
    """As JSON, by kind, in about the size in which a server sends them."""
    found: dict[str, list[bytes]] = {kind: [] for kind in _KIND_OF.values()}
    field = {"f:x": {f"f:field-{number}": {} for number in range(12)}}
    managed = [{"manager": "controller", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": field}]
    for change in cluster(services, endpoints):
        if isinstance(change, Upsert):
            raw = msgspec.to_builtins(change.obj)
            raw["metadata"] |= {"uid": "0" * 36, "resourceVersion": "8", "managedFields": managed}
            found[kind_of(change.obj)].append(msgspec.json.encode(raw))
    return found


def streamed(items: list[bytes]) -> bytes:
    lines = [*(b'{"type":"ADDED","object":' + item + b"}" for item in items), _END]
    chunks = b"".join(b"%x\r\n%b\n\r\n" % (len(line) + 1, line) for line in lines)
    return _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks


def listed(items: list[bytes]) -> bytes:
    body = b'{"kind":"List","metadata":{"resourceVersion":"9"},"items":[' + b",".join(items) + b"]}\n"
    return _HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


async def asked(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, OSError):
        return b""


def serve(services: int, endpoints: int, streams: bool, ready: Connection) -> None:
    """Another process: every first question is answered at once, every other one never."""
    answers = {
        name: (streamed if streams else listed)(items)
        for name, items in ((n, objects(services, endpoints)[k]) for n, k in _KIND_OF.items())
    }

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await asked(reader):
            target = request.split(b" ")[1].decode()
            initial = "sendInitialEvents" in target
            if initial and not streams:
                writer.write(b"HTTP/1.1 422 X\r\nContent-Length: 0\r\n\r\n")
            elif initial or "watch=true" not in target:
                writer.write(answers[target.partition("?")[0].rpartition("/")[2]])
            else:
                writer.write(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
            await writer.drain()

    async def run() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(run())


async def read(port: int) -> None:
    access = Access(server=Url("http", "127.0.0.1", port), origin="the benchmark")
    client = Client(access, RateLimit(-1, 0, time.monotonic), environ={}, user_agent="benchmark")
    synced = 0
    async for reading in ApiServerSource(client, NODE).watch():
        synced += sum(isinstance(change, Synced) for change in reading.changes)
        if synced == 4:
            return


def measure(services: int, endpoints: int, streams: bool) -> tuple[float, float, float]:
    """CPU and elapsed seconds, and how many MB the peak of resident memory grew."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(services, endpoints, streams, theirs), daemon=True)
    server.start()
    port = ours.recv()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, elapsed = time.process_time(), time.monotonic()
    asyncio.run(read(port))
    cpu, elapsed = time.process_time() - cpu, time.monotonic() - elapsed
    server.terminate()
    server.join()
    return cpu, elapsed, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024


def lines(services: int, endpoints: int) -> Iterator[str]:
    for streams, name in ((True, "streamed"), (False, "as one page")):
        cpu, elapsed, grown = measure(services, endpoints, streams)
        yield (
            f"{services} Services x {endpoints} {name}: {cpu * 1000:.0f} ms CPU, {elapsed * 1000:.0f} ms,"
            f" {grown:.0f} MB more at most"
        )


def main() -> None:
    multiprocessing.set_start_method("spawn")
    services, endpoints = map(int, (sys.argv[1] if len(sys.argv) > 1 else "5000x10").split("x"))
    for line in lines(services, endpoints):
        print(line)


if __name__ == "__main__":
    main()
