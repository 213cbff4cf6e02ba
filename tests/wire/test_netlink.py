"""Messages and attributes byte for byte, and what is said of bytes that do not fit."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.wire.netlink import (
    AF_INET,
    AF_INET6,
    Ack,
    Flag,
    Frame,
    Kind,
    Request,
    WireError,
    address_bytes,
    address_text,
    attribute,
    attribute_be16,
    attribute_be32,
    attribute_be64,
    attribute_native32,
    attribute_spans,
    attribute_text,
    attributes,
    be16,
    be32,
    be64,
    frames,
    message,
    native32,
    nested,
    nfgenmsg,
    read_ack,
    text,
    u8,
)

# Three answers of a 6.18 kernel: a chain that is not there, a request that made no sense to nf_tables, and one
# that routing refused with words.
NO_SUCH_CHAIN = (
    "2c 00 00 00 02 00 00 03 01 00 00 00 c3 88 26 cd fe ff ff ff 28 00 00 00 04 0a 01 00 01 00 00 00 "
    "00 00 00 00 08 00 02 00 1c 00 00 00"
)
NO_SENSE = "24 00 00 00 02 00 00 01 02 00 00 00 c3 88 26 cd ea ff ff ff 1c 00 00 00 0c 0a 01 00 02 00 00 00 00 00 00 00"
WITH_WORDS = (
    "68 00 00 00 02 00 00 03 01 00 00 00 f6 17 00 00 de ff ff ff 44 00 00 00 10 00 05 00 01 00 00 00 "
    "00 00 00 00 27 00 01 00 41 74 74 72 69 62 75 74 65 20 66 61 69 6c 65 64 20 70 6f 6c 69 63 79 20 "
    "76 61 6c 69 64 61 74 69 6f 6e 00 00 08 00 02 00 20 00 00 00 14 00 04 80 08 00 07 00 0f 00 00 00 "
    "08 00 01 00 0b 00 00 00"
)


@pytest.mark.parametrize(
    "built, expected",
    [
        (attribute(7, b"\x01"), "05 00 07 00 01 00 00 00"),
        (attribute(7, b""), "04 00 07 00"),
        (attribute(7, b"\x01\x02\x03\x04"), "08 00 07 00 01 02 03 04"),
        (attribute_text(1, "nat"), "08 00 01 00 6e 61 74 00"),
        (attribute_be16(2, 53), "06 00 02 00 00 35 00 00"),
        (attribute_be32(12, 1), "08 00 0c 00 00 00 00 01"),
        (attribute_be64(3, 2), "0c 00 03 00 00 00 00 00 00 00 00 02"),
        (attribute_native32(29, 8), "08 00 1d 00 08 00 00 00"),
        (nested(2, attribute(1, b"\x11")), "0c 00 02 80 05 00 01 00 11 00 00 00"),
        (nfgenmsg(AF_INET6), "0a 00 00 00"),
        (nfgenmsg(0, 10), "00 00 00 0a"),
    ],
)
def test_pieces_are_written_exactly(built, expected):
    """Lengths leave the padding out, nests are marked, netfilter's numbers are big-endian."""
    assert built.hex(" ") == expected


def test_a_message_carries_its_length_type_and_number():
    request = Request("chain", 0x0A04, nfgenmsg(AF_INET), Flag.REQUEST | Flag.DUMP)
    assert request.encode(7).hex(" ") == "14 00 00 00 04 0a 01 03 07 00 00 00 00 00 00 00 02 00 00 00"


def test_a_message_of_odd_length_is_padded_but_does_not_count_the_padding():
    assert (
        message(3, 0, 1, b"\xff", 9).hex(" ") == "11 00 00 00 03 00 00 00 01 00 00 00 09 00 00 00 ff 00 00 00"
    )


def test_a_datagram_is_taken_apart_into_its_messages():
    first, second = message(16, 2, 1, b"\xaa"), message(17, 0, 2, b"", 5)
    datagram = first + second
    assert list(frames(datagram, len(datagram))) == [Frame(16, 2, 1, 0, 16, 17), Frame(17, 0, 2, 5, 36, 36)]


def test_the_last_message_may_go_without_padding():
    datagram = message(16, 2, 1, b"\xaa")[:17]
    assert list(frames(datagram, 17)) == [Frame(16, 2, 1, 0, 16, 17)]


@pytest.mark.parametrize(
    "datagram, complaint",
    [
        (b"\x10\x00\x00", "netlink message: 3 bytes left, a header needs 16"),
        (
            struct.pack("=IHHII", 15, 1, 0, 0, 0),
            "netlink message: says it has 15 bytes, 16 are left of its datagram",
        ),
        (
            struct.pack("=IHHII", 17, 1, 0, 0, 0),
            "netlink message: says it has 17 bytes, 16 are left of its datagram",
        ),
    ],
)
def test_a_broken_datagram_is_refused(datagram, complaint):
    with pytest.raises(WireError) as refusal:
        list(frames(datagram, len(datagram)))
    assert str(refusal.value) == complaint


@pytest.mark.parametrize(
    "answer, expected",
    [
        (NO_SUCH_CHAIN, Ack(2, "", 28)),
        (NO_SENSE, Ack(22)),
        (WITH_WORDS, Ack(34, "Attribute failed policy validation", 32)),
    ],
)
def test_refusals_keep_the_kernels_words(answer, expected):
    data = bytes.fromhex(answer)
    (frame,) = frames(data, len(data))
    assert read_ack(data, frame) == expected


def test_a_refusal_may_repeat_the_whole_request_before_its_words():
    """Without the option for short answers the request stands between the number and the words."""
    request = message(20, 5, 1, b"12345")
    payload = struct.pack("=i", -22) + request + attribute_text(1, "no")
    data = message(Kind.ERROR, Flag.ACK_TLVS, 1, payload)
    (frame,) = frames(data, len(data))
    assert read_ack(data, frame) == Ack(22, "no")


@pytest.mark.parametrize(
    "payload, flags, expected",
    [
        (b"", Flag.MULTI, Ack(0)),
        (struct.pack("=i", 0), Flag.MULTI, Ack(0)),
        (struct.pack("=i", -4), Flag.MULTI, Ack(4)),
        (struct.pack("=i", -1) + attribute_text(1, "not you"), Flag.MULTI | Flag.ACK_TLVS, Ack(1, "not you")),
    ],
)
def test_the_end_of_a_dump_says_how_it_went(payload, flags, expected):
    data = message(Kind.DONE, flags, 1, payload)
    (frame,) = frames(data, len(data))
    assert read_ack(data, frame) == expected


@pytest.mark.parametrize(
    "payload, complaint",
    [
        (b"\x00\x00", "2 bytes, an error number needs 4"),
        (struct.pack("=i", -1), "the header of the refused request is cut off"),
        (
            struct.pack("=i", -1) + struct.pack("=IHHII", 999, 1, 0, 0, 0),
            "the refused request it repeats is cut off",
        ),
    ],
)
def test_a_broken_refusal_is_refused(payload, complaint):
    data = message(Kind.ERROR, Flag.ACK_TLVS, 1, payload)
    (frame,) = frames(data, len(data))
    with pytest.raises(WireError) as refusal:
        read_ack(data, frame)
    assert refusal.value.problem == complaint


def test_attributes_lose_their_flag_bits_and_keep_their_order():
    data = nested(2, attribute(1, b"\x11")) + attribute(0x4000 | 3, b"ab")
    assert list(attributes(data, 0, len(data), "x")) == [(2, 4, 12), (3, 16, 18)]
    assert attribute_spans(data, 4, 12, "x") == {1: (8, 9)}


@pytest.mark.parametrize(
    "data, complaint",
    [
        (b"\x04\x00", "flow: 2 bytes left where an attribute header needs 4"),
        (b"\x03\x00\x01\x00", "flow: attribute 1 says it has 3 bytes, 4 are left"),
        (b"\x09\x00\x01\x80\x00\x00\x00\x00", "flow: attribute 1 says it has 9 bytes, 8 are left"),
    ],
)
def test_broken_attributes_are_refused(data, complaint):
    with pytest.raises(WireError) as refusal:
        list(attributes(data, 0, len(data), "flow"))
    assert str(refusal.value) == complaint


def test_numbers_are_read_only_at_their_exact_size():
    data = bytes(range(1, 9))
    assert u8(data, (0, 1), "n") == 0x01
    assert be16(data, (0, 2), "n") == 0x0102
    assert be32(data, (0, 4), "n") == 0x01020304
    assert be64(data, (0, 8), "n") == 0x0102030405060708
    assert native32(data, (0, 4), "n") == struct.unpack("=I", data[:4])[0]
    for read in (u8, be16, be32, be64, native32):
        with pytest.raises(WireError, match="3 bytes where a number needs"):
            read(data, (0, 3), "n")


def test_texts_end_at_their_nul_and_odd_bytes_are_shown():
    assert text(b"nat\0\0", (0, 5), "t") == "nat"
    assert text(b"nat", (0, 3), "t") == "nat"
    assert text(b"\xffx\0", (0, 3), "t") == "\\xffx"
    with pytest.raises(WireError, match="an empty attribute"):
        text(b"", (0, 0), "t")


@pytest.mark.parametrize(
    "family, raw, written",
    [
        (AF_INET, "0a 60 00 0a", "10.96.0.10"),
        (AF_INET6, "fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01", "fd00::1"),
        (AF_INET6, "00" * 16, "::"),
    ],
)
def test_addresses_have_one_spelling(family, raw, written):
    assert address_text(bytes.fromhex(raw)) == written
    assert address_bytes(written, family) == bytes.fromhex(raw)


@pytest.mark.parametrize(
    "address, family, complaint",
    [
        ("10.0.0", AF_INET, "not an IP address"),
        ("fd00::1", AF_INET, "not of address family 2"),
        ("10.0.0.1", AF_INET6, "not of address family 10"),
    ],
)
def test_addresses_of_another_family_are_refused(address, family, complaint):
    with pytest.raises(WireError) as refusal:
        address_bytes(address, family)
    assert str(refusal.value) == f"address {address!r}: {complaint}"


def test_an_address_has_four_or_sixteen_bytes():
    with pytest.raises(WireError, match="5 bytes, it is 4 in IPv4 and 16 in IPv6"):
        address_text(bytes(5))


def test_what_is_too_long_for_an_attribute_is_refused():
    with pytest.raises(WireError, match="65536 bytes do not fit"):
        attribute(1, bytes(65532))


@given(st.lists(st.tuples(st.integers(0, 0x3FFF), st.binary(max_size=40)), max_size=8))
def test_written_attributes_are_read_back(pairs):
    data = b"".join(attribute(kind, payload) for kind, payload in pairs)
    assert [(kind, data[first:last]) for kind, first, last in attributes(data, 0, len(data), "x")] == pairs


@given(st.binary(max_size=200))
def test_no_bytes_do_more_harm_than_a_refusal(noise):
    """Whatever arrives is read or refused by name; nothing else escapes and nothing loops."""
    try:
        for frame in frames(noise, len(noise)):
            read_ack(noise, frame)
            attribute_spans(noise, frame.start, frame.end, "noise")
    except WireError:
        pass
