"""Tracked connections ↔ nfnetlink bytes.

A node may track hundreds of thousands, so reading is written for speed: the kernel lays out the two tuples of
a UDP entry always the same way, which is compared and taken apart in one go. Anything else goes the slow way,
attribute by attribute, with the same result.
"""

import struct
from enum import IntEnum
from typing import Final

from msgspec import Struct

from kubeproxy.wire.netlink import (
    AF_INET,
    AF_INET6,
    NFGENMSG_SIZE,
    Data,
    Flag,
    Frame,
    Request,
    Span,
    Subsystem,
    WireError,
    address_bytes,
    address_text,
    attribute,
    attribute_be16,
    attribute_be32,
    attribute_native32,
    attribute_spans,
    be16,
    be32,
    nested,
    nfgenmsg,
    u8,
)
from kubeproxy.wire.op import Operation

UDP: Final = 17


class Flow(Struct, frozen=True, gc=False):
    """One tracked connection: what was dialled, and what answers it.

    A zone is on both directions, or only on the original, or only on the reply. `id` is the kernel's own name
    of the entry, 0 where it is not known.
    """

    family: int
    protocol: int
    source: str
    source_port: int
    destination: str
    destination_port: int
    reply_source: str
    reply_source_port: int
    reply_destination: str
    reply_destination_port: int
    zone: int = 0
    original_zone: int = 0
    reply_zone: int = 0
    mark: int = 0
    id: int = 0


class DeleteFlows(Operation, frozen=True):
    """Forget exactly these connections; one that is gone already counts as forgotten."""

    flows: tuple[Flow, ...]


class _Verb(IntEnum):
    NEW = Subsystem.CONNTRACK << 8 | 0
    GET = Subsystem.CONNTRACK << 8 | 1
    DELETE = Subsystem.CONNTRACK << 8 | 2


# Plain numbers: an enumeration's members cost too much where every entry is compared with them.
_ORIGINAL, _REPLY, _MARK, _ID, _ZONE, _FILTER = 1, 2, 8, 12, 18, 25
_THING: Final = "tracked connection"
_HEADER: Final = struct.Struct("=HH")
_TUPLE_IP, _TUPLE_PROTO, _TUPLE_ZONE = 1, 2, 3
_PROTO_NUMBER, _PROTO_SOURCE_PORT, _PROTO_DESTINATION_PORT = 1, 2, 3
_ADDRESS_KINDS: Final = {AF_INET: (1, 2), AF_INET6: (3, 4)}
_FILTER_ORIGINAL: Final = 1
_FILTER_BY_PROTOCOL: Final = 0x08


def dump_request(family: int, protocol: int = UDP) -> Request:
    """All entries of a family; kernels since 5.8 leave out other protocols, older ones ignore the wish.

    So the answer has to be filtered again while it is read.
    """
    return Request(
        "tracked connections", _Verb.GET, nfgenmsg(family) + _wish(protocol), Flag.REQUEST | Flag.DUMP
    )


def unfiltered_dump_request(family: int) -> Request:
    """For kernels that refuse the wish instead of ignoring it."""
    return Request("tracked connections", _Verb.GET, nfgenmsg(family), Flag.REQUEST | Flag.DUMP)


def _wish(protocol: int) -> bytes:
    number = attribute(_PROTO_NUMBER, bytes([protocol]))
    return nested(_ORIGINAL, nested(_TUPLE_PROTO, number)) + nested(
        _FILTER, attribute_native32(_FILTER_ORIGINAL, _FILTER_BY_PROTOCOL)
    )


def delete_request(flow: Flow) -> Request:
    """Forget one entry: both tuples, its zone and, where known, its id.

    The kernel finds the entry by the original tuple and refuses when the id differs: so an entry that took
    the place of the one that was read survives.
    """
    # A delete without a tuple would empty the whole table: both are always written here.
    parts = [nfgenmsg(flow.family), _original_tuple(flow), _reply_tuple(flow)]
    if flow.zone:
        parts.append(attribute_be16(_ZONE, flow.zone))
    if flow.id:
        parts.append(attribute_be32(_ID, flow.id))
    thing = f"tracked connection {flow.source} to {flow.destination}:{flow.destination_port}"
    return Request(thing, _Verb.DELETE, b"".join(parts), Flag.REQUEST | Flag.ACK)


def _original_tuple(flow: Flow) -> bytes:
    addresses = _addresses(flow.family, flow.source, flow.destination)
    ports = _ports(flow.protocol, flow.source_port, flow.destination_port)
    return nested(_ORIGINAL, addresses, ports, _tuple_zone(flow.original_zone))


def _reply_tuple(flow: Flow) -> bytes:
    addresses = _addresses(flow.family, flow.reply_source, flow.reply_destination)
    ports = _ports(flow.protocol, flow.reply_source_port, flow.reply_destination_port)
    return nested(_REPLY, addresses, ports, _tuple_zone(flow.reply_zone))


def _addresses(family: int, source: str, destination: str) -> bytes:
    if family not in _ADDRESS_KINDS:
        raise WireError("tracked connection", f"address family {family} is neither IPv4 nor IPv6")
    source_kind, destination_kind = _ADDRESS_KINDS[family]
    return nested(
        _TUPLE_IP,
        attribute(source_kind, address_bytes(source, family)),
        attribute(destination_kind, address_bytes(destination, family)),
    )


def _ports(protocol: int, source: int, destination: int) -> bytes:
    return nested(
        _TUPLE_PROTO,
        attribute(_PROTO_NUMBER, bytes([protocol])),
        attribute_be16(_PROTO_SOURCE_PORT, source),
        attribute_be16(_PROTO_DESTINATION_PORT, destination),
    )


def _tuple_zone(zone: int) -> bytes:
    return attribute_be16(_TUPLE_ZONE, zone) if zone else b""


class _Spelled(dict[bytes, str]):
    """Addresses already written out: a few thousand of them appear in a hundred thousand entries."""

    def __missing__(self, raw: bytes) -> str:
        spelled = self[raw] = address_text(raw)
        return spelled


class _Layout:
    """The one way the kernel writes the two tuples of an entry that has ports and no zone in a tuple.

    Every attribute header is compared, so one different length or kind is noticed.
    """

    def __init__(self, family: int, nowhere: str) -> None:
        size = len(address_bytes(nowhere, family))
        one = f"12s{size}s4s{size}s8sB3x4sH2x4sH2x"
        self.form = struct.Struct("!" + one + one)
        blank = Flow(family, 0, nowhere, 0, nowhere, 0, nowhere, 0, nowhere, 0)
        (a, _, b, _, c, _, d, _, e, _, f, _, g, _, h, _, i, _, j, _) = self.form.unpack(
            _original_tuple(blank) + _reply_tuple(blank)
        )
        self.headers = (a, b, c, d, e, f, g, h, i, j)


_LAYOUTS: Final = {AF_INET: _Layout(AF_INET, "0.0.0.0"), AF_INET6: _Layout(AF_INET6, "::")}


class FlowReader:
    """Reads the entries of one dump that are of one protocol."""

    def __init__(self, protocol: int = UDP) -> None:
        self._protocol = protocol
        self._spelled = _Spelled()

    def read(self, data: Data, frame: Frame) -> Flow | None:
        """The entry, or None when it is of another protocol or family than asked for."""
        start = frame.start + NFGENMSG_SIZE
        if start > frame.end:
            raise WireError(_THING, "its fixed part is cut off")
        family = data[frame.start]
        layout = _LAYOUTS.get(family)
        if layout is None:
            return None
        if start + layout.form.size > frame.end:
            return self._read_slowly(data, start, frame.end, family)
        (a, source, b, destination, c, protocol, d, source_port, e, destination_port,
         f, answers, g, answered, h, _, i, answers_port, j, answered_port,
        ) = layout.form.unpack_from(data, start)  # fmt: skip
        if (a, b, c, d, e, f, g, h, i, j) != layout.headers:
            return self._read_slowly(data, start, frame.end, family)
        if protocol != self._protocol:
            return None
        spelled = self._spelled
        zone, mark, entry_id = _rest(data, start + layout.form.size, frame.end)
        return Flow(
            family, protocol,
            spelled[source], source_port, spelled[destination], destination_port,
            spelled[answers], answers_port, spelled[answered], answered_port,
            zone, 0, 0, mark, entry_id,
        )  # fmt: skip

    def _read_slowly(self, data: Data, start: int, end: int, family: int) -> Flow | None:
        spans = attribute_spans(data, start, end, _THING)
        if _ORIGINAL not in spans or _REPLY not in spans:
            raise WireError(_THING, "one of its two tuples is missing")
        original = self._tuple(data, spans[_ORIGINAL], family)
        reply = self._tuple(data, spans[_REPLY], family)
        if original is None or reply is None:
            return None
        zone, mark, entry_id = _rest(data, start, end)
        return Flow(
            family, self._protocol, *original[:4], *reply[:4], zone, original[4], reply[4], mark, entry_id
        )

    def _tuple(self, data: Data, span: Span, family: int) -> tuple[str, int, str, int, int] | None:
        """One direction's addresses, ports and zone; None when it is of another protocol."""
        parts = attribute_spans(data, *span, _THING)
        proto = attribute_spans(data, *_present(parts, _TUPLE_PROTO, "protocol part"), _THING)
        if u8(data, _present(proto, _PROTO_NUMBER, "protocol"), _THING) != self._protocol:
            return None
        ip = attribute_spans(data, *_present(parts, _TUPLE_IP, "address part"), _THING)
        source_kind, destination_kind = _ADDRESS_KINDS[family]
        return (
            self._spelled[_bytes(data, _present(ip, source_kind, "source address"))],
            be16(data, _present(proto, _PROTO_SOURCE_PORT, "source port"), _THING),
            self._spelled[_bytes(data, _present(ip, destination_kind, "destination address"))],
            be16(data, _present(proto, _PROTO_DESTINATION_PORT, "destination port"), _THING),
            be16(data, parts[_TUPLE_ZONE], _THING) if _TUPLE_ZONE in parts else 0,
        )


def _bytes(data: Data, span: Span) -> bytes:
    return bytes(data[span[0] : span[1]])


def _rest(data: Data, start: int, end: int) -> tuple[int, int, int]:
    """Zone, mark and id, each 0 where it is not said."""
    zone = mark = entry_id = 0
    while start < end:
        if end - start < 4:
            raise WireError(_THING, f"{end - start} bytes left where an attribute header needs 4")
        length, kind = _HEADER.unpack_from(data, start)
        if length < 4 or start + length > end:
            raise WireError(_THING, f"an attribute has {length} bytes, {end - start} are left")
        if kind == _ID:
            entry_id = be32(data, (start + 4, start + length), _THING)
        elif kind == _MARK:
            mark = be32(data, (start + 4, start + length), _THING)
        elif kind == _ZONE:
            zone = be16(data, (start + 4, start + length), _THING)
        start += (length + 3) & ~3
    return zone, mark, entry_id


def _present(spans: dict[int, Span], kind: int, name: str) -> Span:
    if kind not in spans:
        raise WireError(_THING, f"its {name} is missing")
    return spans[kind]
