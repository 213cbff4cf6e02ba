"""Tracked connections as a 6.18 kernel sends them, and as it wants them named to forget them."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.wire.conntrack import (
    UDP,
    DeleteFlows,
    Flow,
    FlowReader,
    delete_request,
    dump_request,
    unfiltered_dump_request,
)
from kubeproxy.wire.netlink import (
    AF_INET,
    AF_INET6,
    WireError,
    address_text,
    attribute,
    attribute_be32,
    frames,
    message,
)
from kubeproxy.wire.op import Operation

TRANSLATED = (
    "c0 00 00 00 00 01 22 00 01 00 00 00 cd 0f ca cd 02 00 00 00 34 00 01 80 14 00 01 80 08 00 01 00 "
    "c0 00 02 07 08 00 02 00 0a 60 00 0a 1c 00 02 80 05 00 01 00 11 00 00 00 06 00 02 00 9c 40 00 00 "
    "06 00 03 00 00 35 00 00 34 00 02 80 14 00 01 80 08 00 01 00 0a f4 00 05 08 00 02 00 c0 00 02 07 "
    "1c 00 02 80 05 00 01 00 11 00 00 00 06 00 02 00 14 e9 00 00 06 00 03 00 9c 40 00 00 08 00 03 00 "
    "00 00 00 0a 08 00 08 00 00 00 40 00 08 00 0c 00 e5 87 b0 98 08 00 0b 00 00 00 00 01 08 00 07 00 "
    "00 00 00 63 1c 00 18 80 08 00 01 00 00 00 00 00 08 00 02 00 00 00 00 00 08 00 03 00 00 00 00 00"
)
ZONE_ON_THE_ORIGINAL = (
    "c8 00 00 00 00 01 22 00 01 00 00 00 cd 0f ca cd 02 00 00 00 3c 00 01 80 14 00 01 80 08 00 01 00 "
    "c0 00 02 08 08 00 02 00 0a 60 00 0a 1c 00 02 80 05 00 01 00 11 00 00 00 06 00 02 00 9c 41 00 00 "
    "06 00 03 00 00 35 00 00 06 00 03 00 00 07 00 00 34 00 02 80 14 00 01 80 08 00 01 00 0a 60 00 0a "
    "08 00 02 00 c0 00 02 08 1c 00 02 80 05 00 01 00 11 00 00 00 06 00 02 00 00 35 00 00 06 00 03 00 "
    "9c 41 00 00 08 00 03 00 00 00 00 0a 08 00 08 00 00 00 00 00 08 00 0c 00 52 37 3e 1e 08 00 0b 00 "
    "00 00 00 01 08 00 07 00 00 00 00 63 1c 00 18 80 08 00 01 00 00 00 00 00 08 00 02 00 00 00 00 00 "
    "08 00 03 00 00 00 00 00"
)
TCP_IN_A_ZONE = (
    "f8 00 00 00 00 01 22 00 01 00 00 00 cd 0f ca cd 02 00 00 00 34 00 01 80 14 00 01 80 08 00 01 00 "
    "c0 00 02 08 08 00 02 00 0a 60 00 0a 1c 00 02 80 05 00 01 00 06 00 00 00 06 00 02 00 9c 41 00 00 "
    "06 00 03 00 00 35 00 00 34 00 02 80 14 00 01 80 08 00 01 00 0a 60 00 0a 08 00 02 00 c0 00 02 08 "
    "1c 00 02 80 05 00 01 00 06 00 00 00 06 00 02 00 00 35 00 00 06 00 03 00 9c 41 00 00 06 00 12 00 "
    "00 09 00 00 08 00 03 00 00 00 00 0a 08 00 08 00 00 00 00 00 08 00 0c 00 98 da b0 01 08 00 0b 00 "
    "00 00 00 01 08 00 07 00 00 00 00 63 30 00 04 80 2c 00 01 80 05 00 01 00 01 00 00 00 05 00 02 00 "
    "00 00 00 00 05 00 03 00 00 00 00 00 06 00 04 00 0a 00 00 00 06 00 05 00 0a 00 00 00 1c 00 18 80 "
    "08 00 01 00 00 00 00 00 08 00 02 00 00 00 00 00 08 00 03 00 00 00 00 00"
)
PING = (
    "d8 00 00 00 00 01 22 00 01 00 00 00 cd 0f ca cd 02 00 00 00 3c 00 01 80 14 00 01 80 08 00 01 00 "
    "c0 00 02 08 08 00 02 00 0a 60 00 0a 24 00 02 80 05 00 01 00 01 00 00 00 06 00 04 00 00 04 00 00 "
    "05 00 05 00 08 00 00 00 05 00 06 00 00 00 00 00 3c 00 02 80 14 00 01 80 08 00 01 00 0a 60 00 0a "
    "08 00 02 00 c0 00 02 08 24 00 02 80 05 00 01 00 01 00 00 00 06 00 04 00 00 04 00 00 05 00 05 00 "
    "00 00 00 00 05 00 06 00 00 00 00 00 06 00 12 00 00 09 00 00 08 00 03 00 00 00 00 0a 08 00 08 00 "
    "00 00 00 00 08 00 0c 00 7d d0 dc 2a 08 00 0b 00 00 00 00 01 08 00 07 00 00 00 00 64 1c 00 18 80 "
    "08 00 01 00 00 00 00 00 08 00 02 00 00 00 00 00 08 00 03 00 00 00 00 00"
)
IPV6 = (
    "f0 00 00 00 00 01 22 00 01 00 00 00 63 d6 89 df 0a 00 00 00 4c 00 01 80 2c 00 01 80 14 00 03 00 "
    "fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 07 14 00 04 00 fd 00 00 96 00 00 00 00 00 00 00 00 "
    "00 00 00 0a 1c 00 02 80 05 00 01 00 11 00 00 00 06 00 02 00 9c 40 00 00 06 00 03 00 00 35 00 00 "
    "4c 00 02 80 2c 00 01 80 14 00 03 00 fd 00 00 96 00 00 00 00 00 00 00 00 00 00 00 0a 14 00 04 00 "
    "fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 07 1c 00 02 80 05 00 01 00 11 00 00 00 06 00 02 00 "
    "00 35 00 00 06 00 03 00 9c 40 00 00 08 00 03 00 00 00 00 0a 08 00 08 00 00 00 00 00 08 00 0c 00 "
    "c0 f1 19 0b 08 00 0b 00 00 00 00 01 08 00 07 00 00 00 00 63 1c 00 18 80 08 00 01 00 00 00 00 00 "
    "08 00 02 00 00 00 00 00 08 00 03 00 00 00 00 00"
)
DNS = Flow(
    AF_INET, UDP, "192.0.2.7", 40000, "10.96.0.10", 53, "10.244.0.5", 5353, "192.0.2.7", 40000,
    mark=0x4000, id=0xE587B098,
)  # fmt: skip
ZONED = Flow(
    AF_INET, UDP, "192.0.2.8", 40001, "10.96.0.10", 53, "10.96.0.10", 53, "192.0.2.8", 40001,
    original_zone=7, id=0x52373E1E,
)  # fmt: skip
WEB = Flow(
    AF_INET, 6, "192.0.2.8", 40001, "10.96.0.10", 53, "10.96.0.10", 53, "192.0.2.8", 40001,
    zone=9, id=0x98DAB001,
)  # fmt: skip
DNS6 = Flow(
    AF_INET6, UDP, "fd00::7", 40000, "fd00:96::a", 53, "fd00:96::a", 53, "fd00::7", 40000, id=0xC0F1190B
)  # fmt: skip


def received(text):
    data = bytes.fromhex(text)
    (frame,) = frames(data, len(data))
    return data, frame


@pytest.mark.parametrize(
    "entry, protocol, expected",
    [
        (TRANSLATED, UDP, DNS),
        (ZONE_ON_THE_ORIGINAL, UDP, ZONED),
        (IPV6, UDP, DNS6),
        (TCP_IN_A_ZONE, UDP, None),
        (TCP_IN_A_ZONE, 6, WEB),
        (PING, UDP, None),
        (TRANSLATED, 6, None),
        (ZONE_ON_THE_ORIGINAL, 6, None),
    ],
)
def test_entries_of_the_wanted_protocol_are_read_whole(entry, protocol, expected):
    """The usual layout at once, the others attribute by attribute: nobody can tell which way was taken."""
    assert FlowReader(protocol).read(*received(entry)) == expected


def test_attributes_in_another_order_say_the_same():
    """The fast way is for the order the kernel uses today; tomorrow's is read too."""
    data, frame = received(TRANSLATED)
    original, reply, rest = data[20:72], data[72:124], data[124:]
    other = message(frame.kind, 0, 1, data[16:20] + rest + reply + original)
    (reordered,) = frames(other, len(other))
    assert FlowReader().read(other, reordered) == DNS


def test_an_entry_of_a_family_without_ports_is_passed_over():
    data, frame = received(TRANSLATED)
    bridge = bytearray(data)
    bridge[16] = 7
    assert FlowReader().read(bridge, frame) is None


def test_a_dump_asks_for_one_family_and_one_protocol():
    """The protocol stands in a tuple of its own, and the filter says that only it counts."""
    assert dump_request(AF_INET).encode(1).hex(" ") == (
        "30 00 00 00 01 01 01 03 01 00 00 00 00 00 00 00 02 00 00 00 "
        "10 00 01 80 0c 00 02 80 05 00 01 00 11 00 00 00 "
        "0c 00 19 80 08 00 01 00 08 00 00 00"
    )
    assert unfiltered_dump_request(AF_INET6).encode(1).hex(" ") == (
        "14 00 00 00 01 01 01 03 01 00 00 00 00 00 00 00 0a 00 00 00"
    )


def test_a_deletion_names_both_tuples_and_the_id():
    assert delete_request(DNS).encode(1).hex(" ") == (
        "84 00 00 00 02 01 05 00 01 00 00 00 00 00 00 00 02 00 00 00 "
        "34 00 01 80 14 00 01 80 08 00 01 00 c0 00 02 07 08 00 02 00 0a 60 00 0a "
        "1c 00 02 80 05 00 01 00 11 00 00 00 06 00 02 00 9c 40 00 00 06 00 03 00 00 35 00 00 "
        "34 00 02 80 14 00 01 80 08 00 01 00 0a f4 00 05 08 00 02 00 c0 00 02 07 "
        "1c 00 02 80 05 00 01 00 11 00 00 00 06 00 02 00 14 e9 00 00 06 00 03 00 9c 40 00 00 "
        "08 00 0c 00 e5 87 b0 98"
    )


@pytest.mark.parametrize("entry, protocol", [(TRANSLATED, UDP), (ZONE_ON_THE_ORIGINAL, UDP), (IPV6, UDP)])
def test_a_deletion_repeats_the_tuples_as_the_kernel_wrote_them(entry, protocol):
    data, frame = received(entry)
    flow = FlowReader(protocol).read(data, frame)
    assert flow is not None
    tuples = delete_request(flow).payload[4:-8]
    assert data[20 : 20 + len(tuples)] == tuples


def test_a_deletion_names_the_zone_of_both_directions():
    assert delete_request(WEB).payload.endswith(
        bytes.fromhex("06 00 12 00 00 09 00 00 08 00 0c 00 98 da b0 01")
    )


def test_a_flow_that_cannot_be_named_is_not_deleted():
    """A deletion that lacks its tuple would empty the table."""
    with pytest.raises(WireError, match="address family 7 is neither IPv4 nor IPv6"):
        delete_request(Flow(7, UDP, "", 0, "", 0, "", 0, "", 0))


@pytest.mark.parametrize(
    "payload, complaint",
    [
        (b"\x02", "its fixed part is cut off"),
        (bytes([2, 0, 0, 0]), "one of its two tuples is missing"),
        (bytes([2, 0, 0, 0]) + attribute(1, b"") + attribute(2, b""), "its protocol part is missing"),
    ],
)
def test_an_entry_that_lacks_something_is_refused(payload, complaint):
    data = message(0x100, 0, 1, payload)
    (frame,) = frames(data, len(data))
    with pytest.raises(WireError) as refusal:
        FlowReader().read(data, frame)
    assert refusal.value.problem == complaint


@pytest.mark.parametrize("entry", [TRANSLATED, ZONE_ON_THE_ORIGINAL, IPV6, PING])
def test_an_entry_cut_anywhere_is_read_or_refused(entry):
    whole = bytes.fromhex(entry)
    for size in range(16, len(whole)):
        data = size.to_bytes(4, "little") + whole[4:size]
        (frame,) = frames(data, size)
        try:
            flow = FlowReader().read(data, frame)
        except WireError:
            continue
        assert flow is None or (flow.destination_port, flow.protocol) == (53, UDP)


def test_fifty_thousand_entries_cost_less_than_a_second():
    """A busy node; in processor time, so that a busy test machine does not matter."""
    datagram = b"".join(bytes.fromhex(TRANSLATED if n % 2 else IPV6) for n in range(160))
    reader = FlowReader()
    began = process_time()
    read = sum(
        reader.read(datagram, frame) is not None
        for _ in range(313)
        for frame in frames(datagram, len(datagram))
    )
    assert read == 50080
    assert process_time() - began < 1.0


ports = st.integers(0, 65535)
zones = st.tuples(st.integers(0, 65535), st.just(0), st.just(0)) | st.tuples(
    st.just(0), st.integers(0, 65535), st.integers(0, 65535)
)


@st.composite
def flows(draw):
    family, size = draw(st.sampled_from([(AF_INET, 4), (AF_INET6, 16)]))
    address = st.binary(min_size=size, max_size=size).map(address_text)
    ends = [part for _ in range(4) for part in (draw(address), draw(ports))]
    return Flow(family, UDP, *ends, *draw(zones), 0, draw(st.integers(1, 2**32 - 1)))


@given(flows())
def test_a_deletion_written_is_the_flow_read(flow):
    """Request and entry share their grammar, so what we write must be read back as the same flow."""
    data = delete_request(flow).encode(1)
    (frame,) = frames(data, len(data))
    assert FlowReader().read(data, frame) == flow


@given(st.binary(max_size=160))
def test_noise_does_no_more_harm_than_a_refusal(noise):
    data = message(0x100, 0, 1, bytes([2, 0, 0, 0]) + noise)
    (frame,) = frames(data, len(data))
    try:
        FlowReader().read(data, frame)
    except WireError:
        pass


def test_to_forget_flows_is_something_the_hands_can_do():
    assert isinstance(DeleteFlows((DNS,)), Operation)
    assert attribute_be32(12, DNS.id) in delete_request(DNS).payload
