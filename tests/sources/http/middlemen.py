"""Servers and proxies for tests, on loopback: they say what they are told to, and keep what they hear."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

CERTS = Path(__file__).parent.parent / "apiserver" / "certs"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def server_tls(name: str = "server", *, clients: bool = False) -> ssl.SSLContext:
    """A server's side; with `clients`, these must show a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTS / f"{name}.crt", CERTS / f"{name}.key")
    if clients:
        context.load_verify_locations(CERTS / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_tls(authority: str = "ca", certificate: str = "") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(CERTS / f"{authority}.crt")
    if certificate:
        context.load_cert_chain(CERTS / f"{certificate}.crt", CERTS / f"{certificate}.key")
    return context


@contextlib.asynccontextmanager
async def talking(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server that has this conversation with everybody; its port."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def saying(answer: bytes, heard: list[bytes] | None = None) -> Talk:
    """Answers every request with the same bytes."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await reader.readuntil(b"\r\n\r\n")
            if heard is not None:
                heard.append(request)
            writer.write(answer)
            await writer.drain()

    return talk


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """Bytes both ways, until either side has enough."""
    there, back = await asyncio.open_connection("127.0.0.1", port)

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()

    tasks = [asyncio.ensure_future(pump(reader, back)), asyncio.ensure_future(pump(there, writer))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        back.transport.abort()


def http_proxy(port: int, heard: list[bytes], answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n") -> Talk:
    """Whatever host is asked for, it connects to this port."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        if b" 200 " in answer:
            await relay(reader, writer, port)

    return talk


def socks_proxy(port: int, heard: list[bytes], login: bytes = b"", reply: int = 0) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readexactly(3))
        writer.write(b"\x05\x02" if login else b"\x05\x00")
        if login:
            heard.append(await reader.readexactly(len(login)))
            writer.write(b"\x01\x00" if heard[-1] == login else b"\x01\x01")
        start = await reader.readexactly(4)
        size = {1: 4, 4: 16}.get(start[3]) or (await reader.readexactly(1))[0]
        heard.append(start + await reader.readexactly(size + 2))
        writer.write(bytes((5, reply, 0, 1)) + bytes(6))
        if not reply:
            await relay(reader, writer, port)

    return talk
