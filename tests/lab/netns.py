"""Network namespaces for tests: `with namespace() as ns: ns.run(["ip", "link"])`.

They have no name in /run/netns: an open file holds them, so one vanishes with the process that made it,
however that ends. Only processes started in one can outlive a killed run; they carry a mark in their
environment, by which the next run finds and ends them. Needs root, or the root of a user namespace.
"""

import atexit
import contextlib
import ctypes
import itertools
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_CLONE_NEWNET = 0x40000000
_MARK = "KUBE_PROXY_LAB_RUN"
_LOCK = "XTABLES_LOCKFILE"
_LOCK_FILES = "kube-proxy-lab."
_libc = ctypes.CDLL(None, use_errno=True)
_serial = itertools.count(1)
_ready: list[str] = []


class Namespace:
    """One network namespace, with loopback up; `path` is what `ip ... netns PATH` takes."""

    def __init__(self, label: str, fd: int) -> None:
        self.label, self._fd = label, fd
        self.path = f"/proc/{os.getpid()}/fd/{fd}"
        self._children: list[subprocess.Popen[Any]] = []

    def __repr__(self) -> str:
        return f"<namespace {self.label}>"

    @contextlib.contextmanager
    def enter(self) -> Iterator[None]:
        """This thread is inside for a while, and so are threads and processes it starts meanwhile.

        Sockets keep the namespace they were opened in. What reads /proc/net sees that of the main
        thread; /proc/thread-self/net and /proc/sys/net are those of the thread.
        """
        before = _open_current()
        try:
            _setns(self._fd)
            yield
        finally:
            _setns(before)
            os.close(before)

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """The function's result, from a thread of its own inside the namespace."""

        def inside() -> T:
            with self.enter():
                return function(*args, **options)

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(inside).result()

    def run(
        self, argv: Sequence[str], *, check: bool = True, timeout: float = 60, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a program inside; a failure shows its words. Output is text."""
        options = {"stdin": None if "input" in options else subprocess.DEVNULL, **options}
        with self.enter():
            done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, **options)
        if check and done.returncode:
            raise AssertionError(f"{self.label}: {' '.join(argv)}: {done.returncode}: {done.stderr.strip()}")
        return done

    def popen(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a program inside; it is killed when the namespace is left."""
        with self.enter():
            child = subprocess.Popen(argv, **{"stdin": subprocess.DEVNULL, **options})
        self._children.append(child)
        return child

    def close(self) -> None:
        """End every process started in it, then let go of it."""
        for child in self._children:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
        inode = os.fstat(self._fd).st_ino
        for pid in _marked():
            if _inode(pid) == inode:
                _kill(pid)
        os.close(self._fd)


@contextlib.contextmanager
def namespace(label: str = "") -> Iterator[Namespace]:
    """A fresh network namespace, gone afterwards with everything in it."""
    _prepare()
    before = _open_current()
    try:
        if _libc.unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "no network namespace of our own: root or a user namespace")
        inside = _open_current()
    finally:
        _setns(before)
        os.close(before)
    ns = Namespace(label or f"ns{next(_serial)}", inside)
    try:
        ns.run(["ip", "link", "set", "lo", "up"])
        yield ns
    finally:
        ns.close()


def connect(left: Namespace, left_name: str, right: Namespace, right_name: str) -> None:
    """A cable between two namespaces, both ends up."""
    peer = ["peer", "name", right_name, "netns", right.path]
    left.run(["ip", "link", "add", left_name, "type", "veth", *peer])
    left.run(["ip", "link", "set", left_name, "up"])
    right.run(["ip", "link", "set", right_name, "up"])


def _prepare() -> None:
    """Once a run: sweep after killed runs, mark our processes, and give the legacy tables a lock of ours.

    The legacy program's lock is one file for the whole host, which would make parallel runs wait for
    each other, and which the root of a user namespace may not open.
    """
    if _ready:
        return
    _sweep()
    os.environ[_MARK] = f"{os.getpid()}.{_started(os.getpid())}.{_numbering()}"
    if _LOCK not in os.environ:
        lock = Path(tempfile.gettempdir(), f"{_LOCK_FILES}{os.environ[_MARK]}")
        lock.touch(0o600)
        os.environ[_LOCK] = str(lock)
        atexit.register(lock.unlink, missing_ok=True)
    _ready.append(os.environ[_MARK])


def _sweep() -> None:
    """End marked processes whose run is no more, and take its lock away."""
    for pid, mark in _marked_by().items():
        if _has_ended(mark):
            _kill(pid)
    for lock in Path(tempfile.gettempdir()).glob(f"{_LOCK_FILES}*"):
        if _has_ended(lock.name.removeprefix(_LOCK_FILES)):
            lock.unlink(missing_ok=True)


def _has_ended(mark: str) -> bool:
    """Whether the run with this mark is no more, as far as we can tell.

    The host sees the processes of a container, but their marks hold the container's numbers: of a run
    that is numbered elsewhere nothing can be said from here, and it is left alone.
    """
    owner, _, rest = mark.partition(".")
    started, _, numbering = rest.partition(".")
    if numbering != _numbering() or not owner.isdigit():
        return False
    return _started(int(owner)) != started


def _numbering() -> str:
    """The PID namespace: process numbers mean nothing outside of theirs."""
    return str(Path("/proc/self/ns/pid").stat().st_ino)


def _marked() -> list[int]:
    mine = os.environ[_MARK]
    return [pid for pid, mark in _marked_by().items() if mark == mine and pid != os.getpid()]


def _marked_by() -> dict[int, str]:
    """Each process that carries a mark in the environment it was started with."""
    found = {}
    key = f"{_MARK}=".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                for line in (entry / "environ").read_bytes().split(b"\0"):
                    if line.startswith(key):
                        found[int(entry.name)] = line[len(key) :].decode()
    return found


def _started(pid: int) -> str:
    """The clock tick in which a process started: with its number, its identity. Empty when it is gone."""
    with contextlib.suppress(OSError):
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if state == "Z" else fields[18]
    return ""


def _inode(pid: int) -> int:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    return 0


def _kill(pid: int) -> None:
    """Kill a process that need not be a child of ours, and wait until it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], 10)
        finally:
            os.close(handle)


def _open_current() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _setns(fd: int) -> None:
    if _libc.setns(fd, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "cannot enter the network namespace")
