"""Addresses with ports, as Go's net package takes them apart."""

import pytest

from kubeproxy.config.hostport import split_host_port, with_port
from kubeproxy.config.portrange import PortRange, parse_port_range


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("10.0.0.1:80", ("10.0.0.1", "80")),
        ("[::1]:80", ("::1", "80")),
        (":80", ("", "80")),
        ("host:", ("host", "")),
        ("[host]:80", ("host", "80")),
        ("[]:80", ("", "80")),
        ("", None),
        ("10.0.0.1", None),
        ("::1", None),
        ("::1:80", None),
        ("[::1]", None),
        ("[::1]80", None),
        ("[::1]:80:90", None),
        ("[::1:80", None),
        ("a[b]:80", None),
        ("[[::1]]:80", None),
        ("host:[80]", None),
    ],
)
def test_host_and_port(text, parts):
    assert split_host_port(text) == parts


@pytest.mark.parametrize(
    ("address", "whole"),
    [
        ("10.0.0.1", "10.0.0.1:7"),
        ("010.0.0.1", "010.0.0.1:7"),
        ("::", "[::]:7"),
        ("10.0.0.1:80", "10.0.0.1:80"),
        ("10.0.0.1:", "10.0.0.1:"),
        ("nonsense", "nonsense"),
        ("", ""),
    ],
)
def test_a_missing_port_is_filled_in(address, whole):
    assert with_port(address, 7) == whole


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("", PortRange()),
        ("0", PortRange()),
        ("0-0", PortRange()),
        ("80", PortRange(80, 80)),
        ("300-2000", PortRange(300, 2000)),
        (" 300+10 ", PortRange(300, 310)),
        ("65535", PortRange(65535, 65535)),
        ("2000-300", None),
        ("65530+10", None),
        ("65536", None),
        ("-5", None),
        ("a-b", None),
        ("1-", None),
        ("1 - 2", None),
    ],
)
def test_a_range_of_ports(text, ports):
    assert parse_port_range(text) == ports


def test_no_range_is_any_port():
    assert PortRange().any_port
    assert not PortRange(80, 80).any_port
