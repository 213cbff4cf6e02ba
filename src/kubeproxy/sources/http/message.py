"""Requests as bytes, and bytes as the head of an answer."""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from kubeproxy.sources.http.failure import Garbled

LONGEST_HEAD: Final = 64 * 1024

_STATUS: Final = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: (.*))?\Z", re.ASCII)
_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z", re.ASCII)
_REMEDY: Final = "see what listens there: it may be no API server, or a proxy that answers for it"


class Head(Struct, frozen=True):
    """Names of headers are in lower case; of a header that comes twice the values are joined."""

    status: int
    reason: str
    headers: dict[str, str]
    #: nothing more will come on this connection
    closes: bool

    def tokens(self, name: str) -> list[str]:
        """The values of a header that is a list."""
        found = (token.strip().lower() for token in self.headers.get(name, "").split(","))
        return [token for token in found if token]


def request_bytes(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes = b"") -> bytes:
    """A whole request. Whoever brings a line break into a header would write headers of his own."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if any("\r" in line or "\n" in line or "\0" in line for line in lines):
        raise ValueError("a header must not hold a line break")
    return "\r\n".join([*lines, "", ""]).encode() + body


def parse_head(data: bytes) -> Head:
    """The head of an answer, up to and with its empty line."""
    first, *rest = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    status = _STATUS.match(first)
    if status is None:
        raise Garbled(f"the answer does not begin as HTTP does: {first[:40]!r}", _REMEDY)
    headers: dict[str, str] = {}
    for line in rest:
        name, colon, value = line.partition(":")
        if not colon or not _NAME.match(name):
            raise Garbled(f"the answer has a header that is none: {line[:40]!r}", _REMEDY)
        name, value = name.lower(), value.strip(" \t")
        if name == "content-length" and headers.get(name, value) != value:
            raise Garbled("the answer tells two lengths", _REMEDY)
        known = headers.get(name)
        headers[name] = value if known is None or name == "content-length" else f"{known}, {value}"
    head = Head(int(status[2]), status[3] or "", headers, False)
    connection = head.tokens("connection")
    closes = "close" in connection or (status[1] == "0" and "keep-alive" not in connection)
    return Head(head.status, head.reason, headers, closes)
