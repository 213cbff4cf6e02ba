"""What is said to a SOCKS5 proxy, and what its answers mean."""

from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Final

from msgspec import Struct

from kubeproxy.sources.http.url import Url

_NO_LOGIN: Final = 0
_LOGIN: Final = 2
_REPLIES: Final = {
    1: "general failure",
    2: "not allowed",
    3: "network is unreachable",
    4: "host is unreachable",
    5: "connection refused",
    6: "time to live expired",
    7: "command not supported",
    8: "kind of address not supported",
}


class Step(Struct, frozen=True):
    """Bytes to send, how many to expect, and what is wrong with these, if anything."""

    sent: bytes
    expects: int
    complaint: Callable[[bytes], str]


def socks_request(proxy: Url, server: Url) -> Iterator[Step]:
    """Everything up to the start of the last reply, whose length its fifth byte tells."""
    method = _LOGIN if proxy.user else _NO_LOGIN
    yield Step(bytes((5, 1, method)), 2, lambda got: "" if got == bytes((5, method)) else "login refused")
    if proxy.user:
        user, password = proxy.user.encode()[:255], proxy.password.encode()[:255]
        login = bytes((1, len(user))) + user + bytes((len(password),)) + password
        yield Step(login, 2, lambda got: "" if got[1] == 0 else "user or password refused")
    yield Step(b"\x05\x01\x00" + _address(server.host) + server.port.to_bytes(2, "big"), 5, _reply)


def socks_reply_length(start: bytes) -> int:
    """How long the last reply is, given its first five bytes."""
    return {1: 10, 4: 22}.get(start[3], 7 + start[4])


def _reply(got: bytes) -> str:
    if got[0] != 5:
        return "it does not answer as a SOCKS proxy does"
    return "" if got[1] == 0 else _REPLIES.get(got[1], f"error {got[1]}")


def _address(host: str) -> bytes:
    """An address as such, a name as a name: the proxy may know names that we do not."""
    try:
        address = ip_address(host)
    except ValueError:
        name = host.encode("idna")
        return bytes((3, len(name))) + name
    return bytes((1 if address.version == 4 else 4,)) + address.packed
