"""Where a body ends, and what it says: framing and compression, told bytes and asked for bytes.

None of this reads a socket, so that a test can cut the bytes wherever it likes.
"""

import zlib
from typing import Final, Protocol

from kubeproxy.sources.http.failure import Cut, Garbled
from kubeproxy.sources.http.message import Head

_LONGEST_LINE: Final = 4096
_MOST_TRAILERS: Final = 100
_PIECE: Final = 256 * 1024
_REMEDY: Final = "look at what stands between here and the API server; it is tried again"


class Framing(Protocol):
    """Tells a body from what surrounds it."""

    @property
    def done(self) -> bool:
        """Whether all of the body was there."""
        ...

    @property
    def left_over(self) -> bool:
        """Whether something came after the body, which nobody asked for."""
        ...

    def feed(self, data: bytes) -> bytes:
        """What of these bytes belongs to the body."""
        ...

    def hang_up(self) -> None:
        """Nothing more will come; Cut when something is missing."""
        ...


class Counted:
    """A body whose length was told."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.left_over = False

    @property
    def done(self) -> bool:
        return self._left == 0

    def feed(self, data: bytes) -> bytes:
        self.left_over |= len(data) > self._left
        body = data[: self._left]
        self._left -= len(body)
        return body

    def hang_up(self) -> None:
        if self._left:
            raise Cut(f"the answer ended {self._left} bytes too early", _REMEDY)


class UntilClosed:
    """A body that ends with the connection."""

    def __init__(self) -> None:
        self.done = False
        self.left_over = False

    def feed(self, data: bytes) -> bytes:
        return data

    def hang_up(self) -> None:
        self.done = True


class Chunked:
    """A body in chunks, each with its length before it."""

    def __init__(self) -> None:
        self.done = False
        self.left_over = False
        self._line = b""
        self._left = 0
        self._closing_line = False
        self._trailers = -1

    def feed(self, data: bytes) -> bytes:
        pieces = []
        position = 0
        while position < len(data) and not self.done:
            if self._left:
                pieces.append(data[position : position + self._left])
                position += len(pieces[-1])
                self._left -= len(pieces[-1])
                self._closing_line = not self._left
            else:
                position = self._control(data, position)
        self.left_over |= position < len(data)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def hang_up(self) -> None:
        if not self.done:
            raise Cut("the connection was closed in the middle of an answer", _REMEDY)

    def _control(self, data: bytes, position: int) -> int:
        """The line that is no body: collected until it is whole."""
        end = data.find(b"\n", position)
        self._line += data[position : end + 1 if end >= 0 else len(data)]
        if len(self._line) > _LONGEST_LINE:
            raise Garbled("a line between chunks is too long", _REMEDY)
        if end < 0:
            return len(data)
        line, self._line = self._line.rstrip(b"\r\n"), b""
        self._obey(line)
        return end + 1

    def _obey(self, line: bytes) -> None:
        if self._trailers >= 0:
            self._trailers += 1
            self.done = not line
            if self._trailers > _MOST_TRAILERS:
                raise Garbled("the trailer does not end", _REMEDY)
        elif self._closing_line:
            if line:
                raise Garbled("a chunk is longer than it says", _REMEDY)
            self._closing_line = False
        else:
            self._left = _chunk_size(line)
            self._trailers = 0 if self._left == 0 else -1


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip(b" \t")
    # int() takes signs, blanks and underscores, which no chunk has.
    if not 0 < len(digits) <= 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise Garbled(f"a chunk tells no length: {line[:20]!r}", _REMEDY)
    return int(digits, 16)


class Plain:
    """A body as it is."""

    def __init__(self) -> None:
        self._data = b""

    def feed(self, data: bytes) -> None:
        self._data += data

    def take(self) -> bytes:
        """A piece of the body, or nothing when more has to be fed first."""
        data, self._data = self._data, b""
        return data

    def finish(self) -> None:
        """The body has ended; Cut when it ended too early."""


class Gunzip:
    """A compressed body, unpacked a piece at a time: a small answer may hold a huge one."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)
        self._packed = b""
        self._full = False

    def feed(self, data: bytes) -> None:
        self._packed += data

    def take(self) -> bytes:
        # A piece that is full may have more behind it, even where all input has been taken in.
        while self._packed or self._full:
            if self._inflate.eof:
                self._inflate = zlib.decompressobj(wbits=31)
            try:
                piece = self._inflate.decompress(self._packed, _PIECE)
            except zlib.error as error:
                raise Garbled(f"the answer is not compressed as it says: {error}", _REMEDY) from error
            self._packed = self._inflate.unconsumed_tail or self._inflate.unused_data
            self._full = len(piece) == _PIECE and not self._inflate.eof
            if piece:
                return piece
        return b""

    def finish(self) -> None:
        if not self._inflate.eof:
            raise Cut("the compressed answer ended too early", _REMEDY)


def framing_of(head: Head, method: str) -> Framing:
    """How the body of an answer is framed; what contradicts itself is not guessed at."""
    if method == "HEAD" or head.status in (204, 304):
        return Counted(0)
    encodings = head.tokens("transfer-encoding")
    if encodings:
        if encodings != ["chunked"]:
            raise Garbled(f"the answer is encoded in a way nobody asked for: {encodings}", _REMEDY)
        return Chunked()
    length = head.headers.get("content-length")
    if length is None:
        return UntilClosed()
    if not (length.isascii() and length.isdigit() and len(length) < 16):
        raise Garbled(f"the answer tells no length: {length[:20]!r}", _REMEDY)
    return Counted(int(length))


def coding_of(head: Head) -> Plain | Gunzip:
    """How the body of an answer is packed."""
    codings = [token for token in head.tokens("content-encoding") if token != "identity"]
    if not codings:
        return Plain()
    if codings in (["gzip"], ["x-gzip"]):
        return Gunzip()
    raise Garbled(f"the answer is compressed in a way nobody asked for: {codings}", _REMEDY)
