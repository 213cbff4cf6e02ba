"""Netlink messages and attributes ↔ bytes: the grammar every kernel subsystem here speaks.

Numbers in headers are in the machine's byte order; what netfilter puts into attributes is big-endian, what
routing puts there is not. Reading never guesses: bytes that do not fit raise WireError, which names what was
being read.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum, IntFlag
from ipaddress import ip_address
from typing import Final, TypeAlias

from msgspec import Struct

AF_UNSPEC: Final = 0
AF_INET: Final = 2
AF_INET6: Final = 10

Data: TypeAlias = bytes | bytearray
Span: TypeAlias = tuple[int, int]
"""Where a payload starts and ends inside the bytes it came in; hot paths copy nothing they do not keep."""

HEADER_SIZE: Final = 16
NFGENMSG_SIZE: Final = 4

_HEADER: Final = struct.Struct("=IHHII")
_ATTRIBUTE: Final = struct.Struct("=HH")
_ERRNO: Final = struct.Struct("=i")
_NESTED: Final = 0x8000
_KIND_MASK: Final = 0x3FFF


class Protocol(IntEnum):
    """Which part of the kernel a netlink socket talks to."""

    ROUTE = 0
    NETFILTER = 12


class Subsystem(IntEnum):
    """The netfilter subsystems; a message type is the subsystem times 256 plus the verb."""

    CONNTRACK = 1
    ACCOUNTING = 7
    NFTABLES = 10


class Kind(IntEnum):
    """The message types every subsystem shares."""

    NOOP = 1
    ERROR = 2
    DONE = 3
    OVERRUN = 4


class Flag(IntFlag):
    """Header flags; the second half means something else in each direction."""

    REQUEST = 0x001
    MULTI = 0x002
    ACK = 0x004
    ECHO = 0x008
    DUMP_INTR = 0x010
    DUMP = 0x300  # in a request to read: everything that matches
    EXCL = 0x200  # in a request to make: it must not exist yet
    CREATE = 0x400
    CAPPED = 0x100  # in an answer: the refused request is not repeated
    ACK_TLVS = 0x200  # in an answer: attributes with the kernel's own words follow


class _ErrorDetail(IntEnum):
    MSG = 1
    OFFS = 2


class WireError(Exception):
    """Bytes that do not follow the grammar, or a value that cannot be written in it."""

    def __init__(self, thing: str, problem: str) -> None:
        super().__init__(thing, problem)
        self.thing, self.problem = thing, problem

    def __str__(self) -> str:
        return f"{self.thing}: {self.problem}"


class Request(Struct, frozen=True, gc=False):
    """What to ask the kernel; sequence number and sender are added by the hand that sends it."""

    thing: str
    kind: int
    payload: bytes
    flags: int = int(Flag.REQUEST)

    def encode(self, sequence: int, port: int = 0) -> bytes:
        return message(self.kind, self.flags, sequence, self.payload, port)


class Frame(Struct, frozen=True, gc=False):
    """One message of a datagram: its header, and where its payload lies."""

    kind: int
    flags: int
    sequence: int
    port: int
    start: int
    end: int


class Ack(Struct, frozen=True, gc=False):
    """The kernel's answer to one request: errno 0 is success; `words` are the kernel's own, often empty."""

    errno: int
    words: str = ""
    offset: int | None = None


class Doubt(Struct, frozen=True, gc=False):
    """Notifications were lost, so what the kernel holds is unknown until somebody looks."""

    why: str


def message(kind: int, flags: int, sequence: int, payload: bytes, port: int = 0) -> bytes:
    """One message with its padding; its length counts the header but not the padding."""
    length = HEADER_SIZE + len(payload)
    return _HEADER.pack(length, kind, flags, sequence, port) + payload + bytes(-length % 4)


def nfgenmsg(family: int, resource: int = 0) -> bytes:
    """What every netfilter payload starts with: family, version 0, and a number only some subsystems read."""
    return struct.pack("!BBH", family, 0, resource)


def frames(data: Data, end: int) -> Iterator[Frame]:
    """The messages of a datagram of `end` bytes."""
    position = 0
    while position < end:
        if end - position < HEADER_SIZE:
            raise WireError("netlink message", f"{end - position} bytes left, a header needs {HEADER_SIZE}")
        length, kind, flags, sequence, port = _HEADER.unpack_from(data, position)
        if length < HEADER_SIZE or position + length > end:
            raise WireError(
                "netlink message", f"says it has {length} bytes, {end - position} are left of its datagram"
            )
        yield Frame(kind, flags, sequence, port, position + HEADER_SIZE, position + length)
        position += (length + 3) & ~3


def read_ack(data: Data, frame: Frame) -> Ack:
    """What an ERROR or a DONE message says.

    DONE carries no copy of the request, so the kernel's words follow its number directly.
    """
    if frame.end - frame.start < _ERRNO.size:
        if frame.kind == Kind.DONE and frame.end == frame.start:
            return Ack(0)
        raise WireError("netlink answer", f"{frame.end - frame.start} bytes, an error number needs 4")
    (negative,) = _ERRNO.unpack_from(data, frame.start)
    if not frame.flags & Flag.ACK_TLVS:
        return Ack(-negative)
    start = _details_start(data, frame)
    if start > frame.end:
        raise WireError("netlink answer", "the refused request it repeats is cut off")
    details = attribute_spans(data, start, frame.end, "netlink answer")
    words, offset = details.get(_ErrorDetail.MSG), details.get(_ErrorDetail.OFFS)
    return Ack(
        -negative,
        text(data, words, "error words") if words else "",
        native32(data, offset, "error offset") if offset else None,
    )


def _details_start(data: Data, frame: Frame) -> int:
    start = frame.start + _ERRNO.size
    if frame.kind == Kind.DONE:
        return start
    if frame.end - start < HEADER_SIZE:
        raise WireError("netlink answer", "the header of the refused request is cut off")
    repeated = HEADER_SIZE if frame.flags & Flag.CAPPED else _HEADER.unpack_from(data, start)[0]
    return start + int((repeated + 3) & ~3)


def attribute(kind: int, payload: bytes) -> bytes:
    """One attribute; its length counts the header but not the padding."""
    length = 4 + len(payload)
    if length > 0xFFFF:
        raise WireError(f"attribute {kind}", f"{length} bytes do not fit into a 16-bit length")
    return _ATTRIBUTE.pack(length, kind) + payload + bytes(-length % 4)


def nested(kind: int, *parts: bytes) -> bytes:
    """An attribute that holds attributes, marked as such: strict parsers refuse it otherwise."""
    return attribute(kind | _NESTED, b"".join(parts))


def attribute_text(kind: int, value: str) -> bytes:
    return attribute(kind, value.encode() + b"\0")


def attribute_be16(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("!H", value))


def attribute_be32(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("!I", value))


def attribute_be64(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("!Q", value))


def attribute_native32(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))


def attributes(data: Data, start: int, end: int, thing: str) -> Iterator[tuple[int, int, int]]:
    """Kind, payload start and payload end of each attribute, in order; the kind without its flag bits."""
    while start < end:
        if end - start < 4:
            raise WireError(thing, f"{end - start} bytes left where an attribute header needs 4")
        length, kind = _ATTRIBUTE.unpack_from(data, start)
        if length < 4 or start + length > end:
            raise WireError(
                thing, f"attribute {kind & _KIND_MASK} says it has {length} bytes, {end - start} are left"
            )
        yield kind & _KIND_MASK, start + 4, start + length
        start += (length + 3) & ~3


def attribute_spans(data: Data, start: int, end: int, thing: str) -> dict[int, Span]:
    """Where the payload of each attribute lies, by kind; of a repeated one the last, as in the kernel."""
    return {kind: (first, last) for kind, first, last in attributes(data, start, end, thing)}


def _number(form: struct.Struct, data: Data, span: Span, thing: str) -> int:
    start, end = span
    if end - start != form.size:
        raise WireError(thing, f"{end - start} bytes where a number needs {form.size}")
    return int(form.unpack_from(data, start)[0])


def u8(data: Data, span: Span, thing: str) -> int:
    return _number(_U8, data, span, thing)


def be16(data: Data, span: Span, thing: str) -> int:
    return _number(_BE16, data, span, thing)


def be32(data: Data, span: Span, thing: str) -> int:
    return _number(_BE32, data, span, thing)


def be64(data: Data, span: Span, thing: str) -> int:
    return _number(_BE64, data, span, thing)


def native32(data: Data, span: Span, thing: str) -> int:
    return _number(_NATIVE32, data, span, thing)


def text(data: Data, span: Span, thing: str) -> str:
    """A string up to its NUL; names the kernel holds may be any bytes, so odd ones are shown escaped."""
    start, end = span
    if start == end:
        raise WireError(thing, "an empty attribute where a text was expected")
    return bytes(data[start:end]).split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def address_text(raw: bytes) -> str:
    """An address as everybody here compares and prints it."""
    if len(raw) == 4:
        return f"{raw[0]}.{raw[1]}.{raw[2]}.{raw[3]}"
    if len(raw) == 16:
        return str(ip_address(raw))
    raise WireError("address", f"{len(raw)} bytes, it is 4 in IPv4 and 16 in IPv6")


def address_bytes(address: str, family: int) -> bytes:
    """The address as the kernel holds it, refused where it is not of the family."""
    try:
        raw = ip_address(address).packed
    except ValueError as error:
        raise WireError(f"address {address!r}", "not an IP address") from error
    if len(raw) != (4 if family == AF_INET else 16):
        raise WireError(f"address {address!r}", f"not of address family {family}")
    return raw


_U8: Final = struct.Struct("B")
_BE16: Final = struct.Struct("!H")
_BE32: Final = struct.Struct("!I")
_BE64: Final = struct.Struct("!Q")
_NATIVE32: Final = struct.Struct("=I")
