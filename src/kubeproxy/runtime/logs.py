"""What we tell the operator: klog's lines, on stderr unless they are to be split.

Pure code does not log; it returns reasons, and the loop says them here.
"""

import asyncio
import atexit
import sys
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import TextIO

from kubeproxy.config.filevalue import VModuleItem
from kubeproxy.config.quantity import whole_bytes
from kubeproxy.config.schema import Logging
from kubeproxy.runtime.loglines import Entry, json_line, text_line


class Folding:
    """Says a line that repeats once a minute, and how often it was said since."""

    def __init__(self, window: float = 60.0) -> None:
        self._window = window
        self._last: dict[str, tuple[float, int]] = {}

    def admit(self, key: str, now: float) -> int | None:
        """None: keep quiet. Otherwise say it, and how many times it was kept quiet before."""
        said, kept = self._last.get(key, (None, 0))
        if said is not None and now - said < self._window:
            self._last[key] = (said, kept + 1)
            return None
        if len(self._last) > 1024:
            self._last = {k: v for k, v in self._last.items() if now - v[0] < self._window}
        self._last[key] = (now, 0)
        return kept


class Details:
    """Which source files are to say more than the others."""

    def __init__(self, items: Sequence[VModuleItem] = ()) -> None:
        self._items = items
        self._levels: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._items)

    def level(self, file: str) -> int:
        """A pattern with a slash is held against the path, another against the name; both without .py."""
        if file not in self._levels:
            path = PurePath(file).with_suffix("")
            matches = (
                item.verbosity
                for item in self._items
                if fnmatchcase(str(path) if "/" in item.filePattern else path.name, item.filePattern)
            )
            self._levels[file] = next(matches, 0)
        return self._levels[file]


class Log:
    """All lines of this process. `v` is the verbosity a line needs to be said."""

    def __init__(self) -> None:
        self.verbosity = 0
        self._json = self._split = False
        self._details = Details()
        self._folding = Folding()
        self._waiting: list[str] = []
        self._held = self._room = 0
        self._every = 5.0

    def configure(self, logging: Logging) -> None:
        """From now on lines look and go as the configuration says; it may say so again while we run."""
        self.flush()
        self.verbosity, self._json = logging.verbosity, logging.format == "json"
        self._details = Details(logging.vmodule)
        options = logging.options.json if self._json else logging.options.text
        self._split = options.splitStream
        self._room = whole_bytes(options.infoBufferSize) if self._split else 0
        self._every = logging.flushFrequency.seconds
        atexit.unregister(self.flush)
        atexit.register(self.flush)

    def info(self, message: str, /, *, v: int = 0, **keys: object) -> None:
        if v <= self.verbosity or self._details:
            self._say("I", message, keys, v)

    def warning(self, message: str, /, **keys: object) -> None:
        self._say("W", message, keys)

    def error(self, message: str, /, err: object = None, **keys: object) -> None:
        self._say("E", message, ({} if err is None else {"err": err}) | keys)

    def bare(self, line: str, *, v: int = 0) -> None:
        """A line without quotes, for scripts that know it so."""
        if v <= self.verbosity or self._details:
            self._say("I", line, {}, v, bare=True)

    def folded(self, say: Callable[..., None], message: str, /, **keys: object) -> None:
        """A line that may repeat without end: said once a minute, with the count of what was left out."""
        key = "\0".join([message, *map(str, keys.values())])
        kept = self._folding.admit(key, time.monotonic())
        if kept is not None:
            say(message, **keys, **({"repeated": kept} if kept else {}))

    def flush(self) -> None:
        """Write what was collected."""
        waiting, self._waiting, self._held = self._waiting, [], 0
        if waiting:
            _write(sys.stdout, "".join(waiting))

    async def flush_regularly(self) -> None:
        """Until cancelled: no line waits longer than the operator allows."""
        while True:
            await asyncio.sleep(self._every)
            self.flush()

    def _say(
        self, level: str, message: str, keys: dict[str, object], v: int = 0, *, bare: bool = False
    ) -> None:
        file, line = _caller()
        if v > self.verbosity and v > self._details.level(file):
            return
        entry = Entry(level, message, keys, v, time.time(), file, line, bare)
        text = f"{json_line(entry) if self._json else text_line(entry)}\n"
        if not self._split or level == "E":
            _write(sys.stderr, text)
        elif self._held + len(text) > self._room:
            self._waiting.append(text)
            self.flush()
        else:
            self._waiting.append(text)
            self._held += len(text)


def _write(stream: TextIO, text: str) -> None:
    """Who reads the log may go away; a node must not lose its proxy for that."""
    try:
        try:
            stream.write(text)
        except UnicodeError:
            stream.write(text.encode("ascii", "backslashreplace").decode())
        stream.flush()
    except (OSError, ValueError):
        pass


def _caller() -> tuple[str, int]:
    """Whoever logs: the first frame outside this file."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


log = Log()
