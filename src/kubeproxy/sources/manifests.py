"""`--manifests DIR`: a directory instead of an API server, with an API server's manners.

What a file says last, and says well, holds: while its newer text cannot be read, or is refused, the objects
that were read of it before stay as they are, and a notice says so. Half a file is no instruction to stop
serving. Only removing an object, its file or its name takes it away; an absent directory takes nothing.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Final

from msgspec import Struct
from watchfiles import awatch

from kubeproxy.api.change import KINDS, Change, Delete, KubeObject, Synced, Upsert
from kubeproxy.api.meta import Ref
from kubeproxy.api.service import Service
from kubeproxy.sources.admit import Entry, admit
from kubeproxy.sources.assemble import Ranges, assemble
from kubeproxy.sources.documents import Fault, documents
from kubeproxy.sources.folder import Folder, Unreadable
from kubeproxy.sources.notice import Level, Notice, Reading, shown

LONGEST_FILE: Final = 64 * 1024 * 1024

_ORDER: Final = ("Node", "ServiceCIDR", "Service", "EndpointSlice")
_DEBOUNCE_MS: Final = 200
_QUIET_MS: Final = 25
_TICK_MS: Final = 500
_SHARE_OF_SCANS: Final = 100


class _File(Struct, frozen=True):
    """What a file stands for at the moment."""

    entries: tuple[Entry, ...] = ()
    notices: tuple[Notice, ...] = ()


class ManifestsSource:
    """Reads a directory again and again, and says what changed in between."""

    def __init__(
        self, directory: Path, *, ranges: Ranges | None = None, longest_file: int = LONGEST_FILE
    ) -> None:
        self._directory = directory
        self._ranges = ranges if ranges is not None else Ranges()
        self._folder = Folder(directory, longest_file)
        self._files: dict[str, _File] = {}
        self._objects: dict[Ref, KubeObject] = {}
        self._told: frozenset[Notice] = frozenset()
        self._synced = False
        self._listing: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        self._cost = 0.0

    def read(self) -> Reading:
        """What changed since the last reading; never an exception, whatever the directory holds."""
        try:
            scan = self._folder.scan()
        except OSError as error:
            self._listing = None
            return Reading((), self._news((self._absent(error),), self._told))
        listing = (scan.names, scan.folders)
        if not scan.changed and listing == self._listing:
            return Reading()
        self._listing = listing
        for name, data in scan.changed.items():
            self._files[name] = _file(name, data, self._files.get(name, _File()))
        self._files = {name: self._files[name] for name in scan.names}
        assembled = assemble((e for file in self._files.values() for e in file.entries), self._ranges)
        changes = tuple(self._changes(assembled.objects))
        notices = [notice for file in self._files.values() for notice in file.notices]
        notices += [_subfolder(name) for name in scan.folders]
        return Reading(changes, self._news((*notices, *assembled.notices), frozenset()))

    def services(self) -> Iterator[Service]:
        """Every Service as it is written, those too that nobody is sent: somebody may ask why."""
        entries = (entry for file in self._files.values() for entry in file.entries)
        return (entry.obj for entry in entries if isinstance(entry.obj, Service))

    async def watch(self) -> AsyncGenerator[Reading, None]:
        """Readings with something in them, for ever: at once, and whenever the directory stirs."""
        while True:
            async with aclosing(self._stirs()) as stirs:
                async for _ in stirs:
                    before = time.monotonic()
                    reading = await asyncio.to_thread(self.read)
                    self._cost = time.monotonic() - before
                    if reading:
                        yield reading

    def _changes(self, wanted: dict[Ref, KubeObject]) -> Iterator[Change]:
        """The difference, removals first; what is equal stays the very object it was."""
        for ref in self._objects.keys() - wanted.keys():
            del self._objects[ref]
            yield Delete(ref)
        for ref, obj in sorted(wanted.items(), key=_place):
            if self._objects.get(ref) != obj:
                self._objects[ref] = obj
                yield Upsert(obj)
        if not self._synced:
            self._synced = True
            yield from (Synced(kind) for kind in KINDS)

    def _news(self, notices: tuple[Notice, ...], still: frozenset[Notice]) -> tuple[Notice, ...]:
        """Those not told yet. What is no longer true may be told again when it is."""
        news = tuple(notice for notice in dict.fromkeys(notices) if notice not in self._told)
        self._told = still.union(notices)
        return news

    def _absent(self, error: OSError) -> Notice:
        problem = f"the directory cannot be read: {(error.strerror or str(error)).lower()}"
        remedy = "make it readable; until then everything stays as it was"
        return Notice(Level.ERROR, shown(str(self._directory)), 0, None, "", "", problem, remedy)

    async def _stirs(self) -> AsyncGenerator[None, None]:
        """A turn for every reason to look; ends when the directory is another one, or none.

        A watch belongs to a directory and not to its name, and says nothing about files behind links or on a
        network: so there is a look now and then too, as seldom as keeps its cost to a hundredth of the time.
        """
        watched = await asyncio.to_thread(self._identity)
        yield
        if watched is None:
            await asyncio.sleep(_TICK_MS / 1000)
            return
        due = 0.0
        events = awatch(
            self._directory,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_QUIET_MS,
            rust_timeout=_TICK_MS,
            yield_on_timeout=True,
            recursive=False,
        )
        try:
            async with aclosing(events) as batches:
                async for batch in batches:
                    if batch or time.monotonic() >= due:
                        yield
                        due = time.monotonic() + _SHARE_OF_SCANS * self._cost
                    if await asyncio.to_thread(self._identity) != watched:
                        return
        except (OSError, RuntimeError, ExceptionGroup):
            # No inotify here, or the directory went while the watch was being set up.
            await asyncio.sleep(_TICK_MS / 1000)

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = self._directory.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _place(item: tuple[Ref, KubeObject]) -> tuple[int, Ref]:
    return _ORDER.index(item[0].kind), item[0]


def _file(name: str, data: bytes | Unreadable, before: _File) -> _File:
    """What a file stands for now, given what it stood for before."""
    if isinstance(data, Unreadable):
        notice = Notice(Level.ERROR, shown(name), 0, None, "", data.value, data.problem, data.remedy)
        return _File(before.entries, (notice, *_kept(name, before.entries)))
    entries: list[Entry] = []
    notices: list[Notice] = []
    refused: set[Ref | None] = set()
    unreadable = False
    for found in documents(name, data):
        if isinstance(found, Fault):
            unreadable |= found.unreadable
            notices.append(_fault(name, found))
            continue
        outcome = admit(shown(name), found)
        if isinstance(outcome, Entry):
            entries.append(outcome)
        else:
            refused.add(outcome.ref)
            notices += outcome.notices
    present = {entry.ref for entry in entries}
    kept = tuple(e for e in before.entries if e.ref not in present and (unreadable or e.ref in refused))
    return _File((*entries, *kept), (*notices, *_kept(name, kept)))


def _kept(name: str, entries: tuple[Entry, ...]) -> Iterator[Notice]:
    if entries:
        others = f" and {len(entries) - 1} more" if len(entries) > 1 else ""
        problem = f"kept as last read: {entries[0].ref}{others}"
        remedy = "correct the file, or remove what shall go"
        yield Notice(Level.WARNING, shown(name), 0, None, "", "", problem, remedy)


def _fault(name: str, fault: Fault) -> Notice:
    return Notice(
        Level.ERROR, shown(name), fault.number, None, fault.field, fault.value, fault.problem, fault.remedy
    )


def _subfolder(name: str) -> Notice:
    problem = "not read: only files directly in the directory are"
    return Notice(Level.INFO, shown(name), 0, None, "", "", problem, "move its files up, or ignore this")
