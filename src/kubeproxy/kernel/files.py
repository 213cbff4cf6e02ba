"""Settings as files; what is below /proc/sys/net belongs to the thread's network namespace."""

import errno
import os
from pathlib import Path
from typing import Final

from kubeproxy.kernel.errors import KernelError
from kubeproxy.wire.sysctl import ModuleParameter, OOMScore, Sysctl

#: a container's /proc/sys and /sys are mounted read-only, but it may be given the host's here
_HOST: Final = Path("/host")
_ROOT: Final = Path("/proc/sys")
_MODULES: Final = Path("/sys/module")
_OWN_SCORE: Final = Path("/proc/self/oom_score_adj")
_ONLINE: Final = Path("/sys/devices/system/cpu/online")


def read_sysctl(path: str) -> str | None:
    """The setting's value, or None when this kernel has no such setting."""
    try:
        return _file(path).read_text().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refused_setting(path, error.errno or 0) from error


def write_sysctl(op: Sysctl) -> bool:
    """Whether there was something to write.

    A value that is right already is not written: a container often may read what it may not write, and
    somebody may have set it for that very reason.
    """
    if read_sysctl(op.path) == op.value:
        return False
    try:
        _write(_file(op.path), op.value)
    except OSError as error:
        raise refused_setting(op.path, error.errno or 0, op.value) from error
    return True


def raise_parameter(op: ModuleParameter) -> bool:
    """Whether the parameter had to be raised; a container may often read what it may not write."""
    path = _parameter(op)
    try:
        if int(path.read_text()) >= op.at_least:
            return False
        _write(path, str(op.at_least))
    except ValueError as error:
        raise KernelError(str(path), f"holds no number: {error}") from error
    except OSError as error:
        raise refused_parameter(op, error.errno or 0) from error
    return True


def _write(path: Path, text: str) -> None:
    """To the setting, or by the host's door where the way in is closed: see docs/privileges.md."""
    try:
        path.write_text(text)
    except OSError as error:
        door = _HOST / path.relative_to("/")
        if error.errno != errno.EROFS or not door.exists():
            raise
        door.write_text(text)


def _parameter(op: ModuleParameter) -> Path:
    return _MODULES / op.module / "parameters" / op.name


def refused_parameter(op: ModuleParameter, number: int) -> KernelError:
    thing = f"{_parameter(op)}={op.at_least}"
    return KernelError(thing, os.strerror(number), errno=number, remedy=_MODULE_REMEDIES.get(number, ""))


def set_oom_score(op: OOMScore) -> None:
    try:
        _OWN_SCORE.write_text(str(op.adjust))
    except OSError as error:
        number = error.errno or 0
        remedy = "CAP_SYS_RESOURCE is needed to lower it" if number in (errno.EACCES, errno.EPERM) else ""
        raise KernelError(
            f"{_OWN_SCORE}={op.adjust}", os.strerror(number), errno=number, remedy=remedy
        ) from error


def processors() -> int:
    """The CPUs of the host, whatever part of them this process may use; else those it may use."""
    try:
        return _counted(_ONLINE.read_text())
    except (OSError, ValueError):
        return len(os.sched_getaffinity(0))


def _counted(ranges: str) -> int:
    """How many numbers a list such as 0-3,8 names."""
    parts = (part.partition("-") for part in ranges.strip().split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in parts)


def _file(path: str) -> Path:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"{path!r} is not a path below {_ROOT}")
    return _ROOT / path


def refused_setting(path: str, number: int, value: str = "") -> KernelError:
    """What is said when the kernel does not let itself be told."""
    thing = f"sysctl {path}={value}" if value else f"sysctl {path}"
    remedy = _REMEDIES.get(number, "")
    if number in (errno.EPERM, errno.EACCES) and not path.startswith("net/"):
        remedy = "root is needed"
    return KernelError(thing, os.strerror(number), errno=number, remedy=remedy)


_REMEDIES: Final = {
    errno.EPERM: "CAP_NET_ADMIN is needed",
    errno.EACCES: "CAP_NET_ADMIN is needed",
    errno.EROFS: (
        "/proc/sys is read-only in this container: set it on the host, "
        "or mount the host's /proc/sys/net at /host/proc/sys/net"
    ),
    errno.ENOENT: "this kernel has no such setting; the module that brings it may not be loaded",
    errno.EINVAL: "the kernel does not take this value",
}

_MODULE_REMEDIES: Final = {
    errno.EPERM: "root of the host is needed",
    errno.EACCES: "root of the host is needed",
    errno.EROFS: (
        "/sys is read-only in this container: set it on the host, or mount the host's "
        "/sys/module/nf_conntrack/parameters at the same place below /host"
    ),
    errno.ENOENT: "the module is not loaded, or /sys is not there",
}
