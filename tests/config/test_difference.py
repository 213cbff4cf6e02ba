"""What changed, in the words of the file."""

import pytest

from kubeproxy.config.difference import differences, taking
from kubeproxy.config.duration import parse_duration
from kubeproxy.config.field import fields, value_at, with_values
from kubeproxy.config.schema import KubeProxyConfig

DEFAULT = KubeProxyConfig()


def changed(values):
    return with_values(DEFAULT, values)


@pytest.mark.parametrize(
    ("values", "said", "live"),
    [
        ({"iptables.syncPeriod": parse_duration("10s")}, "iptables.syncPeriod: 30s → 10s", True),
        ({"logging.verbosity": 4}, "logging.verbosity: 0 → 4", True),
        ({"clusterCIDR": "10.1.0.0/16"}, 'clusterCIDR: "" → 10.1.0.0/16', True),
        ({"nodePortAddresses": ("primary",)}, "nodePortAddresses: [] → [primary]", True),
        ({"iptables.masqueradeAll": True}, "iptables.masqueradeAll: false → true", True),
        ({"detectLocalMode": "BridgeInterface"}, "detectLocalMode: ClusterCIDR → BridgeInterface", True),
        ({"detectLocalMode": "NodeCIDR"}, "detectLocalMode: ClusterCIDR → NodeCIDR", False),
        ({"metricsBindAddress": "0.0.0.0:1"}, "metricsBindAddress: 127.0.0.1:10249 → 0.0.0.0:1", True),
        ({"conntrack.maxPerCore": 0}, "conntrack.maxPerCore: 32768 → 0", False),
        ({"hostnameOverride": "b"}, 'hostnameOverride: "" → b', False),
        ({"featureGates": {"AllAlpha": True}}, 'featureGates: "" → AllAlpha=true', False),
        ({"mode": "ipvs"}, "mode: iptables → ipvs", False),
    ],
)  # fmt: skip
def test_a_change_is_told_with_both_values(values, said, live):
    [found] = differences(DEFAULT, changed(values))
    assert (str(found), found.live) == (said, live)


def test_leaving_node_cidr_waits_as_well():
    [found] = differences(changed({"detectLocalMode": "NodeCIDR"}), DEFAULT)
    assert not found.live


def test_equal_configurations_differ_in_nothing():
    assert differences(DEFAULT, changed({"mode": "iptables"})) == ()


def test_changes_come_in_the_order_of_the_schema_and_can_be_taken_one_by_one():
    after = changed({"oomScoreAdj": 1, "logging.verbosity": 2, "iptables.masqueradeBit": 3})
    found = differences(DEFAULT, after)
    assert [one.field for one in found] == ["logging.verbosity", "iptables.masqueradeBit", "oomScoreAdj"]
    mixed = taking(DEFAULT, after, tuple(one for one in found if one.live))
    assert (mixed.logging.verbosity, mixed.iptables.masqueradeBit, mixed.oomScoreAdj) == (2, 3, -999)
    assert taking(DEFAULT, after, found) == after


def test_every_field_can_be_told():
    """A field whose values cannot be shown would end the proxy when somebody changes it."""
    for field in fields():
        assert isinstance(field.kind.show(value_at(DEFAULT, field.path)), str)


def test_what_can_be_applied_under_way():
    """The list is a promise to operators; docs/config.md is made of it."""
    live = {field.path for field in fields() if field.live}
    assert {path for path in live if not path.startswith("logging.")} == {
        "detectLocalMode", "detectLocal.bridgeInterface", "detectLocal.interfaceNamePrefix", "clusterCIDR",
        "nodePortAddresses", "healthzBindAddress", "metricsBindAddress", "bindAddressHardFail",
        "iptables.masqueradeBit", "iptables.masqueradeAll", "iptables.localhostNodePorts",
        "iptables.syncPeriod", "iptables.minSyncPeriod", "ipvs.syncPeriod", "ipvs.minSyncPeriod",
        "nftables.masqueradeBit", "nftables.masqueradeAll", "nftables.syncPeriod", "nftables.minSyncPeriod",
    }  # fmt: skip
    assert all(field.live for field in fields() if field.path.startswith("logging."))
