"""The listeners on an event loop, with announcements pushed through a pair of sockets."""

import asyncio
import errno
import socket
from types import SimpleNamespace

import pytest

from kubeproxy.kernel import listen
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.listen import AddressWatch, RulesetWatch
from kubeproxy.wire.netlink import (
    AF_INET,
    Doubt,
    attribute,
    attribute_be32,
    attribute_text,
    message,
    nfgenmsg,
)
from kubeproxy.wire.nfnotify import Happened, RulesetChange, Thing, Transaction
from kubeproxy.wire.rtnetlink import AddressChange, LocalAddress
from kubeproxy.wire.rtnetlink import Happened as HappenedToAddress

ADDRESS = message(20, 0, 0, bytes([2, 24, 0, 0, 3, 0, 0, 0]) + attribute(2, b"\xc0\x00\x02\x01"))
NEW_TABLE = message(0x0A00, 0, 0, nfgenmsg(AF_INET) + attribute_text(1, "nat"), 7)
COMMIT = message(0x0A0F, 0, 0, nfgenmsg(0) + attribute_be32(1, 5), 7)
TABLE = RulesetChange(Happened.ADDED, Thing.TABLE, AF_INET, "nat")


class Announcer:
    """A socket as the listener would have opened it; what the test queues is what arrives."""

    def __init__(self, *_):
        self.mine, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.mine.setblocking(False)
        self.arriving = []
        self.room = None
        self.refuse_room = False

    def queue(self, *arriving):
        self.arriving.extend(arriving)
        self.theirs.send(b"!")

    def recvmsg_into(self, buffers):
        if not self.arriving:
            self.mine.recv(1)
            raise BlockingIOError
        first = self.arriving.pop(0)
        if isinstance(first, OSError):
            raise first
        data, flags, sender = first if isinstance(first, tuple) else (first, 0, (0, 0))
        buffers[0][: len(data)] = data
        return len(data), [], flags, sender

    def setsockopt(self, _, option, value):
        if option == listen._SO_RCVBUFFORCE and self.refuse_room:
            raise PermissionError
        if option in (listen._SO_RCVBUFFORCE, socket.SO_RCVBUF):
            self.room = (option, value)

    def bind(self, _):
        pass

    def fileno(self):
        return self.mine.fileno()

    def close(self):
        self.mine.close()
        self.theirs.close()


@pytest.fixture
def announcer(monkeypatch):
    stand_in = Announcer()
    monkeypatch.setattr(listen, "socket", SimpleNamespace(**{**vars(socket), "socket": lambda *_: stand_in}))
    return stand_in


def hear(watch, heard, announcer, *arriving, count):
    """What a listener passes on until it has called `count` times."""

    async def listening():
        enough = asyncio.Event()
        watch(lambda news: (heard.append(news), len(heard) >= count and enough.set())).start()
        announcer.queue(*arriving)
        await asyncio.wait_for(enough.wait(), 5)

    asyncio.run(listening())
    return heard


def test_addresses_that_change_together_are_told_together(announcer):
    change = AddressChange(HappenedToAddress.ADDED, LocalAddress(AF_INET, "192.0.2.1", 24, 3, "", 0))
    assert hear(AddressWatch, [], announcer, ADDRESS, ADDRESS, count=1) == [(change, change)]


def test_lost_announcements_of_addresses_are_a_doubt_among_the_news(announcer):
    lost = OSError(errno.ENOBUFS, "no room")
    assert hear(AddressWatch, [], announcer, lost, count=1) == [
        (Doubt("announcements came faster than they were read"),)
    ]


def test_a_commit_is_told_when_it_is_whole(announcer):
    assert hear(RulesetWatch, [], announcer, NEW_TABLE, COMMIT, count=1) == [
        Transaction(5, 7, 0, "", (TABLE,))
    ]


def test_after_a_loss_the_half_that_remains_is_not_taken_for_a_whole(announcer):
    """The doubt says that something happened; the rest of that commit would say too little."""
    heard = hear(RulesetWatch, [], announcer, NEW_TABLE, OSError(errno.ENOBUFS, "x"), count=1)
    assert heard == [Doubt("announcements came faster than they were read")]


def test_a_loss_is_told_when_nothing_waits_any_more(announcer):
    """Until then the kernel drops what happens, and does not say so again: a reading would come too early."""
    lost = OSError(errno.ENOBUFS, "no room")
    assert hear(RulesetWatch, [], announcer, lost, NEW_TABLE, COMMIT, count=2) == [
        Transaction(5, 7, 0, "", (TABLE,)),
        Doubt("announcements came faster than they were read"),
    ]


@pytest.mark.parametrize(
    "arriving, why",
    [
        ((b"\x01\x02", 0, (0, 0)), "an announcement was not understood: netlink message: 2 bytes left"),
        ((b"", socket.MSG_TRUNC, (0, 0)), "an announcement is longer than 65536 bytes"),
        (OSError(errno.EIO, "x"), "Input/output error"),
    ],
)
def test_whatever_else_goes_wrong_is_a_doubt_too(announcer, arriving, why):
    (doubt,) = hear(RulesetWatch, [], announcer, arriving, count=1)
    assert isinstance(doubt, Doubt) and doubt.why.startswith(why)


def test_strangers_cannot_announce_anything(announcer):
    stranger = (NEW_TABLE, 0, (4711, 0))
    assert hear(RulesetWatch, [], announcer, stranger, COMMIT, count=1) == [Transaction(5, 7, 0, "", ())]


def test_without_the_right_to_more_room_the_usual_limit_must_do(announcer):
    announcer.refuse_room = True
    AddressWatch(lambda _: None).close()
    assert announcer.room == (socket.SO_RCVBUF, 1 << 20)


def test_a_closed_listener_is_no_longer_on_the_loop(announcer):
    async def listening():
        watch = RulesetWatch(lambda _: None)
        watch.start()
        number = announcer.fileno()
        watch.close()
        return asyncio.get_running_loop().remove_reader(number)

    assert asyncio.run(listening()) is False
    assert announcer.fileno() == -1


def test_a_group_that_may_not_be_joined_closes_the_socket_again(announcer):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "x")

    announcer.bind = refuse
    with pytest.raises(KernelError, match=r"netlink listener \(netfilter\): Operation not permitted"):
        RulesetWatch(lambda _: None)
    assert announcer.mine.fileno() == -1
