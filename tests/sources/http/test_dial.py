"""The way to a server: every part of it that can be in the way says so."""

import asyncio
import contextlib
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import AsyncIterator

import pytest

from kubeproxy.sources.http.connection import Connection
from kubeproxy.sources.http.dial import Route, dial
from kubeproxy.sources.http.failure import Cut, Distrusted, Failure, Garbled, Silent, Unreachable
from kubeproxy.sources.http.message import request_bytes
from kubeproxy.sources.http.url import Url
from tests.sources.http.middlemen import (
    client_tls,
    http_proxy,
    saying,
    server_tls,
    socks_proxy,
    talking,
)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def ask(route: Route, tls: ssl.SSLContext | None = None, patience: float = 5.0) -> bytes:
    connection = Connection(await dial(route, tls, patience), None)
    try:
        response = await connection.exchange("GET", request_bytes("GET", "/", [("Host", "x")]), patience)
        return await response.read_all(1000, patience)
    finally:
        connection.drop()


def https(port: int, host: str = "127.0.0.1") -> Url:
    return Url("https", host, port)


def fails(kind: type[Failure], said: str, route: Route, tls: ssl.SSLContext | None = None) -> None:
    with pytest.raises(kind) as caught:
        asyncio.run(ask(route, tls, 2.0))
    assert said in str(caught.value), str(caught.value)
    assert caught.value.remedy


@contextlib.asynccontextmanager
async def server(name: str = "server", *, clients: bool = False) -> AsyncIterator[int]:
    async with talking(saying(OK), server_tls(name, clients=clients)) as port:
        yield port


@pytest.mark.parametrize(
    ("name", "host", "server_name"),
    [
        ("server", "127.0.0.1", ""),
        ("server", "localhost", ""),
        ("server", "127.0.0.1", "api.test"),
        ("named", "127.0.0.1", "api.test"),
    ],
)
def test_a_server_is_believed_by_its_authority_and_its_name(name: str, host: str, server_name: str) -> None:
    async def story() -> bytes:
        async with server(name) as port:
            return await ask(Route(https(port, host), None, server_name), client_tls())

    assert asyncio.run(story()) == b"ok"


@pytest.mark.parametrize(
    ("name", "authority", "server_name", "said"),
    [
        ("server", "other-ca", "", "unable to get local issuer certificate"),
        ("other-server", "ca", "", "unable to get local issuer certificate"),
        ("named", "ca", "", "IP address mismatch, certificate is not valid for '127.0.0.1'"),
        ("server", "ca", "wrong.test", "Hostname mismatch, certificate is not valid for 'wrong.test'"),
    ],
)
def test_anybody_else_is_not(name: str, authority: str, server_name: str, said: str) -> None:
    async def story() -> str:
        async with server(name) as port:
            with pytest.raises(Distrusted) as caught:
                await ask(Route(https(port), None, server_name), client_tls(authority))
            return caught.value.problem

    problem = asyncio.run(story())
    assert problem.startswith("the certificate of 127.0.0.1:")
    assert said in problem


def test_who_shows_a_certificate_is_let_in() -> None:
    async def story() -> bytes:
        async with server(clients=True) as port:
            return await ask(Route(https(port)), client_tls(certificate="client"))

    assert asyncio.run(story()) == b"ok"


def test_who_shows_no_certificate_where_one_is_wanted_is_told() -> None:
    """With TLS 1.3 the server complains only after our side believes that all is well."""
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        sock, _ = listener.accept()
        context = server_tls(clients=True)
        with context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False) as secured:
            with contextlib.suppress(ssl.SSLError):
                secured.do_handshake()
            # Read what was sent all the same: otherwise the refusal is overtaken by a reset.
            while socket.socket.recv(secured, 4096):
                pass

    thread = threading.Thread(target=refuse)
    thread.start()
    fails(Distrusted, "certificate required", Route(https(listener.getsockname()[1])), client_tls())
    thread.join()
    listener.close()


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        fails(Unreachable, f"127.0.0.1:{port} cannot be reached: connection refused", Route(https(port)))
    fails(
        Unreachable, "no.such.host.invalid:443 cannot be reached", Route(https(443, "no.such.host.invalid"))
    )


def test_a_server_without_tls_where_tls_is_spoken_and_the_other_way_round() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()

    async def story() -> None:
        async with talking(plain) as port:
            with pytest.raises(Distrusted, match=r"TLS with 127.0.0.1:\d+ fails: wrong version number"):
                await ask(Route(https(port)), client_tls())
        async with server() as port:
            with pytest.raises((Cut, Garbled)):
                await ask(Route(Url("http", "127.0.0.1", port)))

    asyncio.run(story())


def test_who_accepts_and_says_nothing_is_given_up() -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def story() -> None:
        async with talking(mute) as port:
            with pytest.raises(Unreachable, match=r"no connection to 127.0.0.1:\d+ within 0.1 s"):
                await ask(Route(https(port)), client_tls(), 0.1)
            with pytest.raises(Silent, match=r"no answer within 0\.1 s"):
                await ask(Route(Url("http", "127.0.0.1", port)), None, 0.1)

    asyncio.run(story())


LOGIN = b64encode(b"me:secret")


@pytest.mark.parametrize(("user", "line"), [("", b""), ("me", b"\r\nProxy-Authorization: Basic " + LOGIN)])
def test_a_proxy_is_asked_to_connect(user: str, line: bytes) -> None:
    async def story() -> tuple[bytes, list[bytes]]:
        heard: list[bytes] = []
        async with server() as port, talking(http_proxy(port, heard)) as proxy_port:
            proxy = Url("http", "127.0.0.1", proxy_port, "", user, "secret" if user else "")
            return await ask(Route(https(6443, "api.test"), proxy), client_tls()), heard

    body, heard = asyncio.run(story())
    assert body == b"ok"
    assert heard == [b"CONNECT api.test:6443 HTTP/1.1\r\nHost: api.test:6443" + line + b"\r\n\r\n"]


def test_a_proxy_may_be_behind_tls_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(server_tls.__globals__["CERTS"] / "ca.crt"))

    async def story() -> bytes:
        async with server() as port, talking(http_proxy(port, []), server_tls()) as proxy_port:
            return await ask(Route(https(6443, "api.test"), https(proxy_port)), client_tls())

    assert asyncio.run(story()) == b"ok"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407 Proxy Authentication Required"),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "403 Forbidden"),
        (b"SSH-2.0\r\n\r\n", "it does not answer as an HTTP proxy does"),
        (b"", "it does not answer as an HTTP proxy does"),
    ],
)
def test_a_proxy_that_does_not_connect_is_named(answer: bytes, said: str) -> None:
    async def story() -> str:
        async with talking(http_proxy(0, [], answer)) as port:
            with pytest.raises(Unreachable) as caught:
                await ask(Route(https(6443, "api.test"), Url("http", "127.0.0.1", port)), client_tls())
            return str(caught.value)

    found = asyncio.run(story())
    assert f" does not connect to api.test:6443: {said}; see whether" in found


@pytest.mark.parametrize(
    ("host", "address"),
    [("api.test", b"\x08api.test"), ("10.96.0.1", b"\x0a\x60\x00\x01"), ("::1", bytes(15) + b"\x01")],
)
@pytest.mark.parametrize("login", [b"", b"\x01\x02me\x06secret"])
def test_a_socks_proxy_is_asked_to_connect(host: str, address: bytes, login: bytes) -> None:
    async def story() -> tuple[bytes, list[bytes]]:
        heard: list[bytes] = []
        async with server() as port, talking(socks_proxy(port, heard, login)) as proxy_port:
            user, password = ("me", "secret") if login else ("", "")
            proxy = Url("socks5", "127.0.0.1", proxy_port, "", user, password)
            return await ask(Route(https(6443, host), proxy, "api.test"), client_tls()), heard

    body, heard = asyncio.run(story())
    assert body == b"ok"
    kind = {9: 3, 4: 1, 16: 4}[len(address)]
    last = bytes((5, 1, 0, kind)) + address.removeprefix(b"\x08") + (6443).to_bytes(2, "big")
    assert heard == [b"\x05\x01\x02", login, last] if login else [b"\x05\x01\x00", last]


def test_a_socks_proxy_that_does_not_connect_is_named() -> None:
    async def story() -> None:
        async with talking(socks_proxy(0, [], reply=5)) as port:
            with pytest.raises(Unreachable, match="connection refused"):
                await ask(Route(https(6443, "api.test"), Url("socks5", "127.0.0.1", port)), client_tls())
        async with talking(socks_proxy(0, [], b"\x01\x02me\x05other")) as port:
            proxy = Url("socks5", "127.0.0.1", port, "", "me", "wrong")
            with pytest.raises(Unreachable, match="user or password refused"):
                await ask(Route(https(6443, "api.test"), proxy), client_tls())

    asyncio.run(story())
