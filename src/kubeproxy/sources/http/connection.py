"""One connection: a request goes out, an answer comes in, and then perhaps another."""

import asyncio
import ssl
import time
from typing import Final

from kubeproxy.sources.http.body import coding_of, framing_of
from kubeproxy.sources.http.dial import AHEAD, Wire, system_words, tls_words
from kubeproxy.sources.http.failure import Cut, Distrusted, Garbled, Silent
from kubeproxy.sources.http.message import Head, parse_head

_AGAIN: Final = "it is tried again; if it goes on, look at what stands between here and the API server"
_IDENTITY: Final = "see whether the server accepts our certificate"
_MOST_INTERIM: Final = 20


class Connection:
    """`made_with` is what it was opened with: a connection of yesterday's certificate is no use today."""

    def __init__(self, wire: Wire, made_with: object) -> None:
        self._wire = wire
        self.made_with = made_with
        self.sent = 0
        self.received = 0
        self.used = 0
        self.idle_since = 0.0

    async def exchange(self, method: str, data: bytes, patience: float) -> "Response":
        """Send a request and wait for the head of its answer."""
        self.used += 1
        self.sent = self.received = 0
        try:
            async with asyncio.timeout(patience):
                self._wire.writer.write(data)
                await self._wire.writer.drain()
                self.sent = len(data)
                return Response(self, await self._head(), method)
        except TimeoutError as error:
            raise Silent(f"no answer within {patience:g} s", _AGAIN) from error
        except OSError as error:
            raise explained(error) from error

    async def receive(self, patience: float) -> bytes:
        """What came, or nothing when the other side hung up."""
        try:
            async with asyncio.timeout(patience):
                data = await self._wire.reader.read(AHEAD)
        except TimeoutError as error:
            raise Silent(f"nothing was heard for {patience:.0f} s", _AGAIN) from error
        except OSError as error:
            raise explained(error) from error
        self.received += len(data)
        return data

    async def _head(self) -> Head:
        for _ in range(_MOST_INTERIM):
            try:
                data = await self._wire.reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError as error:
                raise Cut("the connection was closed before an answer came", _AGAIN) from error
            except asyncio.LimitOverrunError as error:
                raise Garbled(f"the head of the answer has more than {AHEAD} bytes", _AGAIN) from error
            self.received += len(data)
            head = parse_head(data)
            if head.status >= 200:
                return head
        raise Garbled("there is no end of interim answers", _AGAIN)

    def park(self) -> None:
        self.idle_since = time.monotonic()

    def reusable(self, longest_idle: float) -> bool:
        """Whether the other side still seems to be there."""
        wire = self._wire
        gone = wire.reader.at_eof() or wire.writer.transport.is_closing()
        return not gone and time.monotonic() - self.idle_since < longest_idle

    def drop(self) -> None:
        self._wire.drop()


class Response:
    """The answer to a request, of which only the head is here yet."""

    def __init__(self, connection: Connection, head: Head, method: str) -> None:
        self.connection = connection
        self.head = head
        self._framing = framing_of(head, method)
        self._coding = coding_of(head)

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def reusable(self) -> bool:
        """Whether the connection may be used again: all was read, and nothing but it was there."""
        return self._framing.done and not self._framing.left_over and not self.head.closes

    async def read(self, patience: float) -> bytes:
        """The next piece of the body, or nothing at its end; a Failure when it does not end well."""
        while not (piece := self._coding.take()):
            if self._framing.done:
                self._coding.finish()
                return b""
            data = await self.connection.receive(patience)
            if data:
                self._coding.feed(self._framing.feed(data))
            else:
                self._framing.hang_up()
        return piece

    async def read_all(self, longest: int, patience: float) -> bytes:
        """The whole body, or as much of it as is allowed."""
        pieces, length = [], 0
        while length < longest and (piece := await self.read(patience)):
            pieces.append(piece)
            length += len(piece)
        return b"".join(pieces)[:longest]


def explained(error: OSError) -> Cut | Distrusted:
    """What the system says of a connection that was open."""
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return Distrusted(f"TLS was ended: {tls_words(error)}", _IDENTITY)
    return Cut(f"the connection was cut: {system_words(error)}", _AGAIN)
