"""Kernel settings as files below /proc/sys; what is below net/ belongs to the thread's network namespace."""

import errno
import os
from pathlib import Path
from typing import Final

from kubeproxy.kernel.errors import KernelError
from kubeproxy.wire.sysctl import Sysctl

_ROOT: Final = Path("/proc/sys")


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
        _file(op.path).write_text(op.value)
    except OSError as error:
        raise refused_setting(op.path, error.errno or 0, op.value) from error
    return True


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
    errno.EROFS: "/proc/sys is read-only in this container: set it on the host, or mount /proc/sys writable",
    errno.ENOENT: "this kernel has no such setting; the module that brings it may not be loaded",
    errno.EINVAL: "the kernel does not take this value",
}
