"""The servers in a room: whoever dials is told who answered, at which address, and whom it saw.

Runs inside the namespaces, in a bare interpreter: the standard library only.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

from kubeproxy.cli.stage import sctp

#: what was said, at which address, by whom (address, port) → what to say
Reply = Callable[[bytes, str, str, int], bytes | None]
#: what a plain HTTP client such as curl gets to see
HTTP = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{}"
#: a client that starts with this keeps the connection, and each further line is answered
HOLD = b"hold"
PATIENCE = 10.0

# Not in the socket module of Python 3.11.
IP_PKTINFO, IPV6_RECVPKTINFO, IPV6_PKTINFO, IPV6_FREEBIND = 8, 49, 50, 78


def spelled(address: str, port: int) -> str:
    """address:port as Kubernetes prints it."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def greeting(name: str, own: tuple[str, int], peer: tuple[str, int]) -> str:
    """What a server says: read back by `dialling.heard`."""
    return f"{name} at {spelled(*own)} sees {spelled(*peer)}\n"


def serve(name: str, protocol: str, port: int) -> None:
    """Listens for one protocol on one port of every address, for as long as the process lives."""
    for family in families():
        if protocol == "UDP":
            sock = _bound(family, socket.SOCK_DGRAM, 0, port)
            _start(_answer_datagrams, sock, _greets(name, port))
        elif protocol == "SCTP" and not sctp.spoken():
            _start(_answer_datagrams, sctp.raw(family), _associates(name, port, family))
        else:
            sock = _bound(family, socket.SOCK_STREAM, sctp.SCTP if protocol == "SCTP" else 0, port)
            sock.listen(4096)
            _start(_accept, name, sock)


def families() -> list[socket.AddressFamily]:
    """The IP families this kernel has."""
    found = [socket.AF_INET]
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM):
        found.append(socket.AF_INET6)
    return found


def _start(target: object, *args: object) -> None:
    threading.Thread(target=target, args=args, daemon=True).start()  # type: ignore[arg-type]


def _bound(family: int, kind: int, protocol: int, port: int) -> socket.socket:
    sock = socket.socket(family, kind, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind(("", port))
    return sock


def _accept(name: str, listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        _start(_answer, name, connection)


def _answer(name: str, connection: socket.socket) -> None:
    # A client that goes away in the middle is its own business.
    with connection, contextlib.suppress(OSError):
        connection.settimeout(PATIENCE)
        asked = connection.recv(4096)
        text = greeting(name, connection.getsockname()[:2], connection.getpeername()[:2])
        if not asked.startswith(HOLD):
            connection.sendall(HTTP.format(len(text), text).encode())
            return
        connection.settimeout(None)
        while asked:
            connection.sendall(text.encode())
            asked = connection.recv(4096)


def _greets(name: str, port: int) -> Reply:
    def reply(data: bytes, own: str, peer: str, peer_port: int) -> bytes:
        return greeting(name, (own, port), (peer, peer_port)).encode()

    return reply


def _associates(name: str, port: int, family: int) -> Reply:
    def reply(data: bytes, own: str, peer: str, peer_port: int) -> bytes | None:
        asked = sctp.payload(data, family)
        text = greeting(name, (own, port), (peer, sctp.source_port(asked)))
        return sctp.answer(asked, port, text.encode())

    return reply


def _answer_datagrams(sock: socket.socket, reply: Reply) -> None:
    """Answers from the very address that was dialled: with several of them the kernel would pick its own."""
    four = sock.family == socket.AF_INET
    if four:
        sock.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
        # A whole network may be routed here; the kernel lets nobody send as an address of it otherwise.
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    while True:
        # A refusal of an earlier answer is reported here: not this client's concern.
        with contextlib.suppress(OSError):
            data, notes, _, peer = sock.recvmsg(4096, 128)
            own, note = _dialled(notes, four)
            if said := reply(data, own, peer[0], peer[1]):
                sock.sendmsg([said], [note], 0, peer)


def _dialled(notes: list[tuple[int, int, bytes]], four: bool) -> tuple[str, tuple[int, int, bytes]]:
    data = notes[0][2]
    if four:
        address = data[8:12]  # struct in_pktinfo: interface, local address, destination of the header
        return socket.inet_ntop(socket.AF_INET, address), (
            socket.IPPROTO_IP,
            IP_PKTINFO,
            struct.pack("=I4s4s", 0, address, bytes(4)),
        )
    address = data[:16]
    return socket.inet_ntop(socket.AF_INET6, address), (
        socket.IPPROTO_IPV6,
        IPV6_PKTINFO,
        address + bytes(4),
    )
