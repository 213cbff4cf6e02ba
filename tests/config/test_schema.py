"""The table itself: every row is whole, and the defaults are those of the API."""

import pytest

from kubeproxy.config.duration import parse_duration
from kubeproxy.config.field import fields, value_at, with_values
from kubeproxy.config.row import Group, When
from kubeproxy.config.schema import KubeProxyConfig

# Every field of the API at this release, in its order, and ours at the end.
_PATHS = """
featureGates
clientConnection.kubeconfig clientConnection.acceptContentTypes clientConnection.contentType
clientConnection.qps clientConnection.burst
logging.format logging.flushFrequency logging.verbosity logging.vmodule
logging.options.text.splitStream logging.options.text.infoBufferSize
logging.options.json.splitStream logging.options.json.infoBufferSize
hostnameOverride bindAddress healthzBindAddress metricsBindAddress bindAddressHardFail enableProfiling
showHiddenMetricsForVersion mode
iptables.masqueradeBit iptables.masqueradeAll iptables.localhostNodePorts iptables.syncPeriod
iptables.minSyncPeriod
ipvs.syncPeriod ipvs.minSyncPeriod ipvs.scheduler ipvs.excludeCIDRs ipvs.strictARP ipvs.tcpTimeout
ipvs.tcpFinTimeout ipvs.udpTimeout
nftables.masqueradeBit nftables.masqueradeAll nftables.syncPeriod nftables.minSyncPeriod
winkernel.networkName winkernel.sourceVip winkernel.enableDSR winkernel.rootHnsEndpointName
winkernel.forwardHealthCheckVip
detectLocalMode detectLocal.bridgeInterface detectLocal.interfaceNamePrefix clusterCIDR nodePortAddresses
oomScoreAdj
conntrack.maxPerCore conntrack.min conntrack.tcpEstablishedTimeout conntrack.tcpCloseWaitTimeout
conntrack.tcpBeLiberal conntrack.udpTimeout conntrack.udpStreamTimeout
configSyncPeriod portRange udpIdleTimeout windowsRunAsService
"""
PATHS = _PATHS.split()


def test_every_field_of_the_api_is_there():
    assert [field.path for field in fields()] == PATHS


def test_every_row_says_what_it_means_in_a_line():
    for field in fields():
        assert 5 < len(field.meaning) < 85, field.path
        assert not field.meaning.endswith("."), field.path


def test_the_default_of_a_field_is_that_of_the_configuration():
    config = KubeProxyConfig()
    assert all(value_at(config, field.path) == field.default for field in fields())


def test_a_field_that_has_a_default_says_when_it_holds():
    """Otherwise null in a file would mean one thing and leaving the field out another."""
    for field in fields():
        assert field.default == field.kind.zero or field.when is not When.GIVEN, field.path


def test_windows_fields_are_the_only_ones_without_effect():
    ignored = {field.path for field in fields() if field.group is Group.IGNORED}
    assert ignored == {path for path in PATHS if path.startswith("win")}


def test_one_field_is_changed_and_the_rest_stays_the_same_object():
    before = KubeProxyConfig()
    after = with_values(before, {"logging.options.text.splitStream": True, "mode": "ipvs"})
    assert value_at(after, "logging.options.text.splitStream") is True
    assert after.mode == "ipvs"
    assert after.logging.options.json is before.logging.options.json
    assert after.iptables is before.iptables


HOMES = [  # mode, whose periods, whose masqueradeAll and masqueradeBit
    ("iptables", "iptables", "iptables"),
    ("userspace", "iptables", "iptables"),
    ("ipvs", "ipvs", "iptables"),
    ("nftables", "nftables", "nftables"),
    ("unheard of", "iptables", "iptables"),
]


@pytest.mark.parametrize(("mode", "periods", "marks"), HOMES)
def test_three_settings_live_in_the_block_of_the_mode(mode, periods, marks):
    values = {
        f"{periods}.syncPeriod": parse_duration("41s"),
        f"{periods}.minSyncPeriod": parse_duration("2s"),
        f"{marks}.masqueradeAll": True,
        f"{marks}.masqueradeBit": 9,
    }
    config = with_values(KubeProxyConfig(mode=mode), values)
    assert (str(config.sync_period), str(config.min_sync_period)) == ("41s", "2s")
    assert (config.masquerade_all, config.masquerade_bit) == (True, 9)


@pytest.mark.parametrize(
    ("text", "cidrs"), [("", ()), ("10.0.0.0/8", ("10.0.0.0/8",)), ("a, b", ("a", " b")), (",", ("", ""))]
)
def test_cluster_cidrs_are_split_and_not_trimmed(text, cidrs):
    assert KubeProxyConfig(clusterCIDR=text).cluster_cidrs == cidrs
