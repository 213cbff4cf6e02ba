"""How many connections are tracked: the rows of the table that operators tune by."""

import pytest

from kubeproxy.config.duration import parse_duration
from kubeproxy.config.schema import Conntrack
from kubeproxy.runtime.conntracklimits import conntrack_limits, most_connections
from kubeproxy.wire.sysctl import ModuleParameter, Sysctl


@pytest.mark.parametrize(
    ("per_core", "least", "processors", "most"),
    [
        (0, 131072, 64, None),
        (0, 0, 64, None),
        (32768, 131072, 1, 131072),
        (32768, 131072, 4, 131072),
        (32768, 131072, 5, 163840),
        (32768, 131072, 32, 1048576),
        (32768, 131072, 33, 1048576),
        (32768, 2000000, 33, 2000000),
        (32768, 1040000, 64, 1048576),
        (1, 0, 3, 3),
        (2000000, 0, 1, 1048576),
    ],
)
def test_the_number_of_connections(per_core, least, processors, most):
    """A limit by the size of the host, between what is asked for at least and a ceiling."""
    assert most_connections(Conntrack(maxPerCore=per_core, min=least), processors) == most


def ops(asked, processors=2):
    return [limit.op for limit in conntrack_limits(asked, processors)]


NF = "net/netfilter/nf_conntrack_"


def test_by_default_the_limit_its_table_and_two_timeouts_are_set():
    assert ops(Conntrack()) == [
        Sysctl(f"{NF}max", "131072"),
        ModuleParameter("nf_conntrack", "hashsize", 32768),
        Sysctl(f"{NF}tcp_timeout_established", "86400"),
        Sysctl(f"{NF}tcp_timeout_close_wait", "3600"),
    ]


def test_all_that_can_be_asked_for():
    second = parse_duration("1m1.9s")
    asked = Conntrack(
        maxPerCore=0,
        tcpBeLiberal=True,
        tcpEstablishedTimeout=second,
        tcpCloseWaitTimeout=second,
        udpTimeout=second,
        udpStreamTimeout=second,
    )
    names = ("tcp_timeout_established", "tcp_timeout_close_wait", "udp_timeout", "udp_timeout_stream")
    assert ops(asked) == [
        Sysctl(f"{NF}tcp_be_liberal", "1"),
        *(Sysctl(f"{NF}{name}", "61") for name in names),
    ]


def test_zeros_leave_everything_alone():
    zero = parse_duration("0")
    assert ops(Conntrack(maxPerCore=0, tcpEstablishedTimeout=zero, tcpCloseWaitTimeout=zero)) == []


def test_each_setting_names_the_field_that_asks_for_it():
    limits = list(conntrack_limits(Conntrack(tcpBeLiberal=True), 2))
    assert {(limit.field, limit.leave) for limit in limits} == {
        ("conntrack.maxPerCore", "0"),
        ("conntrack.tcpBeLiberal", "false"),
        ("conntrack.tcpEstablishedTimeout", "0s"),
        ("conntrack.tcpCloseWaitTimeout", "0s"),
    }
