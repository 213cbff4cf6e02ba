"""nodePortAddresses: where node ports answer, in each family."""

import pytest

from kubeproxy.config.nodeports import NodePortSelection, select_node_port_networks

EVERYWHERE = None  # instead of a list of networks
V4, V6 = "192.0.2.10", "2001:db8::10"
LO4, LO6 = "127.0.0.1", "::1"

CASES = [  # entries, node's IPv4, node's IPv6 → IPv4 networks, IPv6 networks
    ([], V4, V6, EVERYWHERE, EVERYWHERE),
    (["192.0.2.0/24"], V4, V6, ["192.0.2.0/24"], EVERYWHERE),
    (["2001:db8::/64"], V4, V6, EVERYWHERE, ["2001:db8::/64"]),
    (["0.0.0.0/0", "192.0.2.0/24", "2001:db8::1/128"], V4, V6, EVERYWHERE, ["2001:db8::1/128"]),
    (["192.0.2.0/24", "0.0.0.0/0"], V4, V6, EVERYWHERE, EVERYWHERE),
    (["127.0.0.0/8"], V4, V6, ["127.0.0.0/8"], EVERYWHERE),
    (["primary"], V4, LO6, [f"{V4}/32"], EVERYWHERE),
    (["primary"], LO4, LO6, EVERYWHERE, EVERYWHERE),
    (["primary"], V4, V6, [f"{V4}/32"], [f"{V6}/128"]),
    (["primary"], "", V6, EVERYWHERE, [f"{V6}/128"]),
    (["primary", "localhost"], V4, V6, [f"{V4}/32", "127.0.0.0/8"], [f"{V6}/128", "::1/128"]),
    (["primary", "localhost"], V4, LO6, [f"{V4}/32", "127.0.0.0/8"], ["::1/128"]),
    (["localhost"], V4, V6, ["127.0.0.0/8"], ["::1/128"]),
    (["all"], V4, V6, EVERYWHERE, EVERYWHERE),
    (["localhost", "all"], V4, V6, EVERYWHERE, EVERYWHERE),
    (["primary", "198.51.100.0/24"], V4, V6, [f"{V4}/32", "198.51.100.0/24"], [f"{V6}/128"]),
    (["192.0.2.77/24", "192.0.2.0/24", "010.0.0.0/8"], V4, V6, ["192.0.2.0/24", "10.0.0.0/8"], EVERYWHERE),
    (["nonsense"], V4, V6, EVERYWHERE, EVERYWHERE),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "ipv4", "ipv6", "networks4", "networks6"), CASES)
def test_each_family_has_its_networks(entries, ipv4, ipv6, networks4, networks6):
    for family, node_ip, networks in (("IPv4", ipv4, networks4), ("IPv6", ipv6, networks6)):
        wanted = NodePortSelection(networks is EVERYWHERE, tuple(networks or ()))
        assert select_node_port_networks(entries, family, node_ip) == wanted


@pytest.mark.parametrize(
    ("entries", "holds"),
    [
        ([], True),
        (["0.0.0.0/0"], True),
        (["127.0.0.0/8"], True),
        (["127.3.0.0/16"], True),
        (["127.0.0.1/32"], True),
        (["126.0.0.0/7"], True),
        (["64.0.0.0/2"], True),
        (["128.0.0.0/1"], False),
        (["192.0.2.0/24"], False),
        (["localhost", "192.0.2.0/24"], True),
        (["primary"], False),
    ],
)
def test_loopback_is_among_them_or_not(entries, holds):
    assert select_node_port_networks(entries, "IPv4", V4).holds_ipv4_loopback is holds


def test_ipv6_networks_hold_no_ipv4_loopback():
    assert not select_node_port_networks(["::1/128"], "IPv6", V6).holds_ipv4_loopback
