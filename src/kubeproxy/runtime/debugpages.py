"""Pages for whoever looks for a fault: what runs, where time goes, where memory goes, how much is logged.

They stand where the original has its profiler, and tell the same things in the interpreter's terms. They are
offered only with enableProfiling: who can read them learns what this process does, and can slow it down.
"""

import asyncio
import re
import sys
import threading
import time
from collections import Counter
from html import escape
from pathlib import Path
from types import FrameType
from typing import Final

from kubeproxy.config.flagvalue import UINT31
from kubeproxy.config.goliteral import parse_decimal
from kubeproxy.runtime.http import TEXT, Answer, Page, Request
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.stacks import stacks

_HTML: Final = "text/html; charset=utf-8"
_BARE: Final = (("Content-Type", "text/plain"), TEXT[1])
_PPROF: Final = "/debug/pprof"
#: how often a second a running profile looks
_RATE: Final = 100
_LONGEST: Final = 120.0
_DEEPEST: Final = 80
_MOST_LINES: Final = 100


def debug_pages() -> dict[str, Page]:
    """By path; what ends in a star answers for all that is below it."""
    return {
        _PPROF: _redirect,
        f"{_PPROF}/": _index,
        f"{_PPROF}/cmdline": _cmdline,
        f"{_PPROF}/goroutine": _stacks,
        f"{_PPROF}/heap": _heap,
        f"{_PPROF}/profile": _profile,
        f"{_PPROF}/*": _unknown,
        "/debug/flags": _flags,
        "/debug/flags/v": _verbosity,
        "/debug/flags/*": _flags,
    }


_ABOUT: Final = {
    "cmdline": "the command line of this process",
    "goroutine": "where every thread and every task is",
    "heap?seconds=5": "what was allocated in these seconds and is still held, by line",
    "profile?seconds=5": "where time went in these seconds: stacks, outermost first, and how often seen",
}


async def _redirect(_: Request) -> Answer:
    body = f'<a href="{_PPROF}/">Found</a>.\n\n'
    return Answer(302, body.encode(), (("Content-Type", _HTML), ("Location", f"{_PPROF}/")))


async def _index(_: Request) -> Answer:
    rows = (f'<li><a href="{name}">{escape(name)}</a>: {escape(what)}' for name, what in _ABOUT.items())
    body = (
        f"<html><head><title>{_PPROF}/</title></head><body><ul>\n{chr(10).join(rows)}\n</ul></body></html>\n"
    )
    return Answer(200, body.encode(), (("Content-Type", _HTML), TEXT[1]))


async def _unknown(_: Request) -> Answer:
    return Answer(404, b"Unknown profile\n", TEXT)


async def _cmdline(_: Request) -> Answer:
    return Answer(200, "\0".join(sys.orig_argv).encode(errors="surrogateescape"), TEXT)


async def _stacks(_: Request) -> Answer:
    return Answer(200, stacks().encode(), TEXT)


async def _heap(request: Request) -> Answer:
    """Allocations are watched only as long as somebody wants to know: it makes everything slower."""
    import tracemalloc

    if tracemalloc.is_tracing():
        return Answer(409, b"somebody else is looking already\n", TEXT)
    tracemalloc.start(4)
    try:
        await asyncio.sleep(_seconds(request))
        statistics = tracemalloc.take_snapshot().statistics("lineno")
    finally:
        tracemalloc.stop()
    lines = [f"{entry.size:>12} bytes {entry.count:>9} blocks {entry.traceback}" for entry in statistics]
    return Answer(200, "\n".join([*lines[:_MOST_LINES], ""]).encode(), TEXT)


async def _profile(request: Request) -> Answer:
    seconds = _seconds(request)
    seen = await asyncio.to_thread(_look, seconds)
    lines = [f"{stack} {count}\n" for stack, count in seen.most_common()]
    return Answer(200, "".join(lines).encode(), TEXT)


def _look(seconds: float) -> Counter[str]:
    """From a thread of its own, so that it also sees the event loop at work."""
    seen: Counter[str] = Counter()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for ident, frame in sys._current_frames().items():
            if ident != threading.get_ident():
                seen[_folded(frame)] += 1
        time.sleep(1 / _RATE)
    return seen


def _folded(frame: FrameType | None) -> str:
    names: list[str] = []
    while frame is not None and len(names) < _DEEPEST:
        code = frame.f_code
        names.append(f"{Path(code.co_filename).stem}.{code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return ";".join(reversed(names))


def _seconds(request: Request) -> float:
    text = request.fields.get("seconds", ["5"])[0]
    return min(float(text), _LONGEST) if re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,3})?", text) else 5.0


async def _flags(_: Request) -> Answer:
    body = (
        "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\n"
        "flags:<br>\n<table>\n<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n"
    )
    return Answer(200, body.encode(), guessed=_HTML)


async def _verbosity(request: Request) -> Answer:
    if request.method != "PUT":
        return Answer(406, b"unsupported http method\n", _BARE)
    text = request.body.decode("latin-1")
    try:
        log.verbosity = parse_decimal(text, UINT31)
    except ValueError as error:
        return Answer(400, f"{error}\n".encode(), _BARE)
    return Answer(200, f"successfully set klog.logging.verbosity to {text}\n".encode(), _BARE)
