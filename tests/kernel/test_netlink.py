"""The netlink hand against a kernel that answers as the test says: refusals, interruptions, noise."""

import errno
import socket
import struct
from collections import deque
from types import SimpleNamespace

import pytest

from kubeproxy.kernel import netlink
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.netlink import Interrupted, NetlinkSocket
from kubeproxy.wire.conntrack import Flow, delete_request
from kubeproxy.wire.netlink import (
    AF_INET,
    Ack,
    Flag,
    Kind,
    Protocol,
    Request,
    attribute_be64,
    attribute_text,
    frames,
    message,
)

KERNEL = (0, 0)
DUMP = Request("things", 100, b"", Flag.REQUEST | Flag.DUMP)


class ScriptedKernel:
    """Stands where the socket would; each request takes the next answer of the script."""

    def __init__(self, script):
        self.script = deque(script)
        self.asked = []
        self.waiting = deque()

    def send(self, data):
        sequences = [frame.sequence for frame in frames(data, len(data))]
        self.asked.append(data)
        answer = self.script.popleft()
        self.waiting.extend(answer(sequences))
        return len(data)

    def recvmsg_into(self, buffers):
        if not self.waiting:
            raise TimeoutError("timed out")
        datagram, flags, sender = self.waiting.popleft()
        if isinstance(datagram, OSError):
            raise datagram
        buffers[0][: len(datagram)] = datagram
        return len(datagram), [], flags, sender

    def setsockopt(self, *_):
        pass

    settimeout = bind = setsockopt

    def close(self):
        self.closed = True


def open_sockets_as(monkeypatch, stand_in):
    """Only for the hand: the rest of the process keeps its sockets."""
    module = SimpleNamespace(**{**vars(socket), "socket": stand_in})
    monkeypatch.setattr(netlink, "socket", module)


@pytest.fixture
def kernel(monkeypatch):
    """Scripts the kernel of every socket this test opens."""

    def script(*answers):
        scripted = ScriptedKernel(answers)
        open_sockets_as(monkeypatch, lambda *_: scripted)
        return scripted

    return script


def datagrams(*build):
    """An answer of several datagrams from the kernel, each made from the sequence numbers asked with."""
    return lambda numbers: [(make(numbers), 0, KERNEL) for make in build]


def thing(name, flags=Flag.MULTI, kind=101):
    return lambda numbers: message(kind, flags, numbers[0], name.encode())


def done(flags=Flag.MULTI, number=0):
    return lambda numbers: message(Kind.DONE, flags, numbers[0], struct.pack("=i", -number))


def acks(*numbers_and_words):
    """One acknowledgement for each request of the batch, in one datagram."""

    def build(sequences):
        return b"".join(
            ack(sequence, *each) for sequence, each in zip(sequences, numbers_and_words, strict=True)
        )

    return build


def ack(sequence, number, words=""):
    header = struct.pack("=IHHII", 16, 0, 0, sequence, 0)
    flags = Flag.CAPPED | (Flag.ACK_TLVS if words else 0)
    details = attribute_text(1, words) if words else b""
    return message(Kind.ERROR, flags, sequence, struct.pack("=i", -number) + header + details)


def name(data, frame):
    return bytes(data[frame.start : frame.end]).decode()


def test_a_dump_is_collected_over_its_datagrams(kernel):
    kernel(datagrams(thing("a"), lambda n: thing("b")(n) + thing("c")(n), done()))
    with NetlinkSocket(Protocol.ROUTE) as conversation:
        assert conversation.dump(DUMP, name) == ["a", "b", "c"]


def test_an_interrupted_dump_is_read_again_from_the_start(kernel):
    """What the interrupted attempts saw is dropped: half of it may be of before and half of after."""
    interrupted = datagrams(thing("old"), done(Flag.MULTI | Flag.DUMP_INTR))
    by_number = datagrams(thing("older"), done(number=errno.EINTR))
    scripted = kernel(interrupted, by_number, datagrams(thing("new"), done()))
    with NetlinkSocket(Protocol.ROUTE) as conversation:
        assert conversation.dump(DUMP, name) == ["new"]
    assert len(scripted.asked) == 3


def test_five_interruptions_are_enough(kernel):
    interrupted = datagrams(thing("x", Flag.MULTI | Flag.DUMP_INTR), thing("y"), done())
    scripted = kernel(*[interrupted] * 6)
    with NetlinkSocket(Protocol.ROUTE) as conversation, pytest.raises(Interrupted) as refusal:
        conversation.dump(DUMP, name)
    assert (refusal.value.items, refusal.value.errno) == (["x", "y"], errno.EINTR)
    assert str(refusal.value) == "things: changed while it was being read, 5 times in a row"
    assert len(scripted.asked) == 5


def test_strangers_and_answers_to_older_questions_are_not_listened_to(kernel):
    """Any process may send to a netlink port, and an abandoned dump may still be arriving."""

    def noise(numbers):
        return [
            (thing("stranger")(numbers), 0, (4711, 0)),
            (message(101, 2, numbers[0] + 7, b"older"), 0, KERNEL),
            (thing("mine")(numbers), 0, KERNEL),
            (done()(numbers), 0, KERNEL),
        ]

    kernel(noise)
    with NetlinkSocket(Protocol.ROUTE) as conversation:
        assert conversation.dump(DUMP, name) == ["mine"]


def test_a_refusal_keeps_number_and_words(kernel):
    kernel(datagrams(acks((errno.ERANGE, "Attribute failed policy validation"))))
    with NetlinkSocket(Protocol.ROUTE) as conversation, pytest.raises(KernelError) as refusal:
        conversation.ask(Request("thing", 100, b""), name)
    assert refusal.value.errno == errno.ERANGE
    assert str(refusal.value) == "thing: Numerical result out of range: Attribute failed policy validation"


def test_a_refusal_for_lack_of_rights_says_which(kernel):
    kernel(datagrams(acks((errno.EPERM,))))
    with NetlinkSocket(Protocol.ROUTE) as conversation, pytest.raises(KernelError) as refusal:
        conversation.dump(DUMP, name)
    assert str(refusal.value) == "things: Operation not permitted (CAP_NET_ADMIN is needed)"


@pytest.mark.parametrize(
    "arriving, number, words",
    [
        ((OSError(errno.ENOBUFS, "x"), 0, KERNEL), errno.ENOBUFS, "things: No buffer space available"),
        (
            (b"\x01\x00", 0, KERNEL),
            0,
            "things: the kernel's answer was not understood: netlink message: 2 bytes",
        ),
        (
            (b"", socket.MSG_TRUNC, KERNEL),
            0,
            "things: the kernel's answer was not understood: netlink answer: longer",
        ),
        (None, errno.ETIMEDOUT, "things: the kernel did not answer within 10 s"),
    ],
)
def test_whatever_goes_wrong_is_told_about_the_thing(kernel, arriving, number, words):
    kernel(lambda _: [arriving] if arriving else [])
    with NetlinkSocket(Protocol.ROUTE) as conversation, pytest.raises(KernelError) as refusal:
        conversation.dump(DUMP, name)
    assert refusal.value.errno == number
    assert str(refusal.value).startswith(words)


def test_a_socket_that_cannot_be_had_is_told(monkeypatch):
    def none(*_):
        raise OSError(errno.EPROTONOSUPPORT, "no")

    open_sockets_as(monkeypatch, none)
    with pytest.raises(KernelError, match=r"netlink socket \(netfilter\): Protocol not supported"):
        NetlinkSocket(Protocol.NETFILTER)


def test_many_orders_go_together_and_each_has_its_own_answer(kernel):
    """64 to a datagram; a refusal in the middle stops none of the others."""
    requests = [Request(f"order {n}", 100, b"", Flag.REQUEST | Flag.ACK) for n in range(70)]
    first = [(0,)] * 63 + [(errno.EINVAL, "no")]
    scripted = kernel(datagrams(acks(*first)), datagrams(acks(*[(0,)] * 6)))
    with NetlinkSocket(Protocol.NETFILTER) as conversation:
        answers = list(conversation.order(requests))
    assert [request.thing for request, _ in answers] == [f"order {n}" for n in range(70)]
    assert [(n, answer) for n, (_, answer) in enumerate(answers) if answer.errno] == [(63, Ack(22, "no"))]
    assert len(scripted.asked) == 2


FLOWS = tuple(
    Flow(AF_INET, 17, "192.0.2.7", port, "10.96.0.10", 53, "10.244.0.5", 53, "192.0.2.7", port, id=port)
    for port in (1001, 1002, 1003)
)


def entry(flow, flags=Flag.MULTI):
    return lambda numbers: message(0x100, flags, numbers[0], delete_request(flow).payload)


def test_flows_are_looked_at_while_they_stream_by(kernel):
    kernel(datagrams(*[entry(flow) for flow in FLOWS], done()))
    assert netlink.udp_flows(AF_INET, lambda flow: flow.source_port != 1002) == (FLOWS[0], FLOWS[2])


def test_a_flow_table_that_never_holds_still_is_taken_as_last_seen(kernel):
    restless = datagrams(entry(FLOWS[0], Flag.MULTI | Flag.DUMP_INTR), done())
    last = datagrams(entry(FLOWS[1], Flag.MULTI | Flag.DUMP_INTR), done())
    kernel(restless, restless, restless, restless, last)
    assert netlink.udp_flows(AF_INET) == (FLOWS[1],)


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL])
def test_a_kernel_that_refuses_the_filter_is_asked_without(kernel, number):
    scripted = kernel(datagrams(acks((number,))), datagrams(entry(FLOWS[0]), done()))
    assert netlink.udp_flows(AF_INET) == (FLOWS[0],)
    assert [len(data) for data in scripted.asked] == [48, 20]


def test_other_refusals_of_a_dump_are_not_tried_again(kernel):
    scripted = kernel(datagrams(acks((errno.EPERM,))))
    with pytest.raises(KernelError, match="Operation not permitted"):
        netlink.udp_flows(AF_INET)
    assert len(scripted.asked) == 1


def test_a_flow_that_went_by_itself_counts_as_gone(kernel):
    kernel(datagrams(acks((0,), (errno.ENOENT,), (0,))))
    assert netlink.delete_flows(FLOWS) == 3


def test_a_refused_deletion_is_told_after_the_others_were_tried(kernel):
    scripted = kernel(datagrams(acks((errno.EBUSY,), (0,), (0,))))
    with pytest.raises(KernelError) as refusal:
        netlink.delete_flows(FLOWS)
    assert str(refusal.value) == "tracked connection 192.0.2.7 to 10.96.0.10:53: Device or resource busy"
    assert not scripted.script and not scripted.waiting


def test_nothing_to_delete_asks_nothing(kernel):
    scripted = kernel()
    assert netlink.delete_flows(()) == 0
    assert scripted.asked == []


def counted(counter_name):
    payload = bytes(4) + attribute_text(1, counter_name) + attribute_be64(2, 3) + attribute_be64(3, 120)
    return lambda numbers: message(0x700, 0, numbers[0], payload)


def test_a_counter_that_exists_is_left_alone(kernel):
    scripted = kernel(datagrams(counted("drops")))
    netlink.ensure_counter("drops")
    assert len(scripted.asked) == 1


@pytest.mark.parametrize("outcome", [0, errno.EBUSY, errno.EEXIST])
def test_a_missing_counter_is_made_even_if_somebody_was_faster(kernel, outcome):
    scripted = kernel(datagrams(acks((errno.ENOENT,))), datagrams(acks((outcome,))))
    netlink.ensure_counter("drops")
    assert [struct.unpack_from("=H", data, 4)[0] for data in scripted.asked] == [0x701, 0x700]


def test_a_counter_that_cannot_be_made_is_told(kernel):
    kernel(datagrams(acks((errno.ENOENT,))), datagrams(acks((errno.EPERM,))))
    with pytest.raises(KernelError, match="packet counter drops: Operation not permitted"):
        netlink.ensure_counter("drops")


@pytest.mark.parametrize(
    "answer, available",
    [(counted("availability_probe"), True), (acks((errno.ENOENT,)), True), (acks((errno.EINVAL,)), False)],
)
def test_counters_are_available_where_the_kernel_understands_the_question(kernel, answer, available):
    kernel(datagrams(answer))
    assert netlink.counters_available() is available
