"""The netlink hand and the real kernel, with pyroute2 and the iptables programs as the other pair of eyes."""

import socket
from collections.abc import Iterator

import pytest
from pyroute2 import NFCTSocket
from pyroute2.netlink.nfnetlink.nfctsocket import NFCTAttrTuple

from kubeproxy.kernel import netlink, tableinfo
from kubeproxy.kernel.errors import KernelError
from kubeproxy.wire.conntrack import UDP, Flow, dump_request
from kubeproxy.wire.netlink import AF_INET, AF_INET6, Protocol, Request, nfgenmsg
from kubeproxy.wire.nfacct import Counter
from kubeproxy.wire.nfquery import BaseRule
from kubeproxy.wire.rtnetlink import LocalAddress, Scope
from tests.lab.netns import Namespace, namespace

CONFIRMED_AND_SEEN = 0x0A
BOTH_SIDES = ("CTA_TUPLE_ORIG", "CTA_TUPLE_REPLY")


@pytest.fixture
def node() -> Iterator[Namespace]:
    with namespace("node") as made:
        yield made


def test_every_address_is_seen_with_its_interface(node):
    """Both families, the peer's address left out, in the order the kernel lists them."""
    node.run(["ip", "link", "add", "pod0", "type", "veth", "peer", "name", "pod1"])
    node.run(["ip", "address", "add", "192.0.2.1/24", "dev", "pod0"])
    node.run(["ip", "address", "add", "10.0.0.1", "peer", "10.0.0.2/32", "dev", "pod1"])
    node.run(["ip", "address", "add", "fd00::1/64", "dev", "pod0", "nodad"])
    index = {name: node.call(socket.if_nametoindex, name) for name in ("pod0", "pod1")}
    seen = node.call(netlink.local_addresses)
    assert seen[0] == LocalAddress(AF_INET, "127.0.0.1", 8, 1, "lo", Scope.HOST)
    assert set(seen[1:]) == {
        LocalAddress(AF_INET, "192.0.2.1", 24, index["pod0"], "pod0", Scope.UNIVERSE),
        LocalAddress(AF_INET, "10.0.0.1", 32, index["pod1"], "pod1", Scope.UNIVERSE),
        LocalAddress(AF_INET6, "::1", 128, 1, "lo", Scope.HOST),
        LocalAddress(AF_INET6, "fd00::1", 64, index["pod0"], "pod0", Scope.UNIVERSE),
    }


def test_a_thousand_addresses_do_not_fit_into_one_answer(node):
    lines = "".join(f"address add 10.1.{n >> 8}.{n & 255}/32 dev lo\n" for n in range(1000))
    node.run(["ip", "-batch", "-"], input=lines)
    seen = {address.address for address in node.call(netlink.local_addresses) if address.prefixlen == 32}
    assert seen == {f"10.1.{n >> 8}.{n & 255}" for n in range(1000)}


def remember(flows):
    """Make connections known, as another library writes them."""
    with NFCTSocket() as conntrack:
        for flow in flows:
            original = NFCTAttrTuple(
                family=flow.family, proto=flow.protocol,
                saddr=flow.source, sport=flow.source_port, daddr=flow.destination, dport=flow.destination_port,
            )  # fmt: skip
            reply = NFCTAttrTuple(
                family=flow.family, proto=flow.protocol,
                saddr=flow.reply_source, sport=flow.reply_source_port,
                daddr=flow.reply_destination, dport=flow.reply_destination_port,
            )  # fmt: skip
            conntrack.entry(
                "add",
                timeout=600,
                status=CONFIRMED_AND_SEEN,
                tuple_orig=original,
                tuple_reply=reply,
                mark=flow.mark,
            )


def known():
    """The IPv4 connections as another library reads them: who dialled what, and what answers."""
    with NFCTSocket() as conntrack:
        return {
            (original.saddr, original.sport, original.daddr, original.dport, reply.saddr, reply.sport)
            for entry in conntrack.dump()
            for original, reply in [
                [NFCTAttrTuple.from_netlink(socket.AF_INET, entry.get_attr(side)) for side in BOTH_SIDES]
            ]
        }


def flow(client, port=40000, backend="10.244.0.5", protocol=UDP, mark=0):
    return Flow(AF_INET, protocol, client, port, "10.96.0.10", 53, backend, 5353, client, port, mark=mark)


def without_id(flows):
    return {Flow(*[getattr(each, name) for name in Flow.__struct_fields__[:-1]]) for each in flows}


IPV6_FLOW = Flow(AF_INET6, UDP, "::1", 40000, "::1", 53, "::1", 53, "::1", 40000)
OTHERS = (flow("192.0.2.9", protocol=6), flow("192.0.2.9", protocol=132))


def let_ipv6_flow(node):
    """A packet makes the kernel track it; the other library handles only IPv4."""
    node.run(["ip6tables", "-A", "OUTPUT", "-m", "conntrack", "--ctstate", "NEW"])
    node.call(send_udp, "::1", 53, source_port=40000)


def send_udp(address, port, source_port=0):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.bind(("", source_port))
        client.sendto(b"?", (address, port))


def test_udp_flows_are_seen_whole_and_others_not(node):
    """What another library wrote is what we read: both directions, both families, the mark."""
    mine = {flow("192.0.2.7", mark=0x4000), flow("192.0.2.8", backend="10.244.1.9")}
    node.call(remember, [*mine, *OTHERS])
    let_ipv6_flow(node)
    assert without_id(node.call(netlink.udp_flows, AF_INET)) == mine
    assert without_id(node.call(netlink.udp_flows, AF_INET6)) == {IPV6_FLOW}


def test_the_kernel_leaves_other_protocols_out_of_the_dump(node):
    """Reading twice costs twice; a node has many more TCP connections than UDP ones."""

    def protocols():
        seen = []
        with netlink.NetlinkSocket(Protocol.NETFILTER) as conversation:
            conversation.dump(dump_request(AF_INET), lambda data, frame: seen.append(data[frame.start + 36]))
        return seen

    node.call(remember, [flow("192.0.2.7"), *OTHERS])
    assert node.call(protocols) == [UDP]


def test_exactly_the_named_flows_are_forgotten(node):
    """Same client with another port, same ports in TCP, same numbers in IPv6: none of them is touched."""
    stale, neighbour = flow("192.0.2.7"), flow("192.0.2.7", port=40001)
    node.call(remember, [stale, neighbour, *OTHERS])
    let_ipv6_flow(node)
    named = node.call(netlink.udp_flows, AF_INET, lambda each: each.source_port == 40000)
    assert node.call(netlink.delete_flows, named) == 1
    assert without_id(node.call(netlink.udp_flows, AF_INET)) == {neighbour}
    assert node.call(known) == {
        ("192.0.2.7", 40001, "10.96.0.10", 53, "10.244.0.5", 5353),
        ("192.0.2.9", 40000, "10.96.0.10", 53, "10.244.0.5", 5353),
        ("192.0.2.9", None, "10.96.0.10", None, "10.244.0.5", None),  # it reads no ports of SCTP
    }
    assert without_id(node.call(netlink.udp_flows, AF_INET6)) == {IPV6_FLOW}


def test_a_flow_that_is_gone_counts_as_forgotten(node):
    node.call(remember, [flow("192.0.2.7")])
    named = node.call(netlink.udp_flows, AF_INET)
    assert [node.call(netlink.delete_flows, named) for _ in range(2)] == [1, 1]


def test_an_entry_that_took_the_place_of_a_stale_one_survives(node):
    """Between reading and deleting, a client may have come back; its new entry has another id."""
    node.call(remember, [flow("192.0.2.7")])
    (there,) = node.call(netlink.udp_flows, AF_INET)
    older = Flow(*[getattr(there, name) for name in Flow.__struct_fields__[:-1]], id=there.id ^ 1)
    node.call(netlink.delete_flows, [older])
    assert node.call(netlink.udp_flows, AF_INET) == (there,)
    assert node.call(netlink.delete_flows, [there]) == 1
    assert node.call(netlink.udp_flows, AF_INET) == ()


@pytest.mark.parametrize("zone", [["--zone", "9"], ["--zone-orig", "9"], ["--zone-reply", "9"]])
def test_flows_in_a_zone_are_forgotten_too(node, zone):
    """A network plugin may keep its pods apart in zones; the zone is part of the entry's name."""
    node.run(["iptables", "-t", "raw", "-A", "OUTPUT", "-p", "udp", "--dport", "9053", "-j", "CT", *zone])
    node.run(["iptables", "-A", "OUTPUT", "-m", "conntrack", "--ctstate", "NEW"])
    node.call(send_udp, "127.0.0.1", 9053)
    named = [
        each
        for each in node.call(netlink.udp_flows, AF_INET)
        if each.zone or each.original_zone or each.reply_zone
    ]
    assert [each.destination_port for each in named] == [9053]
    assert node.call(netlink.delete_flows, named) == 1
    assert not set(named) & set(node.call(netlink.udp_flows, AF_INET))


def test_a_translated_packet_leaves_the_flow_that_is_looked_for(node):
    """The real thing: dialled is the Service's address, what answers is the endpoint."""
    rule = "-t nat -A OUTPUT -d 10.96.0.10 -p udp --dport 53 -j DNAT --to 127.0.0.1:5353"
    node.run(["ip", "route", "add", "10.96.0.0/16", "dev", "lo"])
    node.run(["iptables", *rule.split()])
    node.call(send_udp, "10.96.0.10", 53)
    (seen,) = node.call(netlink.udp_flows, AF_INET)
    assert (seen.destination, seen.destination_port) == ("10.96.0.10", 53)
    assert (seen.reply_source, seen.reply_source_port) == ("127.0.0.1", 5353)
    assert seen.reply_destination_port == seen.source_port


def test_hundreds_of_flows_go_in_a_few_datagrams(node):
    node.call(remember, [flow(f"192.0.2.{n % 250 + 1}", port=1000 + n) for n in range(300)])
    flows = node.call(netlink.udp_flows, AF_INET)
    assert len(flows) == 300
    assert node.call(netlink.delete_flows, flows) == 300
    assert node.call(known) == set()


def test_counters_are_made_once_and_count(node):
    """A rule may only name a counter that exists; ours is there for iptables to find."""
    assert node.call(netlink.counters_available) is True
    assert node.call(netlink.counter, "lab_packets") is None
    node.call(netlink.ensure_counter, "lab_packets")
    node.run(["iptables", "-A", "OUTPUT", "-p", "udp", "-m", "nfacct", "--nfacct-name", "lab_packets"])
    node.call(send_udp, "127.0.0.1", 9)
    node.call(netlink.ensure_counter, "lab_packets")
    assert node.call(netlink.counter, "lab_packets") == Counter("lab_packets", packets=1, bytes=29)


def test_the_jumps_of_a_base_chain_are_read_in_order(node):
    for line in (
        "-N KUBE-SERVICES", "-N OTHERS", "-A PREROUTING -p tcp -j ACCEPT", "-A PREROUTING -j OTHERS",
        "-A PREROUTING -m comment --comment portals -j KUBE-SERVICES", "-A PREROUTING -g OTHERS",
    ):  # fmt: skip
        node.run(["iptables-nft", "-t", "nat", *line.split()])
    rules = node.call(netlink.base_chain_jumps, AF_INET, "nat", "PREROUTING")
    assert [rule.target for rule in rules] == [None, "OTHERS", "KUBE-SERVICES", "OTHERS"]
    assert len({rule.handle for rule in rules}) == 4
    node.run(["nft", "delete", "rule", "ip", "nat", "PREROUTING", "handle", str(rules[1].handle)])
    assert node.call(netlink.base_chain_jumps, AF_INET, "nat", "PREROUTING") == (rules[0], *rules[2:])


def test_a_chain_with_more_rules_than_fit_into_one_answer(node):
    payload = (
        "*nat\n:A - [0:0]\n"
        + "".join("-A PREROUTING -m mark --mark 1 -j A\n" for _ in range(500))
        + "COMMIT\n"
    )
    node.run(["iptables-nft-restore"], input=payload)
    rules = node.call(netlink.base_chain_jumps, AF_INET, "nat", "PREROUTING")
    assert [rule.target for rule in rules] == ["A"] * 500


def test_chains_that_are_not_there_are_none(node):
    assert node.call(netlink.chain, AF_INET, "nat", "KUBE-SERVICES") is None
    assert node.call(netlink.base_chain_jumps, AF_INET, "nat", "PREROUTING") == ()
    node.run(["ip6tables-nft", "-t", "nat", "-N", "KUBE-SERVICES"])
    assert node.call(netlink.chain, AF_INET, "nat", "KUBE-SERVICES") is None
    chain = node.call(netlink.chain, AF_INET6, "nat", "KUBE-SERVICES")
    assert chain is not None and (chain.name, chain.uses) == ("KUBE-SERVICES", 0)
    node.run(["ip6tables-nft", "-t", "nat", "-A", "PREROUTING", "-j", "KUBE-SERVICES"])
    used = node.call(netlink.chain, AF_INET6, "nat", "KUBE-SERVICES")
    assert used is not None and used.uses == 1
    (jump,) = node.call(netlink.base_chain_jumps, AF_INET6, "nat", "PREROUTING")
    assert jump == BaseRule(jump.handle, "KUBE-SERVICES")


def test_each_commit_is_one_generation(node):
    """Whoever counts own commits can tell whether somebody else made one."""
    before = node.call(netlink.generation)
    node.run(["iptables-nft", "-t", "nat", "-N", "A"])
    payload = "*nat\n:B - [0:0]\n-A B -j A\n-A B -j RETURN\nCOMMIT\n*filter\n:C - [0:0]\nCOMMIT\n"
    node.run(["iptables-nft-restore", "--noflush"], input=payload)
    assert node.call(netlink.generation) == before + 3


@pytest.mark.parametrize("family, program", [(AF_INET, "iptables-legacy"), (AF_INET6, "ip6tables-legacy")])
def test_a_legacy_table_tells_its_size_and_is_not_made_by_asking(node, family, program):
    def ask():
        return tableinfo.table_info(family, "nat"), tableinfo.legacy_tables(family)

    assert node.call(ask) == (None, ())
    node.run([program, "-t", "nat", "-N", "KUBE-SERVICES"])
    (empty, tables) = node.call(ask)
    assert empty is not None and tables == ("nat",)
    node.run([program, "-t", "nat", "-A", "PREROUTING", "-j", "KUBE-SERVICES"])
    (one, _) = node.call(ask)
    assert one is not None and one.entries == empty.entries + 1 and one.size > empty.size
    node.run([program, "-t", "nat", "-F"])
    assert node.call(ask)[0] == empty


def test_a_refusal_by_the_real_kernel_has_its_number(node):
    """nf_tables knows no message 200: the error is the kernel's own, not ours."""
    unknown = Request("a riddle", 10 << 8 | 200, nfgenmsg(AF_INET))

    def ask():
        with netlink.NetlinkSocket(Protocol.NETFILTER) as conversation:
            return conversation.ask(unknown, lambda data, frame: None)

    with pytest.raises(KernelError, match="a riddle: Invalid argument") as refusal:
        node.call(ask)
    assert refusal.value.errno == 22


def test_another_library_reads_the_same_flows(node):
    node.call(remember, [flow(f"192.0.2.{n}", backend=f"10.244.0.{n}") for n in range(1, 50)])
    ours = {
        tuple(getattr(each, part) for part in Flow.__struct_fields__[2:8])
        for each in node.call(netlink.udp_flows, AF_INET)
    }
    assert ours == node.call(known)
    assert len(ours) == 49
