"""When an API server answers, and the answer is no."""

from typing import Final

import msgspec
from msgspec import Struct

from kubeproxy.sources.http.message import Head

_LONGEST_TEXT: Final = 300
_EXPIRED: Final = ("Expired", "Gone")


class Cause(Struct, frozen=True):
    reason: str = ""
    message: str = ""


class Details(Struct, frozen=True, rename="camel"):
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class Status(Struct, frozen=True):
    """v1 Status, as far as we act on it."""

    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: Details | None = None

    @property
    def expired(self) -> bool:
        """The version we asked from is no longer remembered."""
        return self.code == 410 or self.reason in _EXPIRED

    @property
    def ahead(self) -> bool:
        """The version we asked from is one the server has not reached: it is behind, or it was restored."""
        causes = self.details.causes if self.details is not None else ()
        named = any(cause.reason == "ResourceVersionTooLarge" for cause in causes)
        return named or "Too large resource version" in self.message


class Refused(Exception):
    """The server declined; `by_server` is whether an API server said so, and not something before it."""

    def __init__(self, status: Status, *, by_server: bool, retry_after: float = 0.0) -> None:
        super().__init__(status.message or status.reason or str(status.code))
        self.status = status
        self.by_server = by_server
        self.retry_after = retry_after

    @property
    def code(self) -> int:
        return self.status.code

    @classmethod
    def told(cls, head: Head, body: bytes) -> "Refused":
        """A refusal with whatever the body tells of it."""
        status = _status(body)
        by_server = status.kind == "Status"
        text = status.message or body.decode("utf-8", errors="replace").strip() or head.reason
        line = " ".join(text.split())[:_LONGEST_TEXT]
        asked = status.details.retry_after_seconds if status.details is not None else 0
        said = msgspec.structs.replace(status, code=head.status, message=line)
        return cls(said, by_server=by_server, retry_after=max(asked, _seconds(head)))


def _status(body: bytes) -> Status:
    try:
        return msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Status()


def _seconds(head: Head) -> int:
    text = head.headers.get("retry-after", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
