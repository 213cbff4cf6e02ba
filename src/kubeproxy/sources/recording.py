"""Changes written down, a line each, and played again: a bug report, a benchmark, a cluster on a laptop.

A line is `{"t": seconds since the start, "upsert": kind, "object": {...}}`; in place of the latter two it may
have `delete` with a ref, or `synced` with a kind. Time falls back to zero where a program was started again.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

import msgspec
from msgspec import Raw, Struct

from kubeproxy.api.change import KINDS, Change, Delete, Synced, Upsert, kind_of
from kubeproxy.api.decode import DecodeError, decode_as
from kubeproxy.api.meta import Ref
from kubeproxy.sources.notice import Level, Notice, Reading, shown

_REMEDY: Final = "remove the line; the lines around it are played"
_PORTION: Final = 256


class _Line(Struct, frozen=True, gc=False, omit_defaults=True):
    t: float
    upsert: str = ""
    object: Raw = Raw(b"")
    delete: Ref | None = None
    synced: str = ""


class Recorder:
    """Appends Changes to a file; `now` is any clock that only runs forwards, the first call its zero."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("ab")
        self._start: float | None = None

    def record(self, changes: Iterable[Change], now: float) -> None:
        """One write for all of them, and nothing left in a buffer: a crash is what recordings are for."""
        if self._start is None:
            self._start = now
        at = round(max(0.0, now - self._start), 6)
        self._file.write(b"".join(msgspec.json.encode(_line(at, change)) + b"\n" for change in changes))
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _line(at: float, change: Change) -> _Line:
    match change:
        case Upsert(obj):
            return _Line(at, upsert=kind_of(obj), object=Raw(msgspec.json.encode(obj)))
        case Delete(ref):
            return _Line(at, delete=ref)
        case Synced(kind):
            return _Line(at, synced=kind)


_DECODER: Final = msgspec.json.Decoder(_Line)


def lines(path: Path) -> Iterator[tuple[float, Change] | Notice]:
    """Every line, as a Change and its time or as what is wrong with it. OSError if there is no file."""
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                yield _read(text)
            except DecodeError as error:
                yield _notice(path, number, error.field, error.value, error.problem, error.remedy)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                yield _notice(path, number, "", text.decode(errors="replace").strip(), str(error), _REMEDY)


def read_recording(path: Path) -> Iterator[tuple[float, Change]]:
    """The lines that are well-formed."""
    return (line for line in lines(path) if not isinstance(line, Notice))


def _read(text: bytes) -> tuple[float, Change]:
    line = _DECODER.decode(text)
    if line.upsert in KINDS:
        return line.t, Upsert(decode_as(KINDS[line.upsert], bytes(line.object)))
    if line.delete is not None and line.delete.kind in KINDS:
        return line.t, Delete(line.delete)
    if line.synced in KINDS:
        return line.t, Synced(line.synced)
    remedy = f"write upsert with one of {', '.join(KINDS)} and object, or delete, or synced"
    raise DecodeError("", line.upsert or line.synced or None, "the line says nothing that is known", remedy)


def _notice(path: Path, number: int, field: str, value: object, problem: str, remedy: str) -> Notice:
    return Notice(
        Level.ERROR, shown(path.name), number, None, shown(field), shown(value), shown(problem), remedy
    )


class RecordingSource:
    """Plays a recording: what was said at one moment is one Reading, or several where it is a lot.

    A large cluster is never in memory as objects: what is kept of them is several times smaller.

    `speed` 1.0 keeps the time that passed between them, 10.0 a tenth of it, None none at all: what is played
    as it was recorded meets the same pacing, and merges the same changes into one sync.
    """

    def __init__(self, path: Path, *, speed: float | None = 1.0) -> None:
        self._path = path
        self._speed = speed

    def read(self) -> Reading:
        """All of it at once."""
        every = tuple(self._readings())
        return Reading(
            tuple(change for _, reading in every for change in reading.changes),
            tuple(notice for _, reading in every for notice in reading.notices),
        )

    async def watch(self) -> AsyncGenerator[Reading, None]:
        """Ends where the recording ends."""
        before = 0.0
        for at, reading in self._readings():
            if self._speed and at > before:
                await asyncio.sleep((at - before) / self._speed)
            before = at
            yield reading

    def _readings(self) -> Iterator[tuple[float, Reading]]:
        waiting: list[Notice] = []
        at = 0.0
        try:
            for at, group in groupby(self._changes(waiting), key=lambda line: line[0]):
                while changes := tuple(change for _, change in islice(group, _PORTION)):
                    yield at, Reading(changes, tuple(waiting))
                    waiting.clear()
        except OSError as error:
            waiting.append(_notice(self._path, 0, "", "", error.strerror or str(error), "name a recording"))
        if waiting:
            yield at, Reading((), tuple(waiting))

    def _changes(self, waiting: list[Notice]) -> Iterator[tuple[float, Change]]:
        for line in lines(self._path):
            if isinstance(line, Notice):
                waiting.append(line)
            else:
                yield line
