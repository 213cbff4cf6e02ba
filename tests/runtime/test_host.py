"""The host before our rules, on a kernel in memory: what is set, what is refused, and what is said."""

import errno

import pytest

from kubeproxy.api.meta import ObjectMeta
from kubeproxy.api.node import Node, NodeAddress, NodeSpec, NodeStatus
from kubeproxy.config.complaint import ConfigError
from kubeproxy.config.field import with_values
from kubeproxy.config.schema import Conntrack, KubeProxyConfig
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.files import refused_setting
from kubeproxy.kernel.memory import Memory
from kubeproxy.model.identity import Family
from kubeproxy.runtime.host import check_consistency, guard_from_oom, leave_other_modes, limit_connections
from kubeproxy.wire.netlink import AF_INET, AF_INET6

NF = "net/netfilter/nf_conntrack_"


@pytest.fixture
def host():
    memory = Memory()
    memory.settings |= {
        f"{NF}max": "262144",
        f"{NF}tcp_timeout_established": "432000",
        f"{NF}tcp_timeout_close_wait": "3600",
    }
    memory.parameters["nf_conntrack/hashsize"] = 65536
    return memory


def test_limits_are_set_and_what_changed_is_told(host, capsys):
    limit_connections(Conntrack(maxPerCore=100000), 4, host)
    assert host.settings[f"{NF}max"] == "400000"
    assert host.parameters["nf_conntrack/hashsize"] == 100000
    said = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    assert said == [
        f'"Changed sysctl" name="{NF}max" before="262144" after="400000"',
        f'"Changed sysctl" name="{NF}tcp_timeout_established" before="432000" after="86400"',
    ]


def test_a_table_that_is_large_enough_stays(host):
    limit_connections(Conntrack(), 1, host)
    assert host.parameters["nf_conntrack/hashsize"] == 65536


class Namespace(Memory):
    """A network namespace that is not the host's: the limit can be read there and not written."""

    def _set(self, op):
        if op.path.endswith("_max"):
            raise refused_setting(op.path, errno.EACCES, op.value)
        super()._set(op)


def test_where_the_limit_cannot_be_written_the_way_around_is_named(host):
    cell = Namespace()
    cell.settings |= host.settings
    with pytest.raises(KernelError) as caught:
        limit_connections(Conntrack(), 2, cell)
    assert str(caught.value) == (
        "could not set conntrack parameters from kube-proxy configuration: "
        f"sysctl {NF}max=131072: Permission denied (CAP_NET_ADMIN is needed; "
        "in a network namespace or a container that may not write it, conntrack.maxPerCore: 0 leaves it alone)"
    )


def test_who_only_tries_things_out_is_told_and_goes_on(host, capsys):
    cell = Namespace()
    cell.settings |= host.settings
    limit_connections(Conntrack(), 2, cell, must=False)
    said = capsys.readouterr().err
    assert "A limit of connections stays as it is" in said and "conntrack.maxPerCore: 0" in said
    assert cell.settings[f"{NF}tcp_timeout_established"] == "86400"


def test_without_the_module_its_parameter_names_the_way_around_too(host):
    host.parameters.clear()
    with pytest.raises(KernelError) as caught:
        limit_connections(Conntrack(), 2, host)
    assert "/sys/module/nf_conntrack/parameters/hashsize=32768: No such file" in str(caught.value)
    assert "conntrack.maxPerCore: 0 leaves it alone" in str(caught.value)


def test_tables_of_another_mode_go_and_no_others(host):
    host.foreign_tables = {(AF_INET, "kube-proxy"), (AF_INET6, "kube-proxy"), (AF_INET, "mine")}
    assert leave_other_modes(host)
    assert host.foreign_tables == {(AF_INET, "mine")}


def test_the_score_is_set_or_its_refusal_told(host, capsys):
    guard_from_oom(-999, host)
    assert host.oom_score == -999


def a_node(*addresses, pod_cidrs=()):
    status = NodeStatus(addresses=tuple(NodeAddress("InternalIP", address) for address in addresses))
    return Node(ObjectMeta(name="a"), NodeSpec(podCIDRs=pod_cidrs), status)


def config(**values):
    return with_values(KubeProxyConfig(), {name.replace("__", "."): value for name, value in values.items()})


def test_a_configuration_that_fits_is_not_spoken_of(capsys):
    check_consistency(config(nodePortAddresses=("primary",)), a_node("192.0.2.1"), Family)
    assert capsys.readouterr().err == ""


def test_doubts_are_one_line_each(capsys):
    check_consistency(config(clusterCIDR="fd00::/48"), a_node("192.0.2.1"), Family)
    lines = capsys.readouterr().err.splitlines()
    assert [line[0] for line in lines] == ["E", "E"]
    assert all('"Kube-proxy configuration may be incomplete or incorrect" err="' in line for line in lines)
    assert "nodePortAddresses is unset" in lines[0]
    assert "cluster is IPv4-primary but clusterCIDRs contains only IPv6 addresses" in lines[1]


def test_what_cannot_work_ends_the_start():
    with pytest.raises(ConfigError) as caught:
        check_consistency(config(clusterCIDR="fd00::/48"), a_node("192.0.2.1"), [Family.IPV4])
    assert str(caught.value).startswith(
        "kube-proxy configuration is incorrect: "
        "cluster is IPv4-only but clusterCIDRs contains only IPv6 addresses; "
    )
    with pytest.raises(ConfigError):
        check_consistency(
            config(detectLocalMode="NodeCIDR"), a_node("192.0.2.1", pod_cidrs=("fd00::/64",)), Family
        )
