"""Addresses as the API holds them, read as leniently as Kubernetes reads them.

Clusters keep objects that were written when `010.0.0.1` was a legal way to spell 10.0.0.1, so leading zeros
are decimal here (never octal), and an IPv4 address in IPv6 clothes is an IPv4 address.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_DOTTED: Final = re.compile(r"0*([0-9]{1,3})\.0*([0-9]{1,3})\.0*([0-9]{1,3})\.0*([0-9]{1,3})\Z", re.ASCII)
_COLONS: Final = re.compile(r"[0-9a-fA-F:.]+\Z", re.ASCII)
_LENGTH: Final = re.compile(r"0*([0-9]{1,3})\Z", re.ASCII)
_LONG_GROUP: Final = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])", re.ASCII)
_LONGEST: Final = 256
_MAPPED: Final = 0xFFFF
_MAPPED_BITS: Final = 96


@lru_cache(maxsize=8192)
def parse_ip(text: str) -> Address | None:
    """The address, or None: no zones, no surrounding blanks, no short forms."""
    if len(text) > _LONGEST:
        return None
    if ":" not in text:
        return _dotted(text)
    address = _colons(text)
    if address is not None and int(address) >> 32 == _MAPPED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


@lru_cache(maxsize=1024)
def parse_cidr(text: str) -> Network | None:
    """The network with its host bits cleared, or None: a bare address is not a network."""
    host, slash, length_text = text.partition("/")
    matched = _LENGTH.match(length_text)
    if not slash or matched is None or len(text) > _LONGEST:
        return None
    address = _colons(host) if ":" in host else _dotted(host)
    length = int(matched[1])
    if address is None or length > address.max_prefixlen:
        return None
    number = int(address) >> (address.max_prefixlen - length) << (address.max_prefixlen - length)
    if isinstance(address, IPv4Address):
        return IPv4Network((number, length))
    if length >= _MAPPED_BITS and number >> 32 == _MAPPED:
        return IPv4Network((number & 0xFFFFFFFF, length - _MAPPED_BITS))
    return IPv6Network((number, length))


def canonical_ip(text: str) -> str | None:
    """The one spelling under which an address is compared, sorted and written into rules."""
    address = parse_ip(text)
    return None if address is None else str(address)


def canonical_cidr(text: str) -> str | None:
    network = parse_cidr(text)
    return None if network is None else str(network)


def family_of(value: Address | Network) -> str:
    """As `ipFamilies` and `addressType` spell it."""
    return "IPv4" if value.version == 4 else "IPv6"


def families_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The families of those texts that are addresses, in order."""
    return tuple(family_of(address) for text in texts if (address := parse_ip(text)) is not None)


def _dotted(text: str) -> IPv4Address | None:
    matched = _DOTTED.match(text)
    if matched is None:
        return None
    number = 0
    for part in matched.groups():
        if (byte := int(part)) > 255:
            return None
        number = number << 8 | byte
    return IPv4Address(number)


def _colons(text: str) -> IPv6Address | None:
    if not _COLONS.match(text):
        return None
    head, _, tail = text.rpartition(":")
    if "." in tail:
        ending = _dotted(tail)
        if ending is None:
            return None
        low = int(ending)
        text = f"{head}:{low >> 16:x}:{low & 0xFFFF:x}"
    try:
        return IPv6Address(_LONG_GROUP.sub("", text))
    except ValueError:
        return None
