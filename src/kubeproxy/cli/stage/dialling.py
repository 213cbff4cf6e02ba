"""The dialler in a room: one short connection, and what became of it.

Runs inside the namespaces, in a bare interpreter: the standard library only. A dial is a dict with
`to`, `port`, `protocol`, and perhaps `source`, `source_port`, `timeout` and `path`; its result is a dict with
`outcome`, and for one that arrived `name`, `at` and `sees`.
"""

import contextlib
import errno
import os
import re
import select
import socket
import struct
import sys
import time
from typing import Any

from kubeproxy.cli.stage import sctp
from kubeproxy.cli.stage.echo import HOLD

ARRIVED, REFUSED, SILENT, UNREACHABLE = "arrived", "refused", "silent", "unreachable"
SAID = re.compile(r"(?P<name>\S+) at (?P<at>\S+) sees (?P<sees>\S+)\n\Z")
#: a reset instead of a farewell: thousands of connections must not use up the ports
NO_LINGER = struct.pack("ii", 1, 0)

# Not in the socket module of Python 3.11.
IP_RECVERR, IPV6_RECVERR = 11, 25
_RECVERR = {
    socket.AF_INET: (socket.IPPROTO_IP, IP_RECVERR),
    socket.AF_INET6: (socket.IPPROTO_IPV6, IPV6_RECVERR),
}

#: what the kernel says when a packet does not get through
MEANING = {
    errno.ECONNREFUSED: REFUSED,
    errno.ECONNRESET: REFUSED,
    # Of a protocol that nobody speaks there.
    errno.ENOPROTOOPT: REFUSED,
    errno.EPROTO: REFUSED,
    errno.EHOSTUNREACH: UNREACHABLE,
    errno.ENETUNREACH: UNREACHABLE,
    errno.EACCES: UNREACHABLE,
    errno.ETIMEDOUT: SILENT,
    # Somebody's firewall on the way out.
    errno.EPERM: SILENT,
}


def dial(question: dict[str, Any]) -> dict[str, Any]:
    """One connection, or one datagram and its answer."""
    began = time.monotonic_ns()
    try:
        answer = heard(_exchange(question))
    except TimeoutError:
        answer = {"outcome": SILENT}
    except OSError as error:
        answer = {"outcome": MEANING.get(error.errno or 0, "failed"), "error": str(error)}
    ended = time.monotonic_ns()
    return {**answer, "began": began, "ended": ended}


def heard(text: str) -> dict[str, Any]:
    """Reads an answer; one that is no greeting (of an HTTP server, say) is kept as it is."""
    if said := SAID.search(text):
        return {"outcome": ARRIVED, **said.groupdict()}
    return {"outcome": ARRIVED, "text": text}


def hold(question: dict[str, Any]) -> socket.socket:
    """A connection that stays open: see `say`."""
    sock = _connected(question, socket.SOCK_STREAM, 0)
    say(sock)
    return sock


def say(sock: socket.socket) -> str:
    """One line over a held connection, and the answer; raises OSError when it is dead."""
    sock.sendall(HOLD + b"\n")
    answer = sock.recv(4096).decode()
    if not answer:
        raise ConnectionResetError("closed by the other side")
    return answer


def _exchange(question: dict[str, Any]) -> str:
    protocol = question.get("protocol", "TCP")
    if protocol == "UDP":
        return _datagram(question)
    if protocol == "ICMP":
        return _ping(question)
    if protocol == "SCTP" and not sctp.spoken():
        with _connected({**question, "port": 0}, socket.SOCK_RAW, sctp.SCTP) as sock:
            return sctp.knock(sock, question["port"], question.get("timeout", 3.0))
    with _connected(question, socket.SOCK_STREAM, sctp.SCTP if protocol == "SCTP" else 0) as sock:
        sock.sendall(f"GET {question.get('path', '/')} HTTP/1.0\r\n\r\n".encode())
        return _everything(sock)


def _datagram(question: dict[str, Any]) -> str:
    with _connected(question, socket.SOCK_DGRAM, 0) as sock:
        # Without asking, a UDP socket is told only that a port is closed, not that a host is away.
        level, option = _RECVERR[sock.family]
        sock.setsockopt(level, option, 1)
        # A refusal on this very machine stops the packet and is reported by the next call.
        with contextlib.suppress(PermissionError):
            sock.send(b"who\n")
            return sock.recv(4096).decode()
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            return sock.recv(4096).decode()
        raise TimeoutError


def _ping(question: dict[str, Any]) -> str:
    """An echo request; its answer names nobody, as it is the kernel that gives it."""
    six = ":" in question["to"]
    kind = socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP
    with _connected({**question, "port": 0}, socket.SOCK_DGRAM, kind) as sock:
        sock.send(bytes([128 if six else 8, 0, 0, 0, 0, 0, 0, 1]))
        sock.recv(4096)
        return "pong"


def _everything(sock: socket.socket) -> str:
    said = b""
    while part := sock.recv(65536):
        said += part
    return said.decode(errors="replace")


def _connected(question: dict[str, Any], kind: int, protocol: int) -> socket.socket:
    six = ":" in question["to"]
    timeout = question.get("timeout", 3.0)
    sock = socket.socket(socket.AF_INET6 if six else socket.AF_INET, kind, protocol)
    try:
        if kind == socket.SOCK_STREAM:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        source, source_port = question.get("source", ""), question.get("source_port", 0)
        if source or source_port:
            sock.bind((source, source_port))
        if six and kind == socket.SOCK_STREAM:
            _connect_hearing_refusals(sock, (question["to"], question["port"]), timeout)
        sock.settimeout(timeout)
        if not six or kind != socket.SOCK_STREAM:
            sock.connect((question["to"], question["port"]))
    except BaseException:
        sock.close()
        raise
    return sock


def _connect_hearing_refusals(sock: socket.socket, to: tuple[str, int], timeout: float) -> None:
    """Connects over IPv6 and listens to the socket's error queue meanwhile.

    Between namespaces of one machine a refusal by ICMPv6 is there before connect() has let go of
    the socket. Linux then believes it only when it has come a second time, a second later; the
    error queue has it at once.
    """
    sock.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVERR, 1)
    sock.setblocking(False)
    error = sock.connect_ex(to)
    if error == errno.EINPROGRESS:
        waiting = select.poll()
        waiting.register(sock, select.POLLOUT)
        if not waiting.poll(timeout * 1000):
            raise TimeoutError
        error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or _refusal(sock)
    if error:
        raise OSError(error, os.strerror(error))


def _refusal(sock: socket.socket) -> int:
    """The errno of what came by ICMPv6, or 0."""
    try:
        _, notes, _, _ = sock.recvmsg(1, 512, socket.MSG_ERRQUEUE)
    except BlockingIOError:
        return 0
    return int.from_bytes(notes[0][2][:4], sys.byteorder) if notes else 0
