"""The small HTTP server: what it understands, what it refuses, and clients that take their time."""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from kubeproxy.runtime import http
from kubeproxy.runtime.http import Answer, BadRequest, Request, Server, listening, read_request, written

GREETING = Answer(200, b"hello\n", (("X-Second", "b"), ("Content-Type", "text/plain")))
DATE = re.compile(rb"Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT")


def request_of(text: bytes) -> Request | None:
    """What is read from these bytes when nothing follows."""

    async def read() -> Request | None:
        reader = asyncio.StreamReader(limit=16 * 1024)
        reader.feed_data(text)
        reader.feed_eof()
        return await read_request(reader, cast(asyncio.StreamWriter, None))

    return asyncio.run(read())


def test_a_request_is_read():
    read = request_of(b"GET /metrics?name[]=a HTTP/1.1\r\nHost: node\r\nX-Name:  some value \r\n\r\n")
    headers = {"host": "node", "x-name": "some value"}
    assert read == Request("GET", "/metrics", "name[]=a", headers)


@pytest.mark.parametrize("text", [b"", b"\r\n"])
def test_a_client_that_says_nothing_has_gone(text):
    assert request_of(text) is None


MALFORMED = [
    ("half a request", b"GET /healthz HTTP/1.1\r\nHost:"),
    ("no version", b"GET /healthz\r\n\r\n"),
    ("too many words", b"GET /a b HTTP/1.1\r\nHost: node\r\n\r\n"),
    ("another protocol", b"GET / SPDY/3\r\n\r\n"),
    ("the start of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("the start of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    ("a header without a colon", b"GET / HTTP/1.1\r\nHost: node\r\nnonsense\r\n\r\n"),
    ("too large a head", b"GET / HTTP/1.1\r\nHost: node\r\nX: " + b"a" * 20000 + b"\r\n\r\n"),
    ("a length that is no number", b"GET / HTTP/1.1\r\nHost: node\r\nContent-Length: ten\r\n\r\n"),
    ("a negative length", b"GET / HTTP/1.1\r\nHost: node\r\nContent-Length: -1\r\n\r\n"),
    ("a digit that is none", b"GET / HTTP/1.1\r\nHost: node\r\nContent-Length: \xb2\r\n\r\n"),
    (
        "a length of many digits",
        b"GET / HTTP/1.1\r\nHost: node\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    ),
    ("a body nobody waits for", b"POST / HTTP/1.1\r\nHost: node\r\nContent-Length: 99999999\r\n\r\n"),
    ("a coding nobody knows", b"POST / HTTP/1.1\r\nHost: node\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n"),
    ("a chunk without end", b"POST / HTTP/1.1\r\nHost: node\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
    ("no host", b"GET / HTTP/1.1\r\n\r\n"),
]


@pytest.mark.parametrize(("story", "text"), MALFORMED)
def test_what_is_no_request_is_told_so(story, text):
    with pytest.raises(BadRequest):
        request_of(text)


def test_an_answer_is_written_as_the_original_writes_it():
    """Headers in alphabetical order, then Date and Content-Length."""
    text = written(Request("GET", "/", "", {}), GREETING)
    head, _, body = text.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert DATE.fullmatch(lines.pop(3))
    assert lines == [b"HTTP/1.1 200 OK", b"Content-Type: text/plain", b"X-Second: b", b"Content-Length: 6"]
    assert body == b"hello\n"


def test_who_asks_for_the_head_gets_no_body():
    text = written(Request("HEAD", "/", "", {"connection": "close"}), GREETING)
    assert text.endswith(b"\r\nContent-Length: 6\r\nConnection: close\r\n\r\n")


async def greet(request: Request) -> Answer:
    if request.path == "/broken":
        raise ValueError("a defect")
    return Answer(200, request.path.encode())


def served(talk: Callable[[int], Awaitable[None]], handler: http.Handler = greet) -> None:
    """Run a conversation with a server on a port of its own."""

    async def run() -> None:
        server = Server(handler)
        sock = listening("127.0.0.1", 0)
        await server.listen([sock])
        try:
            await talk(sock.getsockname()[1])
        finally:
            await server.close()

    asyncio.run(run())


def bodies(text: bytes) -> list[bytes]:
    return re.findall(rb"\r\n\r\n([^H]*)", text)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (b"GET /a HTTP/1.1\r\nHost: node\r\n\r\nGET /b HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n", [b"/a", b"/b"]),
        (b"POST /a HTTP/1.1\r\nHost: node\r\nContent-Length: 4\r\n\r\nbodyGET /b HTTP/1.1\r\nHost: node\r\nConnection: Close\r\n\r\n", [b"/a", b"/b"]),
        (b"GET /a HTTP/1.0\r\n\r\nGET /b HTTP/1.1\r\nHost: node\r\n\r\n", [b"/a"]),
        (b"GET /broken HTTP/1.1\r\nHost: node\r\n\r\nGET /b HTTP/1.0\r\n\r\n", [b"internal error\n", b"/b"]),
        (b"GET /a HTTP/1.1\r\nHost: node\r\n\r\nnonsense\r\n\r\nGET /b HTTP/1.1\r\nHost: node\r\n\r\n", [b"/a", b"400 Bad Request"]),
    ],
    ids=["one after the other", "with a body", "an old client", "a page that fails", "a bad one ends it"],
)  # fmt: skip
def test_a_conversation_goes_on_until_somebody_ends_it(said, heard):
    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(said)
        assert bodies(await reader.read()) == heard
        writer.close()

    served(talk)


def test_a_client_may_send_a_letter_at_a_time():
    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for letter in b"GET /a HTTP/1.0\r\n\r\n":
            writer.write(bytes([letter]))
            await writer.drain()
            await asyncio.sleep(0)
        assert (await reader.read()).endswith(b"/a")
        writer.close()

    served(talk)


def test_a_client_that_never_ends_its_request_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(http, "PATIENCE", 0.05)

    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /a HTTP/1.1\r\nHost: node\r\nX-Slow: ")
        assert await reader.read() == b""
        writer.close()

    served(talk)


def test_a_client_that_does_not_take_its_answer_is_hung_up_on(monkeypatch):
    """Otherwise every one of them would keep a page of the proxy's memory."""
    monkeypatch.setattr(http, "PATIENCE", 0.05)

    async def endless(request: Request) -> Answer:
        return Answer(200, bytes(32 << 20))

    async def talk(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.setblocking(False)
            client.sendall(b"GET /a HTTP/1.1\r\nHost: node\r\n\r\n")
            loop, seen = asyncio.get_running_loop(), 0
            while part := await _slowly(loop, client):
                seen += part
            assert 0 < seen < 32 << 20

    served(talk, endless)


async def _slowly(loop: asyncio.AbstractEventLoop, client: socket.socket) -> int:
    """Waits longer than the server, then takes what is there; 0 at the end, however that comes."""
    await asyncio.sleep(0.3)
    try:
        return len(await loop.sock_recv(client, 1 << 26))
    except ConnectionResetError:
        return 0


def test_others_are_answered_meanwhile():
    async def talk(port: int) -> None:
        _, slow = await asyncio.open_connection("127.0.0.1", port)
        slow.write(b"GET /slow HTT")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /quick HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"/quick")
        writer.close()
        slow.close()

    served(talk)


def test_a_taken_port_is_an_error_and_nothing_is_left_open():
    with listening("127.0.0.1", 0) as first, pytest.raises(OSError, match="in use"):
        listening("127.0.0.1", first.getsockname()[1])
