"""What each signal does to the daemon: what operators expect, also where it is process 1 of a container."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

from kubeproxy.runtime.logs import log
from kubeproxy.runtime.stacks import stacks

#: these end it; as process 1 nothing would, because there no signal has an action unless it is asked for
ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_IGNORED: Final = (signal.SIGUSR1, signal.SIGUSR2)
_DUMPED: Final = 2


def prepare() -> None:
    """What holds from the first moment, before there is a loop."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, _dump)
    for number in _heeded():
        signal.signal(number, lambda number, _: die_by(number))


def _heeded() -> list[signal.Signals]:
    """Those that end us: whoever started us may have wanted one ignored, as nohup does."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


def _dump(_number: int, _frame: FrameType | None) -> None:
    """Asked with SIGQUIT, it tells where it is and ends: for a process that seems to hang."""
    log.flush()
    sys.stderr.write(f"SIGQUIT: quit\n\n{stacks()}")
    sys.stderr.flush()
    os._exit(_DUMPED)


def on_ending(loop: asyncio.AbstractEventLoop, stop: Callable[[int], None]) -> None:
    """The first signal asks to end; who sends another one does not want to wait."""

    def first(number: int) -> None:
        for other in _heeded():
            loop.add_signal_handler(other, die_by, other)
        stop(number)

    for number in _heeded():
        loop.add_signal_handler(number, first, number)


def die_by(number: int) -> None:
    """End as everybody expects of a process that got this signal."""
    log.flush()
    sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    # As process 1 it is still alive here.
    os._exit(128 + number)
