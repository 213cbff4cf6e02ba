"""Every spelling that the API may hold, and the one that comes out."""

import pytest

from kubeproxy.api.addresses import canonical_cidr, canonical_ip, families_of, parse_ip

IPS = [  # as written            as used
    ("172.30.0.041", "172.30.0.41"),
    ("1.2.3.004", "1.2.3.4"),
    ("10.180.00.001", "10.180.0.1"),
    ("0000000010.0.0.1", "10.0.0.1"),
    ("10.0.0.1", "10.0.0.1"),
    ("255.255.255.255", "255.255.255.255"),
    ("2001:db8:0:0::0001", "2001:db8::1"),
    ("2001:0DB8::00001", "2001:db8::1"),
    ("::", "::"),
    ("::1", "::1"),
    ("0::0", "::"),
    ("::ffff:10.1.2.3", "10.1.2.3"),
    ("::ffff:010.1.2.003", "10.1.2.3"),
    ("::ffff:0a01:0203", "10.1.2.3"),
    ("64:ff9b::10.1.2.3", "64:ff9b::a01:203"),
    ("fd00:10:30::130", "fd00:10:30::130"),
]
NOT_IPS = [
    "", " ", "1.2.3", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4\n", "1.2.3.256", "1.2.3.4.5", "1.2.3.-4", "1.2.3.0x4", "1,2,3,4",
    "fe80::1%eth0", "fe80::1%", ":", ":::", "1::2::3", "12345::", "g::1", "::1.2.3", "1.2.3.4::", "::ffff:1.2.3.400",
    "10.0.0.1/32", "::1/128", "١.2.3.4", "localhost", "0" * 10_000 + ".0.0.0", "[::1]", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7",
]  # fmt: skip
CIDRS = [
    ("203.0.113.000/025", "203.0.113.0/25"),
    ("10.1.2.77/28", "10.1.2.64/28"),
    ("0.0.0.0/0", "0.0.0.0/0"),
    ("10.0.0.1/0", "0.0.0.0/0"),
    ("10.1.2.3/32", "10.1.2.3/32"),
    ("2001:db8::1/64", "2001:db8::/64"),
    ("::/0", "::/0"),
    ("::ffff:10.1.2.3/120", "10.1.2.0/24"),
    ("::ffff:10.1.2.3/80", "::/80"),
]
NOT_CIDRS = [
    "", "/", "10.1.2.3", "10.1.2.3/", "10.1.2.3/33", "10.1.2.3/-1", "10.1.2.3/+8", "10.1.2.3/8 ", " 10.1.2.3/8", "/8",
    "10.1.2.3/255.0.0.0", "::/129", "fe80::1%eth0/64", "10.1.2.3/8/8", "10.1.2/24",
]  # fmt: skip


@pytest.mark.parametrize("written, used", IPS)
def test_an_address_has_one_canonical_spelling(written: str, used: str) -> None:
    assert canonical_ip(written) == used
    assert canonical_ip(used) == used


@pytest.mark.parametrize("written", NOT_IPS)
def test_what_is_no_address(written: str) -> None:
    assert canonical_ip(written) is None


@pytest.mark.parametrize("written, used", CIDRS)
def test_a_network_loses_its_host_bits(written: str, used: str) -> None:
    assert canonical_cidr(written) == used
    assert canonical_cidr(used) == used


@pytest.mark.parametrize("written", NOT_CIDRS)
def test_what_is_no_network(written: str) -> None:
    assert canonical_cidr(written) is None


def test_an_address_in_ipv6_clothes_is_of_family_ipv4() -> None:
    assert families_of(["10.0.0.1", "::ffff:10.0.0.2", "fd00::1", "nonsense"]) == ("IPv4", "IPv4", "IPv6")
    assert parse_ip("::ffff:10.0.0.2") == parse_ip("10.0.0.2")
