"""This node as decisions see it: from the configuration, the Node object and the machine's addresses."""

import pytest

from kubeproxy.api.decode import decode_as
from kubeproxy.api.node import Node
from kubeproxy.config.decode import decode_config
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.model.identity import Family
from kubeproxy.routes.nodeview import DetectBy, Detector, NodePortAddresses, NodeView
from kubeproxy.runtime.nodewatch import detector, eligible, health_hosts, node_view
from kubeproxy.wire.netlink import AF_INET, AF_INET6
from kubeproxy.wire.rtnetlink import LocalAddress, Scope

V4, V6 = Family.IPV4, Family.IPV6
HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: iptables\n"
HELD = ("127.0.0.1", "127.0.1.1", "192.0.2.10", "198.51.100.7", "::1", "2001:db8::10", "fd00::7")


def config(text: str = "") -> KubeProxyConfig:
    return decode_config(HEAD + text, "config.yaml").config


def node(*addresses: str, labels: dict[str, str] | None = None, **spec: object) -> Node:
    listed = [{"type": "InternalIP", "address": address} for address in addresses]
    metadata = {"name": "node-a", "labels": labels or {}}
    return decode_as(Node, {"metadata": metadata, "spec": spec, "status": {"addresses": listed}})


def local(*texts: str) -> list[LocalAddress]:
    return [
        LocalAddress(AF_INET6 if ":" in text else AF_INET, text, 24, 1, "eth0", Scope.UNIVERSE)
        for text in texts
    ]


def view(text: str, family: Family, the_node: Node | None, held: tuple[str, ...] = HELD) -> NodeView:
    return node_view(config(text), "node-a", family, the_node, local(*held))


def chosen(text: str, family: Family, the_node: Node | None) -> object:
    """Where node ports answer: "all", or those of the node's addresses that are selected."""
    seen = view(text, family, the_node)
    if seen.node_ports.match_all:
        return "all"
    return [address for address in seen.addresses if seen.node_ports.selects(address)]


BOTH, FOUR = node("192.0.2.10", "2001:db8::10"), node("192.0.2.10")
NODE_PORTS = [
    ("P1", "[]", BOTH, "all", "all"),
    ("P2", "[192.0.2.0/24]", BOTH, ["192.0.2.10"], "all"),
    ("P3", "['2001:db8::/64']", BOTH, "all", ["2001:db8::10"]),
    ("P4", "[0.0.0.0/0, 192.0.2.0/24, '2001:db8::10/128']", BOTH, "all", ["2001:db8::10"]),
    ("P5", "[192.0.2.0/24, 0.0.0.0/0]", BOTH, "all", "all"),
    ("P6", "[203.0.113.0/24]", BOTH, [], "all"),
    ("P7", "[127.0.0.0/8]", BOTH, ["127.0.0.1", "127.0.1.1"], "all"),
    ("P8", "[primary]", FOUR, ["192.0.2.10"], "all"),
    ("P9", "[primary]", None, "all", "all"),
    ("P10", "[primary, localhost]", BOTH, ["127.0.0.1", "127.0.1.1", "192.0.2.10"], ["2001:db8::10", "::1"]),
    ("P11", "[localhost]", BOTH, ["127.0.0.1", "127.0.1.1"], ["::1"]),
]


@pytest.mark.parametrize(("case", "listed", "the_node", "four", "six"), NODE_PORTS)
def test_node_ports_answer_where_the_operator_said(case, listed, the_node, four, six):
    text = f"nodePortAddresses: {listed}\n"
    assert (chosen(text, V4, the_node), chosen(text, V6, the_node)) == (four, six)


LOOPBACK = [
    ("", V4, True),
    ("", V6, False),
    ("iptables: {localhostNodePorts: false}", V4, False),
    ("nodePortAddresses: [192.0.2.0/24]", V4, False),
    ("nodePortAddresses: [127.0.0.0/8]", V4, True),
    ("nodePortAddresses: ['2001:db8::/64']", V4, True),
    ("nodePortAddresses: ['::1/128']", V6, False),
]


@pytest.mark.parametrize(("text", "family", "served"), LOOPBACK)
def test_node_ports_on_loopback_are_for_ipv4_and_for_those_who_want_them(text, family, served):
    assert view(text, family, BOTH).loopback_node_ports is served


CIDR, NAMED, PREFIX = DetectBy.CIDR, DetectBy.INTERFACE, DetectBy.INTERFACE_PREFIX
DETECTORS = [
    ("", V4, None),
    ("clusterCIDR: 10.244.0.0/16", V4, Detector(CIDR, "10.244.0.0/16")),
    ("clusterCIDR: 10.244.0.0/16", V6, None),
    ("clusterCIDR: 'fd00:10::/48,10.244.0.0/16'", V4, Detector(CIDR, "10.244.0.0/16")),
    ("clusterCIDR: 'fd00:10::/48,10.244.0.0/16'", V6, Detector(CIDR, "fd00:10::/48")),
    ("detectLocalMode: NodeCIDR", V4, Detector(CIDR, "10.244.7.0/24")),
    ("detectLocalMode: NodeCIDR", V6, Detector(CIDR, "fd00:10:7::/64")),
    ("detectLocalMode: NodeCIDR\nclusterCIDR: 10.244.0.0/16", V4, Detector(CIDR, "10.244.7.0/24")),
    ("detectLocalMode: BridgeInterface\ndetectLocal: {bridgeInterface: cbr0}", V6, Detector(NAMED, "cbr0")),
    (
        "detectLocalMode: InterfaceNamePrefix\ndetectLocal: {interfaceNamePrefix: veth}",
        V4,
        Detector(PREFIX, "veth"),
    ),
]


@pytest.mark.parametrize(("text", "family", "expected"), DETECTORS)
def test_local_pods_are_told_by_what_the_operator_said(text, family, expected):
    own = node("192.0.2.10", podCIDR="10.244.7.0/24", podCIDRs=["10.244.7.0/24", "fd00:10:7::/64"])
    assert detector(config(text), family, own) == expected


def test_an_old_node_has_one_pod_network_only():
    text = "detectLocalMode: NodeCIDR"
    assert detector(config(text), V4, node(podCIDR="10.244.7.0/24")) == Detector(CIDR, "10.244.7.0/24")
    assert detector(config(text), V4, None) is None


def test_a_view_holds_everything_decisions_ask_for():
    own = node("192.0.2.10", "2001:db8::10", labels={"topology.kubernetes.io/zone": "zone-1", "other": "x"})
    text = "clusterCIDR: 10.244.0.0/16\niptables: {masqueradeAll: true}"
    assert view(text, V4, own) == NodeView(
        family=V4,
        name="node-a",
        zone="zone-1",
        node_ip="192.0.2.10",
        addresses=("127.0.0.1", "127.0.1.1", "192.0.2.10", "198.51.100.7"),
        detector=Detector(CIDR, "10.244.0.0/16"),
        masquerade_all=True,
        node_ports=NodePortAddresses(),
        loopback_node_ports=True,
    )


def test_before_the_node_is_known_it_has_loopback_and_no_zone():
    seen = view("", V6, None)
    assert (seen.node_ip, seen.zone, seen.addresses) == ("::1", "", ("2001:db8::10", "::1", "fd00::7"))


def test_an_address_on_two_interfaces_is_one():
    assert view("", V4, BOTH, ("192.0.2.10", "192.0.2.10")).addresses == ("192.0.2.10",)


@pytest.mark.parametrize(
    ("text", "family", "hosts"),
    [
        ("", V4, ("0.0.0.0",)),
        ("", V6, ("::",)),
        ("nodePortAddresses: [192.0.2.0/24, 127.0.0.0/8]", V4, ("127.0.0.1", "127.0.1.1", "192.0.2.10")),
        ("nodePortAddresses: [192.0.2.0/24]", V6, ("::",)),
        ("nodePortAddresses: [203.0.113.0/24]", V4, ()),
    ],
)
def test_health_ports_listen_where_node_ports_answer(text, family, hosts):
    assert health_hosts(view(text, family, BOTH)) == hosts


@pytest.mark.parametrize(
    ("the_node", "is_eligible"),
    [
        (None, False),
        (node(), True),
        (node(unschedulable=True, taints=[{"key": "other", "effect": "NoSchedule"}]), True),
        (
            node(taints=[{"key": "a"}, {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoExecute"}]),
            False,
        ),
        (decode_as(Node, {"metadata": {"name": "n", "deletionTimestamp": "2026-01-01T00:00:00Z"}}), False),
    ],
    ids=["unknown", "plain", "other taints", "to be deleted", "being deleted"],
)
def test_a_node_that_is_to_go_is_not_eligible(the_node, is_eligible):
    assert eligible(the_node) is is_eligible
