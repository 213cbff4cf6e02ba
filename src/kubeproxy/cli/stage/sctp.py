"""Just enough SCTP for kernels that have none of their own: an INIT, and the INIT ACK that answers it.

Netfilter follows and rewrites SCTP whether or not the kernel can speak it, so raw packets are enough to
see what becomes of an association's first packet. The greeting travels as the state cookie.

Runs inside the namespaces, in a bare interpreter: the standard library only.
"""

import contextlib
import errno
import random
import socket
import struct
import time
from collections.abc import Iterator
from typing import NamedTuple

SCTP = 132
INIT, INIT_ACK, STATE_COOKIE = 1, 2, 7
HEADER = struct.Struct("!HHII")
#: type, flags, length; tag, window, outbound and inbound streams, first sequence number
CHUNK = struct.Struct("!BBHIIHHI")
WINDOW, STREAMS = 65536, 1
#: a packet that got lost is sent again after so many seconds
AGAIN = 1.0
CASTAGNOLI = 0x82F63B78

# Not in the socket module of Python 3.11.
IP_RECVERR, IPV6_RECVERR = 11, 25


def _table() -> Iterator[int]:
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (CASTAGNOLI if value & 1 else 0)
        yield value


TABLE = tuple(_table())


def checksum(data: bytes) -> int:
    """CRC-32C, in the order of bytes in which SCTP sends it."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return int.from_bytes((value ^ 0xFFFFFFFF).to_bytes(4, "little"), "big")


def packet(ports: tuple[int, int], tag: int, kind: int, own_tag: int, cookie: bytes = b"") -> bytes:
    """An INIT or an INIT ACK; the latter has a cookie."""
    parameter = struct.pack("!HH", STATE_COOKIE, 4 + len(cookie)) + cookie if cookie else b""
    length = CHUNK.size + len(parameter)
    chunk = CHUNK.pack(kind, 0, length, own_tag, WINDOW, STREAMS, STREAMS, own_tag) + parameter
    chunk += bytes(-len(chunk) % 4)
    bare = HEADER.pack(*ports, tag, 0) + chunk
    return HEADER.pack(*ports, tag, checksum(bare)) + chunk


class Heard(NamedTuple):
    """The ports of a packet, and its first chunk."""

    source: int
    destination: int
    kind: int
    tag: int
    cookie: bytes


def parse(data: bytes) -> Heard | None:
    """The first chunk of a packet, if it is one of ours."""
    if len(data) < HEADER.size + CHUNK.size:
        return None
    source, destination, _, _ = HEADER.unpack_from(data)
    kind, _, length, own_tag, *_ = CHUNK.unpack_from(data, HEADER.size)
    cookie = data[HEADER.size + CHUNK.size + 4 : HEADER.size + length]
    return Heard(source, destination, kind, own_tag, cookie)


def raw(family: int) -> socket.socket:
    """A socket for SCTP packets without a kernel that understands them."""
    return socket.socket(family, socket.SOCK_RAW, SCTP)


def payload(data: bytes, family: int) -> bytes:
    """IPv4 hands the header to raw sockets, IPv6 does not."""
    return data[(data[0] & 15) * 4 :] if family == socket.AF_INET else data


def answer(data: bytes, port: int, greeting: bytes) -> bytes | None:
    """What a server on this port says to a packet; None for anything but an INIT for it."""
    heard = parse(data)
    if heard is None or (heard.destination, heard.kind) != (port, INIT):
        return None
    return packet((port, heard.source), heard.tag, INIT_ACK, _tag(), greeting)


def source_port(data: bytes) -> int:
    """Where a packet came from."""
    return int.from_bytes(data[:2], "big")


def knock(sock: socket.socket, port: int, timeout: float) -> str:
    """Sends an INIT over a connected raw socket, again and again; the greeting in the answer, or OSError."""
    own = random.randrange(20000, 60000)
    init = packet((own, port), 0, INIT, _tag())
    sock.setsockopt(*_recverr(sock.family), 1)
    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        _send(sock, init, own)
        with contextlib.suppress(TimeoutError):
            return _greeting(sock, port, own, min(left, AGAIN))
    raise TimeoutError


def _send(sock: socket.socket, init: bytes, own: int) -> None:
    try:
        sock.send(init)
    except PermissionError:
        # Stopped on this very machine: the error queue knows whether by refusing.
        refused = _meant_for(own, sock)
        raise OSError(errno.ECONNREFUSED if refused else errno.EPERM, "stopped here") from None


def _greeting(sock: socket.socket, port: int, own: int, timeout: float) -> str:
    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            heard = parse(payload(sock.recv(4096), sock.family))
        except ConnectionRefusedError:
            if _meant_for(own, sock):
                raise
            continue
        if heard is not None and heard[:3] == (port, own, INIT_ACK):
            return heard.cookie.decode()
    raise TimeoutError


def _recverr(family: int) -> tuple[int, int]:
    six = family == socket.AF_INET6
    return (socket.IPPROTO_IPV6, IPV6_RECVERR) if six else (socket.IPPROTO_IP, IP_RECVERR)


def _meant_for(port: int, sock: socket.socket) -> bool:
    """Every raw socket of the address hears of a refusal: was it our packet that was refused?"""
    try:
        data, *_ = sock.recvmsg(4096, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    return source_port(data) == port


def _tag() -> int:
    return random.randrange(1, 2**32)


def spoken() -> bool:
    """Whether the kernel speaks SCTP itself."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, SCTP).close()
    except OSError:
        return False
    return True
