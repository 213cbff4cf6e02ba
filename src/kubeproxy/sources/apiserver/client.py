"""Requests to one API server: who we are, how fast we may ask, and what a refusal means."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from kubeproxy.sources.apiserver.access import Access, refused
from kubeproxy.sources.apiserver.execplugin import Credential
from kubeproxy.sources.apiserver.login import Files, Login
from kubeproxy.sources.apiserver.ratelimit import RateLimit
from kubeproxy.sources.apiserver.refusal import Refused
from kubeproxy.sources.apiserver.trust import Trust
from kubeproxy.sources.http.connection import Connection, Response
from kubeproxy.sources.http.dial import Route, dial, proxy_headers
from kubeproxy.sources.http.failure import Cut, Failure, Garbled
from kubeproxy.sources.http.message import request_bytes
from kubeproxy.sources.http.proxies import proxy_for
from kubeproxy.sources.http.url import Url

JSON: Final = "application/json"
#: an idle connection is not trusted for longer
IDLE: Final = 60.0
#: how much of a refusal is read
LONGEST_REFUSAL: Final = 64 * 1024
_NO_API: Final = "see what answers there: a login page or another service may stand in front"


class Call(Struct, frozen=True, kw_only=True):
    """One request, in the API's terms."""

    path: str
    query: tuple[tuple[str, str], ...] = ()
    method: str = "GET"
    body: bytes = b""
    content_type: str = JSON
    #: seconds until the head of the answer must be there
    patience: float = 60.0
    #: the answer goes on for ever, so it is counted when it begins
    watch: bool = False


class Exchange(Struct, frozen=True):
    """What is told of a request when it is over, to whoever counts."""

    verb: str
    host: str
    #: the HTTP status, or "<error>" when there was none
    code: str
    #: without the wait for our turn
    seconds: float
    sent: int
    received: int
    #: how long our own rate limit made it wait
    waited: float
    watch: bool


Observer = Callable[[Exchange], None]


class Client:
    """Keeps connections open between requests; a long answer has a connection to itself."""

    def __init__(
        self,
        access: Access,
        limit: RateLimit,
        *,
        environ: Mapping[str, str],
        user_agent: str,
        accept: str = JSON,
        observe: Observer | None = None,
    ) -> None:
        self.access = access
        self._limit = limit
        self._login, self._trust = Login(access), Trust(access)
        self._observe = observe
        self._idle: list[Connection] = []
        self._route = Route(access.server, access.proxy or _proxy(access, environ), access.server_name)
        self._headers = (
            ("Host", access.server.authority),
            ("User-Agent", user_agent),
            ("Accept", accept),
            *((("Accept-Encoding", "gzip"),) if access.compress else ()),
        )

    @asynccontextmanager
    async def ask(self, call: Call) -> AsyncIterator[Response]:
        """The answer, if it is a good one; Refused when the server declines, Failure when it is not there."""
        waited = await self._limit.turn()
        start = time.monotonic()
        response: Response | None = None
        told = False
        try:
            response = await self._answer(call)
            if call.watch and response.status < 300:
                told = self._tell(call, response, start, waited)
            await self._check(response)
            yield response
        finally:
            if not told:
                self._tell(call, response, start, waited)
            if response is not None:
                self._settle(response)

    def files(self) -> Files:
        """Changes when a file changes that says who we are, or whom we believe."""
        return self._login.files()

    def close(self) -> None:
        """Hang up on the connections that are idle; those at work belong to who asked."""
        for connection in self._idle:
            connection.drop()
        self._idle.clear()

    async def _answer(self, call: Call) -> Response:
        """The head of the answer; who is not believed looks for a newer credential and asks once more."""
        credential = await self._login.credential()
        response = await self._send(call, credential)
        if response.status == 401:
            self._login.refused(credential)
            newer = await self._login.credential()
            if newer != credential:
                response.connection.drop()
                response = await self._send(call, newer)
        return response

    async def _send(self, call: Call, credential: Credential) -> Response:
        """A kept connection may have been closed at any time, which shows only when it is used."""
        context = self._trust.context(credential)
        data = self._bytes(call, credential)
        while True:
            connection = self._kept(context)
            fresh = connection is None
            if connection is None:
                connection = Connection(await dial(self._route, context), context)
            try:
                return await connection.exchange(call.method, data, call.patience)
            except Cut:
                connection.drop()
                if fresh or connection.received or call.method != "GET":
                    raise
            except BaseException:
                connection.drop()
                raise

    def _kept(self, context: object) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.made_with is context and connection.reusable(IDLE):
                return connection
            connection.drop()
        return None

    def _bytes(self, call: Call, credential: Credential) -> bytes:
        server, proxy = self._route.server, self._route.proxy
        target = server.path + call.path + (f"?{urlencode(sorted(call.query))}" if call.query else "")
        headers = [*self._headers, *credential.headers]
        if call.body or call.method not in ("GET", "HEAD", "DELETE"):
            headers += [("Content-Type", call.content_type), ("Content-Length", str(len(call.body)))]
        if proxy is not None and proxy.scheme.startswith("http") and not server.secure:
            # Such a proxy is asked for the whole URL instead of being asked to connect.
            target = f"http://{server.authority}{target}"
            headers += proxy_headers(proxy)
        return request_bytes(call.method, target, headers, call.body)

    async def _check(self, response: Response) -> None:
        if response.status >= 300:
            raise Refused.told(response.head, await _reason(response))
        kind = response.head.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            raise Garbled(f"the answer is {kind or 'of no type'}, not {JSON}", _NO_API)

    def _settle(self, response: Response) -> None:
        if response.reusable:
            response.connection.park()
            self._idle.append(response.connection)
        else:
            response.connection.drop()

    def _tell(self, call: Call, response: Response | None, start: float, waited: float) -> bool:
        if self._observe is not None:
            connection = response.connection if response is not None else None
            exchange = Exchange(
                verb=call.method,
                host=self.access.server.address,
                code=str(response.status) if response is not None else "<error>",
                seconds=time.monotonic() - start,
                sent=connection.sent if connection is not None else 0,
                received=connection.received if connection is not None else 0,
                waited=waited,
                watch=call.watch,
            )
            self._observe(exchange)
        return True


async def _reason(response: Response) -> bytes:
    """What is said beside the status; one that is cut short is a refusal all the same."""
    try:
        return await response.read_all(LONGEST_REFUSAL, 10.0)
    except Failure:
        return b""


def _proxy(access: Access, environ: Mapping[str, str]) -> Url | None:
    try:
        return proxy_for(access.server, environ)
    except ValueError as error:
        raise refused(f"invalid proxy variable {error}", "correct the variable, or unset it") from error
