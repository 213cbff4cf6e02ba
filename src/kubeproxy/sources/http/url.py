"""Where a server is, taken out of its URL."""

from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

PORTS: Final = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


class Url(Struct, frozen=True, gc=False):
    """`path` is what stands before every path asked for, without a slash at its end."""

    scheme: str
    host: str
    port: int
    path: str = ""
    user: str = ""
    password: str = ""

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port as a Host header has them: a port that goes without saying is left out."""
        host = bracketed(self.host)
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def address(self) -> str:
        """Host and port, both in any case."""
        return f"{bracketed(self.host)}:{self.port}"

    def __str__(self) -> str:
        """For people, and so without the password."""
        return f"{self.scheme}://{self.authority}{self.path}"


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def parse_url(text: str, scheme: str = "", known: frozenset[str] = frozenset(("http", "https"))) -> Url:
    """A URL, or a bare host and port where `scheme` says what is meant; ValueError with what is wrong."""
    if "://" not in text and scheme:
        text = f"{scheme}://{text}"
    parts = urlsplit(text)
    if parts.scheme not in known:
        raise ValueError(f"it begins with none of {', '.join(f'{name}://' for name in sorted(known))}")
    if not parts.hostname:
        raise ValueError("it names no host")
    if parts.query or parts.fragment:
        raise ValueError("there must be no ? or # in it")
    if not _printable(text):
        raise ValueError("there are blanks or control characters in it")
    port = parts.port  # raises ValueError in its own words when it is none
    return Url(
        scheme=parts.scheme,
        host=parts.hostname,
        port=PORTS[parts.scheme] if port is None else port,
        path=parts.path.rstrip("/"),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


def _printable(text: str) -> bool:
    """A line break in a URL would begin a header of its own."""
    return text.isascii() and text.isprintable() and " " not in text
