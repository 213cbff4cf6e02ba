"""Listens to what the kernel announces, on the event loop, without ever blocking it.

A listener that falls behind loses announcements; the kernel says that it happened, not what was lost. It is
passed on as Doubt: somebody has to look.
"""

import asyncio
import contextlib
import errno
import os
import socket
import struct
from collections.abc import Callable, Collection, Container, Iterable
from typing import Final, TypeAlias

from kubeproxy.kernel.netlink import refusals
from kubeproxy.wire import nfnotify, rtnetlink
from kubeproxy.wire.netlink import Doubt, Frame, Protocol, WireError, frames
from kubeproxy.wire.nfnotify import RulesetChange, Transaction, TransactionReader
from kubeproxy.wire.rtnetlink import AddressNews

RulesetNews: TypeAlias = Transaction | Doubt

_SOL_NETLINK: Final = 270
_ADD_MEMBERSHIP: Final = 1
_SO_RCVBUFFORCE: Final = 33
_SO_ATTACH_FILTER: Final = 26
_DATAGRAM: Final = 65536
_A_TURN: Final = 256
"""Datagrams taken before the loop may serve somebody else."""


class _Listener:
    """A non-blocking socket in multicast groups, and the loop that watches it."""

    def __init__(self, protocol: Protocol, groups: Iterable[int], room: int) -> None:
        thing = f"netlink listener ({protocol.name.lower()})"
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        with refusals(thing):
            self._socket = socket.socket(socket.AF_NETLINK, kind, protocol)
        try:
            with refusals(thing):
                _make_room(self._socket, room)
                self._socket.bind((0, 0))
                for group in groups:
                    self._socket.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, group)
        except BaseException:
            self._socket.close()
            raise
        self._buffer = bytearray(_DATAGRAM)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._overrun = False

    def start(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Listen from now on; what was announced since this object was made is waiting already."""
        self._loop = loop or asyncio.get_running_loop()
        self._loop.add_reader(self._socket.fileno(), self._hear)

    def close(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._socket.fileno())
            self._loop = None
        self._socket.close()

    def _hear(self) -> None:
        """Take what has arrived and pass it on; must not raise, as the loop would only log it."""
        for _ in range(_A_TURN):
            try:
                size, _, flags, sender = self._socket.recvmsg_into([self._buffer])
            except BlockingIOError:
                self._emptied()
                break
            except OSError as error:
                if error.errno == errno.ENOBUFS:
                    self._overrun = True
                    continue
                self._lost(os.strerror(error.errno or 0))
                break
            if sender[0] != 0:
                continue  # not the kernel
            if flags & socket.MSG_TRUNC:
                self._lost(f"an announcement is longer than {_DATAGRAM} bytes")
                continue
            self._take(size)
        self._turn_over()

    def _emptied(self) -> None:
        """Nothing waits any more: only now is the loss told of.

        Once it has dropped something, the kernel drops everything until all that waits is taken, and says so
        once. Whoever looked earlier could miss a change that is never announced.
        """
        if self._overrun:
            self._overrun = False
            self._lost("announcements came faster than they were read")

    def _take(self, size: int) -> None:
        try:
            for frame in frames(self._buffer, size):
                self._message(frame)
        except WireError as error:
            self._lost(f"an announcement was not understood: {error}")

    def _message(self, frame: Frame) -> None:
        raise NotImplementedError

    def _lost(self, why: str) -> None:
        raise NotImplementedError

    def _turn_over(self) -> None:
        """Called when everything that had arrived is taken."""


class AddressWatch(_Listener):
    """Tells of changed links and addresses, all that arrived together in one call.

    What a change means is for the listener to read afresh: announcements carry no interface name, and IPv6
    announces every renewed lifetime.
    """

    _GROUPS = (rtnetlink.Group.LINK, rtnetlink.Group.IPV4_ADDRESS, rtnetlink.Group.IPV6_ADDRESS)
    _ROOM = 1 << 20

    def __init__(self, heard: Callable[[tuple[AddressNews, ...]], None]) -> None:
        super().__init__(Protocol.ROUTE, self._GROUPS, self._ROOM)
        self._heard = heard
        self._news: list[AddressNews] = []

    def _message(self, frame: Frame) -> None:
        news = rtnetlink.read_news(self._buffer, frame)
        if news is not None:
            self._news.append(news)

    def _lost(self, why: str) -> None:
        self._news.append(Doubt(why))

    def _turn_over(self) -> None:
        if self._news:
            news, self._news = tuple(self._news), []
            self._heard(news)


class RulesetWatch(_Listener):
    """Tells of each nf_tables commit.

    `own` holds the netlink ports whose changes need no reading; `wanted` says which of others' are worth
    keeping.

    While anybody listens, the kernel makes an announcement for every rule it commits, and a load of a hundred
    thousand rules of our own would overflow any room. So name the ports that are at work with `silence`: what
    they do never comes here, and what others do meanwhile still does. The kernel's own work for the
    announcements remains, a tenth of the time such a load takes.
    """

    # Enough for somebody who flushes a thousand Services at once; the kernel takes it only when it is needed.
    _ROOM = 16 << 20

    def __init__(
        self,
        heard: Callable[[RulesetNews], None],
        own: Container[int] = (),
        wanted: Callable[[RulesetChange], bool] = lambda change: True,
    ) -> None:
        super().__init__(Protocol.NETFILTER, (nfnotify.GROUP,), self._ROOM)
        self._heard = heard
        self._transactions = TransactionReader(own, wanted)

    def silence(self, ports: Collection[int]) -> None:
        """From now on, of what these ports do only their commits are heard; any thread may ask for it.

        Who asks when the watch is closed already, or finds no memory, loses nothing: `own` does the rest.
        """
        with contextlib.suppress(OSError):
            _attach(self._socket, nfnotify.silence(ports))

    def _message(self, frame: Frame) -> None:
        transaction = self._transactions.read(self._buffer, frame)
        if transaction is not None:
            self._heard(transaction)

    def _lost(self, why: str) -> None:
        self._transactions.forget()
        self._heard(Doubt(why))


class CommitWatch(RulesetWatch):
    """Tells who commits and nothing else: so little that it is still heard when all the rest is lost."""

    _ROOM = 1 << 20

    def __init__(self, heard: Callable[[RulesetNews], None]) -> None:
        super().__init__(heard)
        _attach(self._socket, nfnotify.commits_only())


def _attach(listener: socket.socket, program: bytes) -> None:
    """Let the kernel run a filter before anything reaches the socket; the one before is replaced."""
    import ctypes

    memory = ctypes.create_string_buffer(program, len(program))
    where = struct.pack("@HP", len(program) // 8, ctypes.addressof(memory))
    listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, where)


def _make_room(listener: socket.socket, size: int) -> None:
    """Room for announcements beyond the system's limit where we may, within it where we may not."""
    try:
        listener.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, size)
    except PermissionError:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
