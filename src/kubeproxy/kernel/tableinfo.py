"""Asks a legacy iptables table how large it is, without bringing it into being."""

import errno
import os
import socket
from pathlib import Path
from typing import Final

from kubeproxy.kernel.errors import KernelError
from kubeproxy.wire import tableinfo
from kubeproxy.wire.netlink import AF_INET
from kubeproxy.wire.tableinfo import TableInfo

_PROC_NET: Final = Path("/proc/thread-self/net")
_REMEDY: Final = "CAP_NET_ADMIN is needed"


def legacy_tables(family: int) -> tuple[str, ...]:
    """The legacy tables that exist in this network namespace; none where the kernel has no such thing."""
    try:
        return tuple((_PROC_NET / tableinfo.NAMES_FILES[family]).read_text().split())
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _error("list of legacy tables", error.errno or 0) from error


def table_info(family: int, table: str) -> TableInfo | None:
    """The size of a legacy table, or None when it does not exist.

    The kernel would make the table to answer the question, and the nft flavour complains about that ever
    after: so the list of tables is read first.
    """
    if table not in legacy_tables(family):
        return None
    buffer, number = _getsockopt(family, tableinfo.question(table))
    if number == errno.ENOENT:
        return None
    if number:
        raise _error(f"legacy table {table}", number)
    return tableinfo.read_info(buffer)


def _getsockopt(family: int, question: bytes) -> tuple[bytes, int]:
    """One getsockopt whose memory carries the question in and the answer out.

    Python's own hands the kernel fresh memory, so it can only ask questions without words.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    memory = ctypes.create_string_buffer(question, len(question))
    length = ctypes.c_uint32(len(question))
    kind = socket.AF_INET if family == AF_INET else socket.AF_INET6
    try:
        # Any socket of the family can ask; a raw one, as iptables uses, would need CAP_NET_RAW too.
        asking = socket.socket(kind, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    except OSError as error:
        raise _error(f"socket of family {family}", error.errno or 0) from error
    with asking:
        failed = libc.getsockopt(
            asking.fileno(), tableinfo.LEVELS[family], tableinfo.GET_INFO, memory, ctypes.byref(length)
        )
    return memory.raw[: length.value], ctypes.get_errno() if failed else 0


def _error(thing: str, number: int) -> KernelError:
    remedy = _REMEDY if number in (errno.EPERM, errno.EACCES) else ""
    return KernelError(thing, os.strerror(number), errno=number, remedy=remedy)
