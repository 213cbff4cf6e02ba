"""One run of a program: no shell, input and output as streams, every end accounted for.

Small, because a restore of one Service's chain costs little more than starting the program that does it.
"""

import fcntl
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Protocol, Self

from kubeproxy.kernel.errors import KernelError, Unsure

_SECONDS: Final = 300.0
_CHUNK: Final = 65536
#: what the pipe to a child holds, and how long it is left alone with a full one
_ROOM: Final = 1 << 20
_WHILE: Final = 0.005
_MOST_WORDS: Final = 16384
# An ordinary user's PATH lacks the directories where these programs are.
_SBIN: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")


class Register(Protocol):
    """Who wants to know which processes are ours."""

    def started(self, pid: int) -> None: ...

    def ended(self, pid: int) -> None: ...


class Child:
    """One run of a program; it is gone when the block is left, one way or the other."""

    def __init__(
        self,
        register: Register,
        program: str,
        args: Sequence[str],
        *,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.DEVNULL,
        inherits: Sequence[int] = (),
    ) -> None:
        self._register, self._program = register, program
        self._deadline = time.monotonic() + _SECONDS
        path = _path(program)
        # Words go to a file in memory: with a pipe, a talkative program and a large payload could wait
        # for each other.
        self._words = os.memfd_create("words", os.MFD_CLOEXEC)
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            self._process = subprocess.Popen(
                [path, *args],
                stdin=stdin,
                stdout=stdout,
                stderr=self._words,
                env=environment,
                pass_fds=inherits,
            )
        except OSError as error:
            os.close(self._words)
            raise KernelError(program, str(error), errno=error.errno or 0) from error
        register.started(self._process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Killed before its input is closed: a payload that breaks off must not be taken for a whole one.
        if self._process.poll() is None:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
        self._process.wait()
        self._register.ended(self._process.pid)
        os.close(self._words)

    def lines(self) -> Iterator[bytes]:
        """What it prints, line by line, as it comes."""
        rest = b""
        while chunk := self._read():
            # Not splitlines: other people's comments may hold a carriage return.
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line + b"\n"
        if rest:
            yield rest

    def _read(self) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        self._await(descriptor, select.POLLIN)
        return os.read(descriptor, _CHUNK)

    def write(self, payload: Iterable[bytes]) -> None:
        """Send the input and close it; one that ended early has its reasons, and its status tells them."""
        assert self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        os.set_blocking(descriptor, False)
        with suppress(OSError):  # beyond what this user's pipes may hold together
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _ROOM)
        try:
            for chunk in _gathered(payload):
                self._write_all(descriptor, chunk)
            self._process.stdin.close()
        except BrokenPipeError:
            pass

    def _write_all(self, descriptor: int, chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:
            try:
                view = view[os.write(descriptor, view) :]
            except BlockingIOError:
                self._pause()

    def wait(self) -> int:
        """The exit status; a child that was killed may or may not have done its work."""
        handle = os.pidfd_open(self._process.pid)
        try:
            self._await(handle, select.POLLIN)
        finally:
            os.close(handle)
        status = self._process.wait()
        if status < 0:
            raise Unsure(self._program, f"was killed ({signal.Signals(-status).name})")
        return status

    def words(self) -> str:
        """What it complained about, as far as one wants to read."""
        return os.pread(self._words, _MOST_WORDS, 0).decode(errors="replace").strip()

    def _pause(self) -> None:
        """The pipe is full: let the child read for a while.

        To wait for room would wake us for each page it reads, and the wake-ups cost both sides more than
        the reading.
        """
        if time.monotonic() > self._deadline:
            raise self._overdue()
        time.sleep(_WHILE)

    def _await(self, descriptor: int, event: int) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        if not poll.poll(max(0.0, self._deadline - time.monotonic()) * 1000):
            raise self._overdue()

    def _overdue(self) -> Unsure:
        return Unsure(self._program, f"did not end within {_SECONDS:.0f} s, and was killed")


def installed(program: str) -> str | None:
    """The path of a program, or None."""
    return shutil.which(program, path=os.pathsep.join((os.environ.get("PATH", os.defpath), *_SBIN)))


def _path(program: str) -> str:
    path = installed(program)
    if path is None:
        raise KernelError(program, "is not installed", remedy="install the package iptables")
    return path


def _gathered(payload: Iterable[bytes]) -> Iterator[bytes]:
    """Small pieces together: writing each alone would cost more than making it."""
    pieces: list[bytes] = []
    size = 0
    for piece in payload:
        pieces.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(pieces)
            pieces, size = [], 0
    yield b"".join(pieces)
