"""A small HTTP/1.1 server: the answers a kube-proxy gives fit on a page, and every header of them is known.

A general web framework costs a third of a second of CPU and 25 MB at start, on every node of a cluster, to
answer `ok`; and it would add headers that the original does not send.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from http import HTTPStatus

from msgspec import Struct

from kubeproxy.runtime.logs import log

#: how long a client may take to send a request or to take an answer, and stay idle between two
PATIENCE = 30.0
_LIMIT = 16 * 1024


class Request(Struct, frozen=True):
    method: str
    path: str
    query: str
    headers: dict[str, str]


class Answer(Struct, frozen=True):
    """A status, a body, and the headers beside Date and Content-Length, in the order they are sent."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


NOT_FOUND = Answer(
    404,
    b"404 page not found\n",
    (("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")),
)

Handler = Callable[[Request], Awaitable[Answer]]


class BadRequest(Exception):
    """What a client sent is no HTTP request."""


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None when the client is done."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial.strip():
            raise BadRequest from end
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequest from error
    first, *rest = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest
    headers = dict(_header(line) for line in rest if line)
    path, _, query = words[1].partition("?")
    request = Request(words[0], path, query, {**headers, ":version": words[2]})
    await _skip_body(reader, request)
    return request


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise BadRequest
    return name.strip().lower(), value.strip()


async def _skip_body(reader: asyncio.StreamReader, request: Request) -> None:
    length = request.headers.get("content-length", "0")
    # isdigit() alone would let through what int() does not understand, such as a superscript two.
    plain = length.isascii() and length.isdigit() and len(length) < 10
    if not plain or int(length) > _LIMIT or "transfer-encoding" in request.headers:
        raise BadRequest
    await reader.readexactly(int(length))


def written(request: Request, answer: Answer, *, close: bool) -> bytes:
    """An answer as bytes, its headers in the order in which Go's server sends them."""
    headers = [*sorted(answer.headers), ("Date", formatdate(usegmt=True))]
    headers.append(("Content-Length", str(len(answer.body))))
    if close:
        headers.append(("Connection", "close"))
    phrase = HTTPStatus(answer.status).phrase
    lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    body = b"" if request.method == "HEAD" else answer.body
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Server:
    """One handler on some sockets."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.StreamWriter] = set()

    async def listen(self, sockets: list[socket.socket]) -> None:
        for sock in sockets:
            self._servers.append(await asyncio.start_server(self._serve, sock=sock, limit=_LIMIT))

    async def close(self) -> None:
        """Stop listening and hang up on everybody."""
        for server in self._servers:
            server.close()
        for writer in list(self._connections):
            writer.close()
        self._servers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            await self._converse(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        finally:
            self._connections.discard(writer)
            await _hang_up(writer)

    async def _answer(self, request: Request) -> Answer:
        """A page that fails is one page that fails; the proxy goes on."""
        try:
            return await self._handler(request)
        except Exception as error:
            log.error("A page could not be made", error, path=request.path)
            return Answer(500, b"internal error\n", NOT_FOUND.headers)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                async with asyncio.timeout(PATIENCE):
                    request = await read_request(reader)
            except BadRequest:
                writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n")
                writer.write(b"Connection: close\r\n\r\n400 Bad Request")
                await writer.drain()
                return
            if request is None:
                return
            close = request.headers.get("connection", "").lower() == "close"
            close = close or request.headers[":version"] == "HTTP/1.0"
            async with asyncio.timeout(PATIENCE):
                writer.write(written(request, await self._answer(request), close=close))
                await writer.drain()
            if close:
                return


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    """A client that does not take what is still to be sent must not keep it here for ever."""
    writer.close()
    try:
        async with asyncio.timeout(PATIENCE):
            await writer.wait_closed()
    except OSError:
        writer.transport.abort()


def listening(host: str, port: int, *, only_ipv6: bool = False) -> socket.socket:
    """A listening socket; "" is every address, of both families where the kernel has IPv6."""
    family = (
        socket.AF_INET6 if ":" in host or (host == "" and socket.has_dualstack_ipv6()) else socket.AF_INET
    )
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(only_ipv6))
        sock.bind((host or ("::" if family == socket.AF_INET6 else "0.0.0.0"), port))
        sock.listen(128)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
