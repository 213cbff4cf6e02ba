"""Which addresses are this node's, and what it is called."""

import pytest

from kubeproxy.api.node import NodeAddress
from kubeproxy.config.complaint import ConfigError
from kubeproxy.config.node import NodeIPs, candidate_ips, node_ips, node_name

CASES = [  # the Node's addresses, bindAddress, primary family, IPv4, IPv6
    ((), "", "IPv4", "127.0.0.1", "::1"),
    ((), "0.0.0.0", "IPv4", "127.0.0.1", "::1"),
    ((), "10.0.0.1", "IPv4", "10.0.0.1", "::1"),
    ((), "fd00:4321::2", "IPv6", "127.0.0.1", "fd00:4321::2"),
    (("192.168.1.1",), "0.0.0.0", "IPv4", "192.168.1.1", "::1"),
    (("192.168.1.1",), "::", "IPv4", "192.168.1.1", "::1"),
    (("fd00:1234::1",), "0.0.0.0", "IPv6", "127.0.0.1", "fd00:1234::1"),
    (("fd00:1234::1",), "::", "IPv6", "127.0.0.1", "fd00:1234::1"),
    (("90.90.90.90", "2001:db8::2"), "::", "IPv4", "90.90.90.90", "2001:db8::2"),
    (("2001:db8::2", "90.90.90.90"), "0.0.0.0", "IPv6", "90.90.90.90", "2001:db8::2"),
    (("90.90.90.90", "2001:db8::2"), "2001:db8::555", "IPv6", "90.90.90.90", "2001:db8::555"),
    (("2001:db8::2", "90.90.90.90"), "127.0.0.1", "IPv4", "127.0.0.1", "2001:db8::2"),
    (("10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"), "", "IPv4", "10.0.0.1", "fd00::1"),
    (("010.0.0.1",), "", "IPv4", "10.0.0.1", "::1"),
]


@pytest.mark.parametrize(("addresses", "bind", "primary", "ipv4", "ipv6"), CASES)
def test_the_node_has_an_address_in_each_family(addresses, bind, primary, ipv4, ipv6):
    found = node_ips(addresses, bind)
    assert found == NodeIPs(primary, ipv4, ipv6)
    assert (found.of("IPv4"), found.of("IPv6")) == (ipv4, ipv6)


@pytest.mark.parametrize(
    ("ips", "known"),
    [
        (NodeIPs("IPv4", "127.0.0.1", "fd00::1"), False),
        (NodeIPs("IPv6", "127.0.0.1", "fd00::1"), True),
        (NodeIPs("IPv4", "10.0.0.1", "::1"), True),
    ],
)
def test_a_node_is_known_by_its_primary_address(ips, known):
    assert ips.known is known


def test_internal_addresses_are_considered_before_external_ones():
    addresses = [
        NodeAddress(type="ExternalIP", address="198.51.100.1"),
        NodeAddress(type="Hostname", address="node-a"),
        NodeAddress(type="InternalIP", address="not an address"),
        NodeAddress(type="InternalIP", address="010.0.0.1"),
        NodeAddress(type="InternalDNS", address="10.9.9.9"),
        NodeAddress(type="ExternalIP", address="2001:DB8::1"),
        NodeAddress(type="InternalIP", address="fd00::1"),
    ]
    assert candidate_ips(addresses) == ("10.0.0.1", "fd00::1", "198.51.100.1", "2001:db8::1")


@pytest.mark.parametrize(
    ("override", "host", "name"),
    [("", "Host-1", "host-1"), (" Node-A ", "host", "node-a"), ("", " h \n", "h")],
)
def test_a_node_is_called_as_its_object_is(override, host, name):
    assert node_name(override, host) == name


@pytest.mark.parametrize(("override", "host"), [("", ""), ("  ", "host"), ("", " ")])
def test_a_node_without_a_name_cannot_start(override, host):
    with pytest.raises(
        ConfigError, match=r"empty hostname is invalid; name the node with --hostname-override"
    ):
        node_name(override, host)
