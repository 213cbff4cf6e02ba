"""The small rules that checks are made of: what is wrong with one value, and what would be right."""

import re
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from kubeproxy.api.addresses import Address, parse_cidr, parse_ip
from kubeproxy.api.meta import ObjectMeta

PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
FAMILIES: Final = ("IPv4", "IPv6")


class Wrong(Struct, frozen=True, gc=False):
    """One thing wrong with an object that has the right shape."""

    field: str
    value: object
    problem: str
    remedy: str


class Name(Enum):
    """The grammars of names: pattern, longest, and the same in words."""

    SERVICE = (
        r"[a-z](?:[-a-z0-9]*[a-z0-9])?",
        63,
        "use at most 63 of a-z, 0-9 and -, beginning with a letter and not ending with -",
    )
    LABEL = (
        r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?",
        63,
        "use at most 63 of a-z, 0-9 and -, neither beginning nor ending with -",
    )
    SUBDOMAIN = (
        r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*",
        253,
        "use at most 253 of a-z, 0-9, - and ., beginning and ending with a letter or digit",
    )
    LABEL_VALUE = (
        r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?",
        63,
        "use at most 63 of A-Z, a-z, 0-9, -, _ and ., beginning and ending with a letter or digit",
    )
    LABEL_KEY = (
        r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?",
        317,
        "use a name such as app or example.com/app",
    )
    CONTAINER_PORT = (
        r"(?=[-0-9]*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*",
        15,
        "use a port number, or at most 15 of a-z, 0-9 and -, with at least one letter",
    )

    def __init__(self, pattern: str, longest: int, remedy: str) -> None:
        self.pattern = re.compile(pattern, re.ASCII)
        self.longest = longest
        self.remedy = remedy

    def fits(self, text: str) -> bool:
        return len(text) <= self.longest and self.pattern.fullmatch(text) is not None


def named(field: str, text: str, name: Name) -> Iterator[Wrong]:
    if not name.fits(text):
        yield Wrong(field, text, "not a legal name" if text else "empty", name.remedy)


def metadata(meta: ObjectMeta, name: Name, scoped: bool = False) -> Iterator[Wrong]:
    """What every object must get right. Cluster-wide kinds have no namespace."""
    yield from named("metadata.name", meta.name, name)
    if not scoped:
        yield from named("metadata.namespace", meta.namespace, Name.LABEL)
    yield from labels("metadata.labels", meta.labels)


def labels(field: str, texts: Mapping[str, str]) -> Iterator[Wrong]:
    for key, value in texts.items():
        if not Name.LABEL_KEY.fits(key):
            yield Wrong(field, key, "not a legal label name", Name.LABEL_KEY.remedy)
        elif not Name.LABEL_VALUE.fits(value):
            yield Wrong(f"{field}[{key}]", value, "not a legal label value", Name.LABEL_VALUE.remedy)


def one_of(field: str, value: str, allowed: Collection[str]) -> Iterator[Wrong]:
    if value not in allowed:
        yield Wrong(field, value, "not one of the values allowed here", f"write {' or '.join(allowed)}")


def number(field: str, value: int, low: int, high: int) -> Iterator[Wrong]:
    if not low <= value <= high:
        yield Wrong(field, value, f"outside {low} to {high}", f"write a number from {low} to {high}")


def port(field: str, value: int) -> Iterator[Wrong]:
    yield from number(field, value, 1, 65535)


def address(field: str, text: str, special: bool = False) -> Iterator[Wrong]:
    """An address that is the same thing on every node; `special` allows the others too."""
    found = parse_ip(text)
    if found is None:
        yield Wrong(field, text, "not an IP address", "write an IPv4 or IPv6 address, such as 10.0.0.10")
    elif not special and (why := _local_meaning(found)):
        yield Wrong(
            field, text, f"{why} address: it means something else on every node", "use a routable address"
        )


def cidr(field: str, text: str) -> Iterator[Wrong]:
    if parse_cidr(text) is None:
        bare = parse_ip(text)
        remedy = "write a network, such as 10.96.0.0/12"
        if bare is not None:
            remedy = f"write the length too: {text}/{bare.max_prefixlen} is this address alone"
        yield Wrong(field, text, "not a network", remedy)


def _local_meaning(found: Address) -> str:
    if found.is_unspecified:
        return "the unspecified"
    if found.is_loopback:
        return "a loopback"
    if found.is_link_local:
        return "a link-local"
    return "a multicast" if found.is_multicast else ""


def distinct(field: str, values: Collection[str], key: str = "") -> Iterator[Wrong]:
    """Every value once. `key` is the field within each entry, for a list of mappings."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield Wrong(f"{field}[{index}]{key}", value, "already used above", "give each its own")
        seen.add(value)
