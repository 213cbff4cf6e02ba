"""Links and the addresses on them: routing netlink ↔ values.

A node port is answered on the node's own addresses, so they are read at start and followed from then on.
"""

import struct
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

from kubeproxy.wire.netlink import (
    AF_INET,
    AF_INET6,
    AF_UNSPEC,
    Data,
    Doubt,
    Flag,
    Frame,
    Request,
    WireError,
    address_text,
    attribute_native32,
    attribute_spans,
    text,
)


class Group(IntEnum):
    """Multicast groups, as numbers to join (not as the older bit mask)."""

    LINK = 1
    IPV4_ADDRESS = 5
    IPV6_ADDRESS = 9


class Scope(IntEnum):
    """How far an address is meant to reach."""

    UNIVERSE = 0
    SITE = 200
    LINK = 253
    HOST = 254
    NOWHERE = 255


class Link(Struct, frozen=True, gc=False):
    """A network interface."""

    ifindex: int
    name: str
    up: bool


class LocalAddress(Struct, frozen=True, gc=False):
    """An address of this node; `ifname` is empty in notifications, which tell only the index."""

    family: int
    address: str
    prefixlen: int
    ifindex: int
    ifname: str
    scope: int


class Happened(StrEnum):
    """What a notification says of a thing; `ADDED` is also said when one was altered."""

    ADDED = "added"
    REMOVED = "removed"


class AddressChange(Struct, frozen=True, gc=False):
    happened: Happened
    address: LocalAddress


class LinkChange(Struct, frozen=True, gc=False):
    happened: Happened
    link: Link


AddressNews: TypeAlias = AddressChange | LinkChange | Doubt

_NEW_LINK, _DEL_LINK, _GET_LINK = 16, 17, 18
_NEW_ADDRESS, _DEL_ADDRESS, _GET_ADDRESS = 20, 21, 22
_IFINFO: Final = struct.Struct("=BxHiII")
_IFADDR: Final = struct.Struct("=BBBBI")
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_IFLA_IFNAME, _IFLA_EXT_MASK = 3, 29
_IFF_UP: Final = 1
_SKIP_STATISTICS: Final = 8

_HAPPENED: Final = {
    _NEW_LINK: Happened.ADDED,
    _NEW_ADDRESS: Happened.ADDED,
    _DEL_LINK: Happened.REMOVED,
    _DEL_ADDRESS: Happened.REMOVED,
}


def links_request() -> Request:
    """All links, without the statistics that make up most of such an answer."""
    payload = _IFINFO.pack(AF_UNSPEC, 0, 0, 0, 0) + attribute_native32(_IFLA_EXT_MASK, _SKIP_STATISTICS)
    return Request("links", _GET_LINK, payload, Flag.REQUEST | Flag.DUMP)


def addresses_request(family: int = AF_UNSPEC) -> Request:
    """All addresses of the family, or of both."""
    return Request("addresses", _GET_ADDRESS, _IFADDR.pack(family, 0, 0, 0, 0), Flag.REQUEST | Flag.DUMP)


def read_link(data: Data, frame: Frame) -> Link | None:
    """A link; None for a message about a bridge port, which the same numbers announce."""
    start = _after(_IFINFO, frame, "link")
    family, _, ifindex, flags, _ = _IFINFO.unpack_from(data, frame.start)
    if family != AF_UNSPEC:
        return None
    spans = attribute_spans(data, start, frame.end, "link")
    if _IFLA_IFNAME not in spans:
        raise WireError(f"link {ifindex}", "has no name")
    return Link(ifindex, text(data, spans[_IFLA_IFNAME], "link name"), bool(flags & _IFF_UP))


def read_address(data: Data, frame: Frame, names: Mapping[int, str]) -> LocalAddress | None:
    """An address on this node.

    On a point-to-point link the plain address attribute is the peer's, so the local one goes first.
    None for families other than IP, which share the message and have addresses of their own kind.
    """
    start = _after(_IFADDR, frame, "address")
    family, prefixlen, _, scope, ifindex = _IFADDR.unpack_from(data, frame.start)
    if family not in (AF_INET, AF_INET6):
        return None
    spans = attribute_spans(data, start, frame.end, "address")
    span = spans.get(_IFA_LOCAL) or spans.get(_IFA_ADDRESS)
    if span is None:
        raise WireError(f"address on link {ifindex}", "is missing")
    address = address_text(bytes(data[span[0] : span[1]]))
    return LocalAddress(family, address, prefixlen, ifindex, names.get(ifindex, ""), scope)


def read_news(data: Data, frame: Frame) -> AddressNews | None:
    """What a notification says, or None when it says nothing about links and addresses."""
    happened = _HAPPENED.get(frame.kind)
    if happened is None:
        return None
    if frame.kind in (_NEW_LINK, _DEL_LINK):
        link = read_link(data, frame)
        return None if link is None else LinkChange(happened, link)
    address = read_address(data, frame, {})
    return None if address is None else AddressChange(happened, address)


def _after(form: struct.Struct, frame: Frame, thing: str) -> int:
    if frame.end - frame.start < form.size:
        raise WireError(thing, f"{frame.end - frame.start} bytes, its fixed part needs {form.size}")
    return frame.start + form.size
