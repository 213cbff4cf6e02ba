"""A small HTTP/1.1 server: the answers a kube-proxy gives fit on a page, and every header of them is known.

A general web framework costs a third of a second of CPU and 25 MB at start, on every node of a cluster, to
answer `ok`; and it would add headers that the original does not send.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct, structs

from kubeproxy.runtime.logs import log

#: how long a client may stay idle between two requests: longer than scrapers usually wait
IDLE = 180.0
#: how long a client may take to send a request or to take an answer
PATIENCE = 30.0
_LIMIT = 16 * 1024
_HEX = re.compile(rb"[0-9a-fA-F]{1,6}")
#: a body up to here is sent with its length, a longer one in chunks: scripts have seen it so for years
_WHOLE = 2048

Headers = tuple[tuple[str, str], ...]


class Request(Struct, frozen=True):
    """One request; the names of headers in small letters."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes = b""
    version: str = "HTTP/1.1"

    @property
    def fields(self) -> dict[str, list[str]]:
        """What the query says, by name; a name without a value is there too."""
        return parse_qs(self.query, keep_blank_values=True)


class Answer(Struct, frozen=True):
    """A status, a body, and the page's own headers; what every answer has is added when it is sent."""

    status: int
    body: bytes
    headers: Headers = ()
    #: the type of a page that does not name it itself: the original's server guesses it, and sends it late
    guessed: str = ""


TEXT: Headers = (("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff"))
NOT_FOUND = Answer(404, b"404 page not found\n", TEXT)

Handler = Callable[[Request], Awaitable[Answer]]
#: one page of a server that has several
Page = Handler


class BadRequest(Exception):
    """What a client sent is no HTTP request."""


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request of a connection; None when the client is done."""
    try:
        async with asyncio.timeout(IDLE):
            first = await reader.readuntil(b"\r\n")
        async with asyncio.timeout(PATIENCE):
            head = first + await _rest_of_head(reader)
            request = parsed_head(head.decode("latin-1"))
            return structs.replace(request, body=await _body(reader, writer, request))
    except asyncio.IncompleteReadError as end:
        if end.partial.strip():
            raise BadRequest from end
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequest from error


async def _rest_of_head(reader: asyncio.StreamReader) -> bytes:
    rest = b""
    while not rest.endswith(b"\r\n\r\n") and rest != b"\r\n":
        rest += await reader.readuntil(b"\r\n")
        if len(rest) > _LIMIT:
            raise BadRequest
    return rest


def parsed_head(head: str) -> Request:
    """The first line and the headers of a request."""
    first, *rest = head.split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest
    headers = dict(_header(line) for line in rest if line)
    if "host" not in headers and words[2] != "HTTP/1.0":
        raise BadRequest("missing required Host header")
    try:
        # A proxy's client names the whole address; "//" at the start would be read as a host.
        target = urlsplit(words[1] if "://" in words[1] else f"http://host{words[1]}")
    except ValueError as error:
        raise BadRequest from error
    return Request(words[0], unquote(target.path), target.query, headers, version=words[2])


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise BadRequest
    return name.strip().lower(), value.strip()


async def _body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request) -> bytes:
    if request.headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "transfer-encoding" in request.headers:
        if request.headers["transfer-encoding"].lower() != "chunked":
            raise BadRequest
        return await _chunks(reader)
    length = request.headers.get("content-length", "0")
    # isdigit() alone would let through what int() does not understand, such as a superscript two.
    plain = length.isascii() and length.isdigit() and len(length) < 10
    if not plain or int(length) > _LIMIT:
        raise BadRequest
    return await reader.readexactly(int(length))


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        size = (await reader.readuntil(b"\r\n")).partition(b";")[0].strip()
        if not _HEX.fullmatch(size) or len(body) + int(size, 16) > _LIMIT:
            raise BadRequest
        chunk = await reader.readexactly(int(size, 16) + 2)
        if size.strip(b"0") == b"":
            return body
        body += chunk[:-2]


def closes(request: Request) -> bool:
    """Whether the connection ends with the answer to this request."""
    wish = request.headers.get("connection", "").lower()
    return wish == "close" or (request.version == "HTTP/1.0" and wish != "keep-alive")


def written(request: Request, answer: Answer) -> bytes:
    """An answer as bytes, its headers in the order in which Go's server sends them."""
    version = "HTTP/1.0" if request.version == "HTTP/1.0" else "HTTP/1.1"
    whole = len(answer.body) <= _WHOLE
    headers = [*sorted(answer.headers), ("Date", formatdate(usegmt=True))]
    if whole:
        headers.append(("Content-Length", str(len(answer.body))))
    if answer.guessed:
        headers.append(("Content-Type", answer.guessed))
    if closes(request) and version == "HTTP/1.1":
        headers.append(("Connection", "close"))
    elif version == "HTTP/1.0" and not closes(request):
        headers.append(("Connection", "keep-alive"))
    body = answer.body
    if request.method == "HEAD":
        body = b""
    elif not whole and version == "HTTP/1.1":
        headers.append(("Transfer-Encoding", "chunked"))
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    phrase = HTTPStatus(answer.status).phrase
    lines = [f"{version} {answer.status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
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
            return Answer(500, b"internal error\n", TEXT)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                request = await read_request(reader, writer)
            except BadRequest as error:
                said = f"400 Bad Request{': ' if error.args else ''}{error}"
                head = f"HTTP/1.1 {said}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close"
                writer.write(f"{head}\r\n\r\n{said}".encode())
                await writer.drain()
                return
            if request is None:
                return
            answer = await self._answer(request)
            async with asyncio.timeout(PATIENCE):
                writer.write(written(request, answer))
                await writer.drain()
            if closes(request):
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
