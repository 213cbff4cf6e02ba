"""Named packet counters (nfacct) ↔ nfnetlink bytes.

Rules refer to them by name, and the name must exist before such a rule is accepted.
"""

from enum import IntEnum

from msgspec import Struct

from kubeproxy.wire.netlink import (
    AF_UNSPEC,
    NFGENMSG_SIZE,
    Data,
    Flag,
    Frame,
    Request,
    Subsystem,
    WireError,
    attribute_spans,
    attribute_text,
    be64,
    nfgenmsg,
    text,
)
from kubeproxy.wire.op import Operation

LONGEST_NAME = 31


class EnsureCounter(Operation, frozen=True):
    """Make the counter exist; one that is there keeps its count."""

    name: str


class Counter(Struct, frozen=True, gc=False):
    """What a counter has seen so far."""

    name: str
    packets: int
    bytes: int


class _Verb(IntEnum):
    NEW = Subsystem.ACCOUNTING << 8 | 0
    GET = Subsystem.ACCOUNTING << 8 | 1


class _Attribute(IntEnum):
    NAME = 1
    PACKETS = 2
    BYTES = 3


def get_request(name: str) -> Request:
    return Request(f"packet counter {name}", _Verb.GET, _named(name), Flag.REQUEST)


def new_request(name: str) -> Request:
    flags = Flag.REQUEST | Flag.CREATE | Flag.ACK
    return Request(f"packet counter {name}", _Verb.NEW, _named(name), flags)


def _named(name: str) -> bytes:
    if not 1 <= len(name.encode()) <= LONGEST_NAME:
        raise WireError(f"packet counter {name!r}", f"a name has 1 to {LONGEST_NAME} bytes")
    return nfgenmsg(AF_UNSPEC) + attribute_text(_Attribute.NAME, name)


def read_counter(data: Data, frame: Frame) -> Counter:
    thing = "packet counter"
    spans = attribute_spans(data, frame.start + NFGENMSG_SIZE, frame.end, thing)
    missing = [wanted.name.lower() for wanted in _Attribute if wanted not in spans]
    if missing:
        raise WireError(thing, f"the answer lacks {', '.join(missing)}")
    return Counter(
        text(data, spans[_Attribute.NAME], thing),
        be64(data, spans[_Attribute.PACKETS], thing),
        be64(data, spans[_Attribute.BYTES], thing),
    )
