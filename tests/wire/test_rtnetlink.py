"""Links and addresses as a 6.18 kernel sends them."""

import pytest

from kubeproxy.wire.netlink import AF_INET, AF_INET6, WireError, frames, message
from kubeproxy.wire.rtnetlink import (
    AddressChange,
    Happened,
    Link,
    LinkChange,
    LocalAddress,
    Scope,
    addresses_request,
    links_request,
    read_address,
    read_link,
    read_news,
)

NAMES = {1: "lo", 3: "br0"}
LOOPBACK = (
    "4c 00 00 00 14 00 02 00 01 00 00 00 f6 17 00 00 02 08 80 fe 01 00 00 00 08 00 01 00 7f 00 00 01 "
    "08 00 02 00 7f 00 00 01 07 00 03 00 6c 6f 00 00 08 00 08 00 80 00 00 00 14 00 06 00 ff ff ff ff "
    "ff ff ff ff e6 e6 01 00 e6 e6 01 00"
)
POINT_TO_POINT = (
    "4c 00 00 00 14 00 02 00 01 00 00 00 f6 17 00 00 02 20 80 00 03 00 00 00 08 00 01 00 0a 00 00 02 "
    "08 00 02 00 0a 00 00 01 08 00 03 00 62 72 30 00 08 00 08 00 80 00 00 00 14 00 06 00 ff ff ff ff "
    "ff ff ff ff e6 e6 01 00 e6 e6 01 00"
)
IPV6 = (
    "48 00 00 00 14 00 02 00 01 00 00 00 f6 17 00 00 0a 40 82 00 03 00 00 00 14 00 01 00 fd 00 00 00 "
    "00 00 00 00 00 00 00 00 00 00 00 01 14 00 06 00 ff ff ff ff ff ff ff ff e6 e6 01 00 e6 e6 01 00 "
    "08 00 08 00 82 00 00 00"
)
LINK_UP = (
    "34 00 00 00 10 00 02 00 01 00 00 00 f6 17 00 00 00 00 04 03 01 00 00 00 49 00 01 00 00 00 00 00 "
    "07 00 03 00 6c 6f 00 00 08 00 0d 00 e8 03 00 00 04 00 3e 80"
)
LINK_DOWN = (
    "28 00 00 00 10 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 03 00 00 00 02 10 00 00 ff ff ff ff "
    "08 00 03 00 62 72 30 00"
)
BRIDGE_PORT = (
    "28 00 00 00 10 00 00 00 00 00 00 00 00 00 00 00 07 00 01 00 03 00 00 00 03 10 00 00 00 00 00 00 "
    "08 00 03 00 62 72 30 00"
)


def received(text, kind=None):
    """The bytes of one message and its frame; its type can be exchanged, as a removal looks like an addition."""
    data = bytearray.fromhex(text)
    if kind is not None:
        data[4] = kind
    (frame,) = frames(data, len(data))
    return data, frame


def test_everything_is_asked_for_without_statistics():
    assert links_request().encode(1).hex(" ") == (
        "28 00 00 00 12 00 01 03 01 00 00 00 00 00 00 00 "
        "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 08 00 1d 00 08 00 00 00"
    )
    assert addresses_request(AF_INET6).encode(2).hex(" ") == (
        "18 00 00 00 16 00 01 03 02 00 00 00 00 00 00 00 0a 00 00 00 00 00 00 00"
    )


@pytest.mark.parametrize(
    "message_text, expected",
    [
        (LOOPBACK, LocalAddress(AF_INET, "127.0.0.1", 8, 1, "lo", Scope.HOST)),
        (POINT_TO_POINT, LocalAddress(AF_INET, "10.0.0.1", 32, 3, "br0", Scope.UNIVERSE)),
        (IPV6, LocalAddress(AF_INET6, "fd00::1", 64, 3, "br0", Scope.UNIVERSE)),
    ],
)
def test_an_address_is_the_nodes_own_not_its_peers(message_text, expected):
    assert read_address(*received(message_text), NAMES) == expected


def test_an_address_on_a_link_that_appeared_meanwhile_has_no_interface_name():
    address = read_address(*received(IPV6), {})
    assert address is not None and address.ifname == ""


def test_addresses_of_other_protocols_are_passed_over():
    """MCTP, Phonet and DECnet announce theirs with the same message."""
    data, frame = received(LOOPBACK)
    data[16] = 45
    assert read_address(data, frame, NAMES) is None


@pytest.mark.parametrize(
    "message_text, expected",
    [(LINK_UP, Link(1, "lo", True)), (LINK_DOWN, Link(3, "br0", False)), (BRIDGE_PORT, None)],
)
def test_a_link_has_a_name_and_is_up_or_not(message_text, expected):
    assert read_link(*received(message_text)) == expected


@pytest.mark.parametrize(
    "message_text, kind, expected",
    [
        (LINK_DOWN, 16, LinkChange(Happened.ADDED, Link(3, "br0", False))),
        (LINK_DOWN, 17, LinkChange(Happened.REMOVED, Link(3, "br0", False))),
        (IPV6, 20, AddressChange(Happened.ADDED, LocalAddress(AF_INET6, "fd00::1", 64, 3, "", 0))),
        (IPV6, 21, AddressChange(Happened.REMOVED, LocalAddress(AF_INET6, "fd00::1", 64, 3, "", 0))),
        (IPV6, 24, None),
        (BRIDGE_PORT, 16, None),
    ],
)
def test_announcements_say_what_came_and_what_went(message_text, kind, expected):
    assert read_news(*received(message_text, kind)) == expected


@pytest.mark.parametrize(
    "read, payload, complaint",
    [
        (read_link, bytes(15), "link: 15 bytes, its fixed part needs 16"),
        (read_link, bytes(16), "link 0: has no name"),
        (read_news, bytes(7), "address: 7 bytes, its fixed part needs 8"),
        (read_news, bytes([2, 0, 0, 0, 5, 0, 0, 0]), "address on link 5: is missing"),
    ],
)
def test_what_is_cut_off_is_refused(read, payload, complaint):
    data = message(20, 0, 1, payload)[: 16 + len(payload)]
    (frame,) = frames(data, len(data))
    with pytest.raises(WireError) as refusal:
        read(data, frame)
    assert str(refusal.value) == complaint


@pytest.mark.parametrize("message_text", [LOOPBACK, POINT_TO_POINT, IPV6, LINK_UP])
def test_a_message_cut_anywhere_is_read_or_refused(message_text):
    """The header is made to fit, so it is the attributes that end too early."""
    whole = bytes.fromhex(message_text)
    for size in range(16, len(whole)):
        data = size.to_bytes(4, "little") + whole[4:size]
        (frame,) = frames(data, size)
        try:
            read_news(data, frame)
        except WireError as refusal:
            assert refusal.problem
