"""A list, as it comes → its items one by one, so that a large one is never in memory as a whole.

A new item begins where `},{` and the first name of an object stand, or that is something inside an item.
Which of the two, the JSON itself tells: a text that begins with an object's brace is JSON only if it ends
with that object's other brace. So each such place is tried; in what API servers write, the first is right.
"""

import re
from typing import Final

import msgspec
from msgspec import Raw, Struct

from kubeproxy.sources.http.failure import Nonsense

#: one item, of which no API server stores one of this size
LONGEST: Final = 16 * 1024 * 1024
#: all of them, from a server that writes them in a way nobody expects
MOST: Final = 64 * 1024 * 1024
_ITEMS: Final = b'"items":['
_BETWEEN: Final = re.compile(rb'\},\{"(?:metadata|kind|apiVersion)":')
#: no match can begin so long before the end of what is here and still not be seen
_OVERLAP: Final = 20
_REMEDY: Final = "see what stands between here and the API server; the list is asked for again"


class _Meta(Struct, frozen=True, gc=False, rename={"page": "continue"}):
    resourceVersion: str = ""
    page: str = ""


class ListHead(Struct, frozen=True, gc=False):
    """What a list says beside its items: how new it is, and where its next page begins."""

    metadata: _Meta = _Meta()

    @property
    def version(self) -> str:
        return self.metadata.resourceVersion

    @property
    def page(self) -> str:
        return self.metadata.page


class _Whole(Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    items: tuple[Raw, ...] | None = None


class Items:
    """A splitter that is fed pieces of one list."""

    def __init__(self, longest: int = LONGEST, most: int = MOST) -> None:
        self._longest, self._most = longest, most
        self._data = bytearray()
        self._head = b""
        self._looked = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The items that are followed by another one, as far as it shows."""
        self._data += data
        found: list[bytes] = []
        if not self._head:
            self._find_items()
        while self._head and (item := self._next()):
            found.append(item)
        if len(self._data) > self._most:
            raise Nonsense(f"a list goes on for {self._most} bytes without an end of an item", _REMEDY)
        return found

    def end(self) -> tuple[ListHead, list[bytes]]:
        """What the list says of itself, and the items there are still."""
        try:
            whole = msgspec.json.decode(self._head + self._data, type=_Whole)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise Nonsense(f"a list is no list: {error}", _REMEDY) from error
        return ListHead(whole.metadata), [bytes(item) for item in whole.items or ()]

    def _find_items(self) -> None:
        """What stands before the items is kept: with the last of them it will read as a list again."""
        start = self._data.find(_ITEMS, self._looked)
        self._looked = max(0, len(self._data) - _OVERLAP)
        if start >= 0:
            self._looked = start + len(_ITEMS)
            self._head = bytes(self._data[: self._looked])
            del self._data[: self._looked]
            self._looked = 0

    def _next(self) -> bytes | None:
        """The next item, or None when its end is not here yet."""
        while (between := _BETWEEN.search(self._data, self._looked)) is not None:
            end = between.start() + 1
            if self._is_json(end):
                item = bytes(self._data[:end])
                del self._data[: end + 1]
                self._looked = 0
                return item
            if end > self._longest:
                raise Nonsense(f"a list has an item of more than {self._longest} bytes", _REMEDY)
            self._looked = end
        self._looked = max(self._looked, len(self._data) - _OVERLAP)
        return None

    def _is_json(self, end: int) -> bool:
        with memoryview(self._data) as view, view[:end] as item:
            try:
                msgspec.json.decode(item, type=Raw)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return False
            return True
