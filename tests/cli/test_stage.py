"""The stage's plan and its small languages, without a namespace."""

import socket

import pytest

from kubeproxy.cli.stage import sctp
from kubeproxy.cli.stage.dialling import heard
from kubeproxy.cli.stage.echo import greeting
from kubeproxy.cli.stage.layout import DEMO, Pod, cluster, only_ipv4, pod_nic
from kubeproxy.cli.stage.questions import Dial, Fate, answer
from kubeproxy.cli.stage.wiring import FORWARDING, cables, furniture, rules, sysctls

PODS = (
    Pod("web-1", "node-a", ("10.244.1.11", "fd00:10:244:1::11")),
    Pod("web-2", "node-b", ("10.244.2.11",)),
)
LAYOUT = cluster(PODS)


def test_every_pod_has_a_room_and_a_cable_to_its_node() -> None:
    assert [room.name for room in LAYOUT.rooms] == [
        "client",
        "lan",
        "world",
        "node-a",
        "node-b",
        "web-1",
        "web-2",
    ]
    assert [(link.room, link.nic) for link in LAYOUT.links if link.peer == "web-1"] == [
        ("node-a", "veth-web-1")
    ]


def test_a_pods_room_in_the_words_of_ip() -> None:
    """One address, and everything else by way of the node."""
    assert furniture(LAYOUT.room("web-1")).splitlines() == [
        "link set lo up",
        "addr add 10.244.1.11/32 dev eth0",
        "addr add fd00:10:244:1::11/128 dev eth0 nodad",
        "link set eth0 up",
        "route add default via 10.244.1.1 dev eth0 onlink",
        "route add default via fd00:10:244:1::1 dev eth0 onlink",
    ]


def test_a_pod_of_one_family_has_no_gateway_of_the_other() -> None:
    assert "fd00:" not in furniture(LAYOUT.room("web-2"))


def test_cables_have_ends_of_different_index() -> None:
    """With equal ones Linux would notice only after a second that they are plugged in."""
    batches = cables(LAYOUT, {room.name: 100 + n for n, room in enumerate(LAYOUT.rooms)})
    assert batches["node-b"] == (
        "link add name eth0 index 1004 type veth peer name to-node-b netns 101\n"
        "link add name veth-web-2 index 1006 type veth peer name eth0 netns 106\n"
    )


def test_what_the_first_node_lets_through_goes_to_the_world_and_not_back() -> None:
    lan = LAYOUT.room("lan")
    assert "route add 10.96.0.0/16 via 192.168.50.11\n" in furniture(lan)
    assert "route add 10.96.0.0/16 via 192.0.2.9 table 100\n" in furniture(lan)
    assert rules(lan) == "rule add iif to-node-a lookup 100\n"


def test_only_routers_forward() -> None:
    assert {room.name for room in LAYOUT.rooms if FORWARDING.items() <= sysctls(room).items()} == {
        "lan",
        "node-a",
        "node-b",
    }


def test_without_ipv6_nothing_of_it_is_left() -> None:
    for room in only_ipv4(LAYOUT).rooms:
        assert ":" not in furniture(room), room.name


def test_a_pods_interface_fits_linux() -> None:
    """An interface name has at most 15 characters."""
    assert pod_nic(Pod("a-pod-with-a-long-name", "node-a", ())) == "veth-a-pod-with"


@pytest.mark.parametrize(
    ("own", "peer", "at", "client"),
    [
        (("10.244.1.11", 8080), ("203.0.113.10", 4711), "10.244.1.11:8080", "203.0.113.10"),
        (("fd00::1", 80), ("fd00:113::10", 4711), "[fd00::1]:80", "fd00:113::10"),
    ],
)
def test_what_a_server_says_is_understood(
    own: tuple[str, int], peer: tuple[str, int], at: str, client: str
) -> None:
    said = answer(heard(f"HTTP/1.0 200 OK\r\n\r\n{greeting('web-1', own, peer)}"))
    assert (said.outcome, said.name, said.at, said.client) == (Fate.ARRIVED, "web-1", at, client)


def test_what_another_server_says_is_kept() -> None:
    said = answer(heard("HTTP/1.1 503 Service Unavailable\r\n\r\n{}"))
    assert (said.outcome, said.name, said.text[:12]) == (Fate.ARRIVED, "", "HTTP/1.1 503")


def test_a_dial_is_told_in_a_line() -> None:
    assert str(Dial("client", "fd00::1", 80, source="fd00::9")) == "client (fd00::9) → [fd00::1]:80/TCP"


def test_the_checksum_is_castagnolis() -> None:
    """RFC 3720 gives the CRC of 32 zero bytes; SCTP sends the same bytes in the same order."""
    assert sctp.checksum(bytes(32)).to_bytes(4, "big").hex(" ") == "aa 36 91 8a"


def test_an_init_byte_for_byte() -> None:
    """RFC 9260, sections 3.1 and 3.3.2: ports, no tag yet, checksum; type, flags, length, what is offered."""
    assert sctp.packet((20000, 80), 0, sctp.INIT, 0x01020304).hex(" ", 4) == (
        "4e200050 00000000 da2252f4 01000014 01020304 00010000 00010001 01020304"
    )


def test_only_an_init_for_the_port_is_answered() -> None:
    init = sctp.packet((20000, 80), 0, sctp.INIT, 7)
    assert sctp.answer(init, 81, b"hello") is None
    said = sctp.parse(sctp.answer(init, 80, b"hello") or b"")
    assert said is not None
    assert (said.source, said.destination, said.kind, said.cookie) == (80, 20000, sctp.INIT_ACK, b"hello")
    assert sctp.answer(sctp.answer(init, 80, b"hello") or b"", 20000, b"again") is None


def test_the_header_of_ipv4_is_not_the_packet() -> None:
    assert sctp.payload(bytes([0x46]) + bytes(23) + b"sctp", socket.AF_INET) == b"sctp"
    assert sctp.payload(b"sctp", socket.AF_INET6) == b"sctp"


def test_the_plan_has_both_families_everywhere() -> None:
    for addresses in (DEMO.client, DEMO.world, DEMO.services, *(node.addresses for node in DEMO.nodes)):
        assert {":" in address for address in addresses} == {True, False}
