"""From a URL to a connection: TCP, perhaps a proxy, perhaps TLS."""

import asyncio
import os
import socket
import ssl
from base64 import b64encode
from typing import Final

from msgspec import Struct

from kubeproxy.sources.http.failure import Distrusted, Failure, Garbled, Unreachable
from kubeproxy.sources.http.message import parse_head, request_bytes
from kubeproxy.sources.http.socks import socks_reply_length, socks_request
from kubeproxy.sources.http.url import Url

#: how long setting up a connection may take, and TLS of that: TCP asks after 0, 1, 3 and 7 s, and not again
#: before 15, so that a new attempt is heard sooner by a host that comes back
PATIENCE: Final = 10.0
HANDSHAKE: Final = 10.0
#: the next address of a host is tried so soon when one does not answer
NEXT_ADDRESS: Final = 0.3
#: so much is read ahead, twice this at most
AHEAD: Final = 64 * 1024

# A host that vanished is noticed within 20 s, with something sent or without.
_KEEP_ALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 3),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 19_000),
)
_AWAY: Final = "see that it runs and that its address is right; it is tried again"
_CERTIFICATES: Final = "compare the certificate authority and the server's name with what the server shows"


class Route(Struct, frozen=True):
    """How a server is reached. `server_name` is what its certificate must be for, "" for its host."""

    server: Url
    proxy: Url | None = None
    server_name: str = ""


class Wire(Struct):
    """Both directions of an open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def drop(self) -> None:
        """Without farewell: whoever is gone, or is no longer wanted, cannot make us wait."""
        self.writer.transport.abort()


async def dial(route: Route, tls: ssl.SSLContext | None, patience: float = PATIENCE) -> Wire:
    """An open connection, or a Failure that says which part of the way was the trouble."""
    first = route.proxy or route.server
    try:
        async with asyncio.timeout(patience):
            return await _dial(route, first, tls)
    except TimeoutError as error:
        raise Unreachable(f"no connection to {first.address} within {patience:g} s", _AWAY) from error
    except OSError as error:
        raise _explained(error, first) from error


async def _dial(route: Route, first: Url, tls: ssl.SSLContext | None) -> Wire:
    outer = tls if route.proxy is None else _proxy_tls(route.proxy)
    name = (route.server_name or first.host) if route.proxy is None else first.host
    reader, writer = await asyncio.open_connection(
        first.host,
        first.port,
        limit=AHEAD,
        ssl=outer,
        server_hostname=name if outer is not None else None,
        ssl_handshake_timeout=HANDSHAKE if outer is not None else None,
        happy_eyeballs_delay=NEXT_ADDRESS,
    )
    wire = Wire(reader, writer)
    try:
        _keep_alive(writer)
        if route.proxy is not None:
            await _through(wire, route.proxy, route.server)
            if tls is not None:
                name = route.server_name or route.server.host
                await writer.start_tls(tls, server_hostname=name, ssl_handshake_timeout=HANDSHAKE)
    except BaseException:
        wire.drop()
        raise
    return wire


def _proxy_tls(proxy: Url) -> ssl.SSLContext | None:
    """A proxy is believed as the system believes it; the cluster's authority knows nothing of it."""
    if not proxy.secure:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    return context


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    for level, option, value in _KEEP_ALIVE:
        sock.setsockopt(level, option, value)


async def _through(wire: Wire, proxy: Url, server: Url) -> None:
    """Have the proxy connect to the server; a plain HTTP request needs none of that."""
    if proxy.scheme.startswith("socks5"):
        await _socks(wire, proxy, server)
    elif server.secure:
        await _connect(wire, proxy, server)


async def _connect(wire: Wire, proxy: Url, server: Url) -> None:
    headers = [("Host", server.address), *proxy_headers(proxy)]
    wire.writer.write(request_bytes("CONNECT", server.address, headers))
    try:
        head = parse_head(await wire.reader.readuntil(b"\r\n\r\n"))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, Garbled) as error:
        raise _refused(proxy, server, "it does not answer as an HTTP proxy does") from error
    if head.status != 200:
        raise _refused(proxy, server, f"{head.status} {head.reason}".rstrip())


async def _socks(wire: Wire, proxy: Url, server: Url) -> None:
    """RFC 1928, and RFC 1929 where the proxy's URL has a user."""
    try:
        for step in socks_request(proxy, server):
            wire.writer.write(step.sent)
            answer = await wire.reader.readexactly(step.expects)
            if step.complaint(answer):
                raise _refused(proxy, server, step.complaint(answer))
        await wire.reader.readexactly(socks_reply_length(answer) - len(answer))
    except asyncio.IncompleteReadError as error:
        raise _refused(proxy, server, "it hung up") from error


def _refused(proxy: Url, server: Url, why: str) -> Unreachable:
    remedy = f"see whether the proxy may connect to {server.address}, or name it in NO_PROXY"
    return Unreachable(f"the proxy {proxy} does not connect to {server.address}: {why}", remedy)


def proxy_headers(proxy: Url) -> list[tuple[str, str]]:
    if not proxy.user:
        return []
    secret = b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
    return [("Proxy-Authorization", f"Basic {secret}")]


def _explained(error: OSError, server: Url) -> Failure:
    """What the system says, as one sentence."""
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = f"the certificate of {server.address} is not accepted: {error.verify_message}"
        return Distrusted(problem, _CERTIFICATES)
    if isinstance(error, ssl.SSLError):
        return Distrusted(f"TLS with {server.address} fails: {tls_words(error)}", _CERTIFICATES)
    if isinstance(error, ConnectionAbortedError) and "SSL handshake" in str(error):
        return Unreachable(f"{server.address} does not finish TLS within {HANDSHAKE:g} s", _AWAY)
    return Unreachable(f"{server.address} cannot be reached: {system_words(error)}", _AWAY)


def tls_words(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()


def system_words(error: OSError) -> str:
    """The system's own words; those of asyncio about several addresses are as long as the list."""
    if isinstance(error, socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno).lower() if error.errno else str(error)
