"""What a source has to say: the changes, and what it noticed on the way."""

from collections.abc import AsyncGenerator
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

from kubeproxy.api.change import Change
from kubeproxy.api.meta import Ref

_LONGEST: Final = 80


class Level(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Notice(Struct, frozen=True, gc=False):
    """One sentence for the operator, in parts: where, what stands there, what is wrong with it, what to do.

    A source returns each notice once, when it begins to be true; `document` counts from 1, and 0 is the file.
    """

    level: Level
    file: str
    document: int
    ref: Ref | None
    field: str
    value: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        place = f"{self.file}, document {self.document}" if self.document else self.file
        value = repr(self.value) if self.value else ""
        parts = (
            place,
            str(self.ref or ""),
            f"{self.field} {value}".strip(),
            f"{self.problem}; {self.remedy}",
        )
        return ": ".join(part for part in parts if part)


class Reading(Struct, frozen=True, gc=False):
    """What changed since the reading before, and what there is to tell about it."""

    changes: tuple[Change, ...] = ()
    notices: tuple[Notice, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.notices)


class Source(Protocol):
    """Where Changes come from. The first readings hold everything, and a Synced of each kind."""

    def watch(self) -> AsyncGenerator[Reading, None]: ...


def shown(value: object) -> str:
    """A value as a log line can hold it: short, on one line, and free of what a terminal would obey."""
    if value is None:
        return ""
    try:
        text = value if isinstance(value, str) else _plain(value)
    except (ValueError, RecursionError):
        text = type(value).__name__
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _plain(value: object) -> str:
    """YAML's words, not Python's; of a large value only the start is ever needed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict):
        return f"a {'list' if isinstance(value, list) else 'mapping'} of {len(value)}"
    return str(value)
