"""What a legacy iptables table tells about itself for one system call: struct ipt_getinfo ↔ values.

Reading a whole legacy table costs half a second at 5,000 Services; its number of entries and its size change
with nearly everything anybody does to it.
"""

import struct
from typing import Final

from msgspec import Struct

from kubeproxy.wire.netlink import AF_INET, AF_INET6, Data, WireError

GET_INFO: Final = 64
LEVELS: Final = {AF_INET: 0, AF_INET6: 41}
"""The socket option level of each family: SOL_IP and SOL_IPV6."""

NAMES_FILES: Final = {AF_INET: "ip_tables_names", AF_INET6: "ip6_tables_names"}
"""Which tables exist, as files below the /proc/net of the thread that asks."""

_NAME_SIZE: Final = 32
_ANSWER: Final = struct.Struct(f"={_NAME_SIZE}sI5I5III")
SIZE: Final = _ANSWER.size


class TableInfo(Struct, frozen=True, gc=False):
    """How many entries a table has (policies and chain heads among them) and how many bytes they take."""

    entries: int
    size: int


def question(table: str) -> bytes:
    """The name goes in, and the same memory comes back filled."""
    if not 1 <= len(table.encode()) < _NAME_SIZE:
        raise WireError(f"table {table!r}", f"a name has 1 to {_NAME_SIZE - 1} bytes")
    return table.encode().ljust(SIZE, b"\0")


def read_info(data: Data) -> TableInfo:
    if len(data) != SIZE:
        raise WireError("table info", f"{len(data)} bytes, it has {SIZE}")
    *_, entries, size = _ANSWER.unpack(data)
    return TableInfo(entries, size)
