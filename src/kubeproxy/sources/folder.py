"""A directory of manifests on disk: which files there are, and the bytes of those that changed."""

import os
import stat
import time
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_SETTLED_NS: Final = 2_000_000_000

_Stamp: TypeAlias = tuple[int, int, int, int, int]


class Unreadable(Struct, frozen=True, gc=False):
    """A file that is there and cannot be had."""

    value: str
    problem: str
    remedy: str


class Scan(Struct, frozen=True):
    """The manifests there are, in the order of their names, and what changed since the scan before."""

    names: tuple[str, ...]
    changed: dict[str, bytes | Unreadable]
    folders: tuple[str, ...]


class _Seen(Struct, frozen=True, gc=False):
    stamp: _Stamp | None
    digest: bytes
    settled: bool


class Folder:
    """Remembers what it saw, so that a scan of unchanged files costs a stat of each.

    Files are looked at through their links: a ConfigMap is mounted as links into a directory that is swapped
    as a whole, and then each of them is another file. Whatever begins with a dot is that machinery, or an
    editor's, and no manifest.
    """

    def __init__(self, directory: Path, longest: int) -> None:
        self._directory = directory
        self._longest = longest
        self._seen: dict[str, _Seen] = {}

    def scan(self) -> Scan:
        """Raises OSError if the directory itself cannot be read."""
        names, folders = self._list()
        changed: dict[str, bytes | Unreadable] = {}
        gone: set[str] = set()
        for name in names:
            try:
                found = self._look(name)
            except FileNotFoundError:
                if not os.path.lexists(self._directory / name):
                    gone.add(name)
                    continue
                found = self._complain(name, "a link to nothing", "point it at a file, or remove it")
            except OSError as error:
                found = self._complain(
                    name, error.strerror or str(error), "make it readable for this process"
                )
            if found is not None:
                changed[name] = found
        names = tuple(name for name in names if name not in gone)
        self._seen = {name: self._seen[name] for name in names}
        return Scan(names, changed, folders)

    def _list(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names, folders = [], []
        with os.scandir(self._directory) as listing:
            for item in listing:
                if item.name.startswith("."):
                    continue
                if item.name.endswith(_SUFFIXES):
                    names.append(item.name)
                elif item.is_dir():
                    folders.append(item.name)
        return tuple(sorted(names)), tuple(sorted(folders))

    def _look(self, name: str) -> bytes | Unreadable | None:
        """The file, if it is not what was seen before."""
        path = self._directory / name
        status = path.stat()
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        before = self._seen.get(name)
        if before is not None and before.settled and before.stamp == stamp:
            return None
        if not stat.S_ISREG(status.st_mode):
            return self._complain(name, "not a file", "replace it by a file, or remove it")
        if status.st_size > self._longest:
            problem = f"{status.st_size} bytes are more than the {self._longest} that are read of one file"
            return self._complain(name, problem, "divide it among several files")
        data = _read(path, self._longest)
        digest = blake2b(data, digest_size=16).digest()
        # Two writes in one tick of the file system's clock leave the same stamp: believe only an older one.
        settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS
        self._seen[name] = _Seen(stamp, digest, settled)
        return None if before is not None and before.digest == digest else data

    def _complain(self, name: str, problem: str, remedy: str) -> Unreadable | None:
        """Once: the same complaint about the same file is no change."""
        digest = problem.encode()
        before = self._seen.get(name)
        self._seen[name] = _Seen(None, digest, False)
        return None if before is not None and before.digest == digest else Unreadable("", problem, remedy)


def _read(path: Path, longest: int) -> bytes:
    # Whoever replaced the file by a pipe since it was looked at must not be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(longest + 1)[:longest]
