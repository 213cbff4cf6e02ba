"""Processes inside namespaces: residents and others, none of which outlives us.

A room is a network namespace without a name that lives as long as its resident does, and every
process started here is killed by the kernel when we die, however we die. So a run that is killed
leaves nothing behind, and nothing has to be swept up later.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import kubeproxy

# A bare interpreter starts in a third of the time: no site-packages, no .pth files.
BARE = (sys.executable, "-S", "-E", "-c")
RESIDENT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from kubeproxy.cli.stage.resident import main; main()"
)
SOURCE = str(Path(kubeproxy.__file__).parent.parent)
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
PATIENCE = 5.0


class StageError(Exception):
    """The little cluster could not be built, or a part of it failed."""


class Resident:
    """A room's first process: whoever holds it can have things done inside."""

    def __init__(self, room: str) -> None:
        self.room = room
        self.process = subprocess.Popen(
            ["unshare", "--net", "--", *DIES_WITH_US, *BARE, RESIDENT, SOURCE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        """The process that keeps the namespace alive."""
        return self.process.pid

    def ask(self, do: str, **details: Any) -> None:
        """Sends an order; `hear` waits for its answer, so that many residents can be busy at once."""
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps({"do": do, **details}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._last_words() from None

    def hear(self) -> dict[str, Any]:
        """The answer to the oldest order not yet answered."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise self._last_words()
        heard: dict[str, Any] = json.loads(line)
        return heard

    def tell(self, do: str, **details: Any) -> dict[str, Any]:
        """Sends an order and waits for its answer."""
        self.ask(do, **details)
        return self.hear()

    def leave(self) -> None:
        """Ends the process, and with it the room."""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                _close(pipe)
        self.process.kill()
        self.process.wait()

    def _last_words(self) -> StageError:
        try:
            status = str(self.process.wait(PATIENCE))
        except subprocess.TimeoutExpired:
            status = "no status: it is still there"
            self.process.kill()
        assert self.process.stderr
        words = self.process.stderr.read().strip()
        return StageError(f"the process in {self.room} ended with {status}: {words or 'without a word'}")


def _close(pipe: IO[str]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        pass


def inside(pid: int, argv: Sequence[str]) -> list[str]:
    """A command line that runs another one in the network namespace of a process."""
    return ["nsenter", f"--net=/proc/{pid}/ns/net", "--", *argv]


def run_inside(pid: int, argv: Sequence[str], given: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a command to its end in the namespace of a process."""
    return subprocess.run(inside(pid, argv), input=given, capture_output=True, text=True, check=False)


def start_inside(
    pid: int, argv: Sequence[str], log: IO[str], environ: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts a command that goes on in the namespace of a process; it dies when we do.

    It gets a session of its own: Ctrl-C is for us, and we end it in our own order.
    """
    return subprocess.Popen(
        inside(pid, [*DIES_WITH_US, *argv]),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(environ or {})},
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> int:
    """Asks a process to end, and insists when it does not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def batch(pid: int, text: str, *options: str) -> subprocess.Popen[str]:
    """Starts ip(8) on a batch of its commands in the namespace of a process."""
    process = subprocess.Popen(
        inside(pid, ["ip", *options, "-batch", "-"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    process.stdin.write(text)
    process.stdin.close()
    process.stdin = None
    return process
