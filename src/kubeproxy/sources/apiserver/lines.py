"""Bytes as they come → whole lines; one that is too long is let go by, and never held."""

from typing import Final

from msgspec import Struct

#: longer than any object an API server stores
LONGEST: Final = 16 * 1024 * 1024
_KEPT: Final = 4096


class TooLong(Struct, frozen=True):
    """A line that was not kept; its start may tell what it was about."""

    start: bytes


class Lines:
    """A splitter that is fed pieces."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._length = 0
        self._skipping: TooLong | None = None

    @property
    def within(self) -> bool:
        """Whether a line has begun and not ended."""
        return bool(self._pieces) or self._skipping is not None

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that end in this piece."""
        first, *others = data.split(b"\n")
        found: list[bytes | TooLong] = []
        self._extend(first)
        for piece in others:
            line = self._end()
            if line:
                found.append(line)
            self._extend(piece)
        return found

    def _extend(self, piece: bytes) -> None:
        if self._skipping is not None or not piece:
            return
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length > self._longest:
            self._skipping = TooLong(b"".join(self._pieces)[:_KEPT])
            self._pieces, self._length = [], 0

    def _end(self) -> bytes | TooLong:
        if self._skipping is not None:
            skipped, self._skipping = self._skipping, None
            return skipped
        line = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces, self._length = [], 0
        return line
