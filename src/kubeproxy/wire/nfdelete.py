"""Delete a whole nf_tables table: what another mode of ours left behind goes in one piece."""

import struct
from enum import IntEnum
from typing import Final

from kubeproxy.wire.netlink import AF_UNSPEC, Flag, Request, Subsystem, attribute_text, message, nfgenmsg
from kubeproxy.wire.op import Operation


class DeleteTable(Operation, frozen=True):
    """The table and all that is in it; one that does not exist is deleted already."""

    #: AF_INET or AF_INET6
    family: int
    name: str


class _Verb(IntEnum):
    BATCH_BEGIN = 0x10
    BATCH_END = 0x11
    DELETE_TABLE = Subsystem.NFTABLES << 8 | 2


_TABLE_NAME: Final = 1


class _Batch(Request, frozen=True, gc=False):
    """nf_tables changes only in batches. One number for all three messages: they have one answer."""

    def encode(self, sequence: int, port: int = 0) -> bytes:
        # The last two bytes of a bracket's header tell, in network order, who is meant.
        bracket = nfgenmsg(AF_UNSPEC)[:2] + struct.pack("!H", Subsystem.NFTABLES)
        begin = message(_Verb.BATCH_BEGIN, Flag.REQUEST, sequence, bracket, port)
        end = message(_Verb.BATCH_END, Flag.REQUEST, sequence, bracket, port)
        return begin + Request.encode(self, sequence, port) + end


def delete_table_request(op: DeleteTable) -> Request:
    payload = nfgenmsg(op.family) + attribute_text(_TABLE_NAME, op.name)
    return _Batch(f"table {op.name}", _Verb.DELETE_TABLE, payload, Flag.REQUEST | Flag.ACK)
