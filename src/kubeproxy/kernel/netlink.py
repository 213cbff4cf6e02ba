"""The netlink hand: one socket per conversation, and the questions and orders we have for the kernel.

A socket speaks to the network namespace of the thread that opens it, so none is kept between calls; opening
one costs less than the answer to any of these questions. All of them block for as long as the kernel works.
"""

import errno
import itertools
import os
import socket
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self, TypeVar

from kubeproxy.kernel.errors import KernelError
from kubeproxy.wire import conntrack, nfacct, nfdelete, nfquery, rtnetlink
from kubeproxy.wire.conntrack import Flow
from kubeproxy.wire.netlink import (
    Ack,
    Data,
    Flag,
    Frame,
    Kind,
    Protocol,
    Request,
    WireError,
    frames,
    read_ack,
)
from kubeproxy.wire.nfacct import Counter
from kubeproxy.wire.nfdelete import DeleteTable
from kubeproxy.wire.nfquery import BaseRule, Chain
from kubeproxy.wire.rtnetlink import LocalAddress

_T = TypeVar("_T")
Reader = Callable[[Data, Frame], _T]

_SOL_NETLINK: Final = 270
_OPTION_CAP_ACK: Final = 10
_OPTION_EXT_ACK: Final = 11
_BUFFER: Final = 65536  # the kernel fills at most 32 KiB of a dump into one datagram
_TIMEOUT: Final = 10.0
_ATTEMPTS: Final = 5
_BATCH: Final = 64


class Interrupted(KernelError):
    """What was being read changed meanwhile, every time; `items` is what the last attempt saw."""

    def __init__(self, thing: str, items: list[object]) -> None:
        problem = f"changed while it was being read, {_ATTEMPTS} times in a row"
        super().__init__(thing, problem, errno=errno.EINTR)
        self.items = items


class NetlinkSocket:
    """A conversation with one part of the kernel; sends requests and collects what belongs to them."""

    def __init__(self, protocol: Protocol) -> None:
        with refusals(f"netlink socket ({protocol.name.lower()})"):
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
            self._socket.setsockopt(_SOL_NETLINK, _OPTION_CAP_ACK, 1)
            self._socket.setsockopt(_SOL_NETLINK, _OPTION_EXT_ACK, 1)
            self._socket.settimeout(_TIMEOUT)
            self._socket.bind((0, 0))
        self._sequence = itertools.count(1)
        self._buffer = bytearray(_BUFFER)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def ask(self, request: Request, read: Reader[_T]) -> _T:
        """One question with one answer."""
        with refusals(request.thing):
            for frame in self._answers(self._send([request])):
                if frame.kind == Kind.ERROR:
                    raise _refused(request, read_ack(self._buffer, frame))
                return read(self._buffer, frame)
        raise KernelError(request.thing, "the kernel did not answer")

    def order(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Ack]]:
        """Carry out many requests, some at a time; each is answered, and one refusal stops no other."""
        waiting = iter(requests)
        while batch := list(itertools.islice(waiting, _BATCH)):
            yield from self._order_batch(batch)

    def dump(self, request: Request, read: Reader[_T | None]) -> list[_T]:
        """All that matches, as it was at one moment: read again when it changed meanwhile."""
        items: list[_T] = []
        for _ in range(_ATTEMPTS):
            with refusals(request.thing):
                items, complete = self._dump_once(request, read)
            if complete:
                return items
        raise Interrupted(request.thing, list(items))

    def _order_batch(self, batch: list[Request]) -> list[tuple[Request, Ack]]:
        with refusals(batch[0].thing):
            sequences = self._send(batch)
            return [
                (batch[frame.sequence - sequences.start], read_ack(self._buffer, frame))
                for frame in self._answers(sequences)
                if frame.kind == Kind.ERROR
            ]

    def _dump_once(self, request: Request, read: Reader[_T | None]) -> tuple[list[_T], bool]:
        items: list[_T] = []
        complete = True
        for frame in self._answers(self._send([request])):
            if frame.flags & Flag.DUMP_INTR:
                complete = False
            if frame.kind in (Kind.ERROR, Kind.DONE):
                ack = read_ack(self._buffer, frame)
                if ack.errno not in (0, errno.EINTR):
                    raise _refused(request, ack)
                return items, complete and ack.errno == 0
            item = read(self._buffer, frame)
            if item is not None:
                items.append(item)
        raise KernelError(request.thing, "the kernel's answer has no end")

    def _send(self, requests: list[Request]) -> range:
        first = next(self._sequence)
        sequences = range(first, first + len(requests))
        for _ in requests[1:]:
            next(self._sequence)
        self._socket.send(
            b"".join(request.encode(number) for request, number in zip(requests, sequences, strict=True))
        )
        return sequences

    def _answers(self, sequences: range) -> Generator[Frame, None, None]:
        """Messages that belong to these requests, until each of them is finished or the caller stops."""
        unfinished = len(sequences)
        while unfinished:
            size, _, flags, sender = self._socket.recvmsg_into([self._buffer])
            if flags & socket.MSG_TRUNC:
                raise WireError("netlink answer", f"longer than {_BUFFER} bytes")
            if sender[0] != 0:
                continue  # not the kernel: any process may send to a netlink port
            for frame in frames(self._buffer, size):
                if frame.sequence in sequences:
                    yield frame
                    unfinished -= frame.kind in (Kind.ERROR, Kind.DONE)


@contextmanager
def refusals(thing: str) -> Iterator[None]:
    """Whatever goes wrong inside is told as a KernelError about the thing."""
    try:
        yield
    except TimeoutError as error:
        problem = f"the kernel did not answer within {_TIMEOUT:.0f} s"
        raise KernelError(thing, problem, errno=errno.ETIMEDOUT) from error
    except OSError as error:
        raise _kernel_error(thing, error.errno or 0) from error
    except WireError as error:
        raise KernelError(thing, f"the kernel's answer was not understood: {error}") from error


def _refused(request: Request, ack: Ack) -> KernelError:
    return _kernel_error(request.thing, ack.errno, ack.words)


def _kernel_error(thing: str, number: int, words: str = "") -> KernelError:
    problem = f"{os.strerror(number)}: {words}" if words else os.strerror(number)
    remedy = "CAP_NET_ADMIN is needed" if number in (errno.EPERM, errno.EACCES) else ""
    return KernelError(thing, problem, errno=number, remedy=remedy)


def local_addresses() -> tuple[LocalAddress, ...]:
    """Every address of this node, both families, in the kernel's order."""
    with NetlinkSocket(Protocol.ROUTE) as netlink:
        names = {
            link.ifindex: link.name for link in netlink.dump(rtnetlink.links_request(), rtnetlink.read_link)
        }
        return tuple(
            netlink.dump(
                rtnetlink.addresses_request(), lambda data, frame: rtnetlink.read_address(data, frame, names)
            )
        )


def udp_flows(family: int, wanted: Callable[[Flow], bool] = lambda _: True) -> tuple[Flow, ...]:
    """The tracked UDP connections of a family that somebody wants to look at.

    A busy node tracks more than fits in our memory budget, so `wanted` is asked while they stream by. A table
    that never holds still long enough is taken as the last attempt saw it.
    """
    reader = conntrack.FlowReader()

    def read(data: Data, frame: Frame) -> Flow | None:
        flow = reader.read(data, frame)
        return flow if flow is not None and flow.family == family and wanted(flow) else None

    with NetlinkSocket(Protocol.NETFILTER) as netlink:
        try:
            return tuple(netlink.dump(conntrack.dump_request(family), read))
        except Interrupted as error:
            return tuple(item for item in error.items if isinstance(item, Flow))
        except KernelError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
        return tuple(netlink.dump(conntrack.unfiltered_dump_request(family), read))


def delete_flows(flows: Iterable[Flow]) -> int:
    """Forget these connections; tells how many are gone, those included that went by themselves."""
    gone = 0
    refused: KernelError | None = None
    with NetlinkSocket(Protocol.NETFILTER) as netlink:
        for request, ack in netlink.order(conntrack.delete_request(flow) for flow in flows):
            if ack.errno in (0, errno.ENOENT):
                gone += 1
            else:
                refused = refused or _refused(request, ack)
    if refused is not None:
        raise refused
    return gone


def ensure_counter(name: str) -> None:
    """Make a packet counter exist; it may appear between looking and making."""
    if counter(name) is not None:
        return
    with NetlinkSocket(Protocol.NETFILTER) as netlink:
        for request, ack in netlink.order([nfacct.new_request(name)]):
            if ack.errno not in (0, errno.EBUSY, errno.EEXIST):
                raise _refused(request, ack)


def counter(name: str) -> Counter | None:
    """What a packet counter has seen, or None when there is none of the name."""
    return _ask_if_exists(nfacct.get_request(name), nfacct.read_counter)


def counters_available() -> bool:
    """Whether this kernel has packet counters and lets us use them."""
    try:
        counter("availability_probe")
    except KernelError:
        return False
    return True


def base_chain_jumps(family: int, table: str, chain: str) -> tuple[BaseRule, ...]:
    """The rules of one nf_tables chain in order; none when there is no such chain."""
    with NetlinkSocket(Protocol.NETFILTER) as netlink:
        return tuple(netlink.dump(nfquery.rules_request(family, table, chain), nfquery.read_rule))


def chain(family: int, table: str, name: str) -> Chain | None:
    """One nf_tables chain, or None when it or its table does not exist."""
    return _ask_if_exists(nfquery.chain_request(family, table, name), nfquery.read_chain)


def delete_table(op: DeleteTable) -> bool:
    """Whether there was such a table; a kernel without nf_tables has none."""
    with NetlinkSocket(Protocol.NETFILTER) as netlink:
        for request, ack in netlink.order([nfdelete.delete_table_request(op)]):
            if ack.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.EAFNOSUPPORT, errno.EINVAL):
                return False
            if ack.errno:
                raise _refused(request, ack)
    return True


def generation() -> int:
    """The number of the last nf_tables commit in this network namespace."""
    with NetlinkSocket(Protocol.NETFILTER) as netlink:
        return netlink.ask(nfquery.generation_request(), nfquery.read_generation)


def _ask_if_exists(request: Request, read: Reader[_T]) -> _T | None:
    with NetlinkSocket(Protocol.NETFILTER) as netlink:
        try:
            return netlink.ask(request, read)
        except KernelError as error:
            if error.errno != errno.ENOENT:
                raise
            return None
