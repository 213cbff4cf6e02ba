"""The words of a question → what is asked; what makes no sense is answered with an example."""

import re
from enum import StrEnum
from typing import Final, NoReturn

from msgspec import Struct

from kubeproxy.api.addresses import parse_ip
from kubeproxy.model.identity import Protocol

PING: Final = "ICMP"

_PROTOCOLS: Final = {
    **{str(protocol).lower(): str(protocol) for protocol in Protocol},
    **dict.fromkeys(("icmp", "icmpv6", "ping"), PING),
}
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_NUMBERS: Final = re.compile(r"[\d.]+", re.ASCII)
_LAST_PORT: Final = 65535
_LOCALHOST: Final = "127.0.0.1"


class Who(StrEnum):
    """Senders that need no address."""

    POD = "pod"
    NODE = "node"
    OUTSIDE = "outside"
    LOCALHOST = "localhost"


class Unclear(Exception):
    """A question that cannot be understood, and one like it that can."""

    def __init__(self, problem: str, example: str) -> None:
        super().__init__(f"{problem}; for example: kube-proxy explain {example}")


class Question(Struct, frozen=True):
    """Either an address is asked about or a Service, then perhaps with one of its ports."""

    text: str
    address: str = ""
    #: "name" or "namespace/name"
    service: str = ""
    port: int = 0
    port_name: str = ""
    #: one of those that Services know, PING, or "" for whatever there is
    protocol: str = ""


def read_question(text: str) -> Question:
    """`IP[:PORT][/PROTOCOL]`, or `[NAMESPACE/]NAME[:PORT][/PROTOCOL]`."""
    if "://" in text:
        _refuse(f"{text!r} is a URL, and packets go to addresses", "10.96.0.10:80")
    place, protocol = _without_protocol(text.strip())
    host, port = _parted(place)
    address = parse_ip(_LOCALHOST if host == "localhost" else host)
    if address is None:
        return _about_service(text, host, port, protocol)
    return _about_address(text, str(address), port, protocol)


def read_sender(text: str) -> Who | str:
    """One of the words, or an address."""
    if text in Who._value2member_map_:
        return Who(text)
    address = parse_ip(text.strip("[]"))
    if address is None:
        words = ", ".join(Who)
        _refuse(f"--from is {words} or an address, not {text!r}", "--from outside 192.0.2.10:30080")
    return str(address)


def _without_protocol(text: str) -> tuple[str, str]:
    """A slash stands before a protocol, and also between namespace and name."""
    place, slash, word = text.rpartition("/")
    if not slash or not (":" in place or "/" in place or parse_ip(place)):
        return text, ""
    protocol = _PROTOCOLS.get(word.lower())
    if protocol is None and word.isdecimal() and parse_ip(place):
        _refuse(f"{text!r} is a network; packets go to one address", f"{place}:80")
    if protocol is None:
        known = "tcp, udp, sctp or icmp"
        _refuse(f"{word!r} is not a protocol; write {known} after the slash", f"{place}/udp")
    return place, protocol


def _parted(place: str) -> tuple[str, str]:
    """Address or name, and port."""
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", place)
    if bracketed:
        return bracketed[1], bracketed[2] or ""
    if parse_ip(place) is not None:
        return place, ""
    if place.count(":") > 1:
        _refuse(f"{place!r} is no address; write an IPv6 address with a port in brackets", "[fd00::a]:80")
    host, colon, port = place.partition(":")
    if colon and not port:
        _refuse(f"{place!r} has a colon and no port", f"{host or '10.96.0.10'}:80")
    return host, port


def _about_address(text: str, address: str, port: str, protocol: str) -> Question:
    spelled = f"[{address}]" if ":" in address else address
    if protocol == PING and port:
        _refuse("a ping has no port", f"{spelled}/icmp")
    if not port:
        if protocol not in ("", PING):
            _refuse(f"{protocol} needs a port", f"{spelled}:80/{protocol.lower()}")
        return Question(text, address, protocol=PING)
    if not port.isdecimal():
        _refuse(f"the port of an address is a number, not {port!r}", f"{spelled}:80")
    return Question(text, address, port=_number(port, spelled), protocol=protocol or Protocol.TCP.value)


def _about_service(text: str, host: str, port: str, protocol: str) -> Question:
    if protocol == PING:
        _refuse("a Service is asked about by its ports; to ping, name an address", "10.96.0.10/icmp")
    parts = host.split("/")
    if _NUMBERS.fullmatch(host) or len(parts) > 2 or not all(_NAME.fullmatch(p) for p in _labels(parts)):
        _refuse(f"{text!r} is neither an address nor the name of a Service", "shop/web:80, or 10.96.0.10:80")
    name = "/".join(parts) if len(parts) > 1 else _from_dns(host)
    if port.isdecimal():
        return Question(text, service=name, port=_number(port, host), protocol=protocol)
    return Question(text, service=name, port_name=port, protocol=protocol)


def _labels(parts: list[str]) -> list[str]:
    return [label for part in parts for label in part.split(".")]


def _from_dns(host: str) -> str:
    """`web.shop.svc.cluster.local`, as programs write it, is shop/web."""
    name, _, rest = host.partition(".")
    namespace, _, domain = rest.partition(".")
    if domain and not f"{domain}.".startswith("svc."):
        _refuse(f"{host!r} is not the name of a Service, and names are not looked up here", "1.1.1.1:443")
    return f"{namespace}/{name}" if namespace else name


def _number(port: str, host: str) -> int:
    number = int(port) if len(port) < 10 else 0
    if not 0 < number <= _LAST_PORT:
        _refuse(f"{port} is not a port; ports are 1 to {_LAST_PORT}", f"{host}:80")
    return number


def _refuse(problem: str, example: str) -> NoReturn:
    raise Unclear(problem, example)
