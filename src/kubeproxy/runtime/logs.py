"""What we tell the operator: klog's lines, as text or JSON, on stderr.

Pure code does not log; it returns reasons, and the loop says them here.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TextIO

_NAME_OF_LEVEL: Final = {"I": "info", "W": "warning", "E": "error"}


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


class Log:
    """One stream of lines. `v` is the verbosity a line needs to be said."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self.verbosity = 0
        self.json = False
        self._folding = Folding()

    def info(self, message: str, /, *, v: int = 0, **keys: object) -> None:
        if v <= self.verbosity:
            self._say("I", message, keys, v)

    def warning(self, message: str, /, **keys: object) -> None:
        self._say("W", message, keys)

    def error(self, message: str, /, err: object = None, **keys: object) -> None:
        self._say("E", message, ({} if err is None else {"err": err}) | keys)

    def folded(self, say: Callable[..., None], message: str, /, **keys: object) -> None:
        """A line that may repeat without end: said once a minute, with the count of what was left out."""
        key = json.dumps([message, *map(str, keys.values())])
        kept = self._folding.admit(key, time.monotonic())
        if kept is not None:
            say(message, **keys, **({"repeated": kept} if kept else {}))

    def _say(self, level: str, message: str, keys: dict[str, object], v: int = 0) -> None:
        line = self._json(level, message, keys, v) if self.json else self._text(level, message, keys)
        print(line, file=self._stream or sys.stderr, flush=True)

    def _text(self, level: str, message: str, keys: dict[str, object]) -> str:
        now = time.time()
        stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now))
        head = f"{level}{stamp}.{int(now % 1 * 1e6):06d} {os.getpid():7d} {_caller()}] {json.dumps(message)}"
        return head + "".join(f" {key}={_text_value(value)}" for key, value in keys.items())

    def _json(self, level: str, message: str, keys: dict[str, object], v: int) -> str:
        record: dict[str, object] = {"ts": round(time.time() * 1000, 3), "caller": _caller(), "msg": message}
        if level != "E":
            record["v"] = v
        if level == "W":
            record["level"] = _NAME_OF_LEVEL[level]
        return json.dumps(record | {key: _json_value(value) for key, value in keys.items()})


def _caller() -> str:
    """file:line of whoever logs: the first frame outside this file."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _text_value(value: object) -> str:
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, list | tuple | set | frozenset):
        return json.dumps([str(item) for item in value], ensure_ascii=False)
    text = str(value)
    if "\n" in text:
        indented = "\n".join(f"\t{line}" for line in text.rstrip("\n").split("\n"))
        return f"<\n{indented}\n >"
    return json.dumps(text, ensure_ascii=False)


def _json_value(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_json_value(item) for item in value]
    return str(value)


log = Log()
