"""Flags or a file: which of the two counts, and what the result means for each mode."""

import subprocess
import sys

import pytest

from kubeproxy.config.complaint import ConfigError, Remark
from kubeproxy.config.effective import effective_config, read_effective
from kubeproxy.config.field import value_at
from kubeproxy.config.filevalue import VModuleItem
from kubeproxy.config.invocation import parse_flags
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.config.settle import settled
from tests.config.files import ENVELOPE


def by_flags(*arguments: str) -> KubeProxyConfig:
    return effective_config(parse_flags(arguments), None)


def by_file(text: str, *arguments: str) -> KubeProxyConfig:
    return effective_config(parse_flags(["--config=f.yaml", *arguments]), ENVELOPE + text)


def test_without_flags_and_without_a_file_all_is_default():
    assert by_flags() == by_file("") == settled(KubeProxyConfig())


FLAG_VALUES = [  # flags, field, value as text
    (["--kubeconfig=k"], "clientConnection.kubeconfig", "k"),
    (["--kube-api-content-type=application/json"], "clientConnection.contentType", "application/json"),
    (["--kube-api-qps=0"], "clientConnection.qps", "0.0"),
    (["--kube-api-burst=0"], "clientConnection.burst", "0"),
    (["--feature-gates=AllAlpha=false"], "featureGates", "{'AllAlpha': False}"),
    (["--bind-address=::1"], "bindAddress", "::1"),
    (["--bind-address=::1"], "healthzBindAddress", "0.0.0.0:10256"),
    (["--bind-address=::1"], "metricsBindAddress", "127.0.0.1:10249"),
    (["--bind-address-hard-fail"], "bindAddressHardFail", "True"),
    (["--profiling"], "enableProfiling", "True"),
    (["--show-hidden-metrics-for-version=1.35"], "showHiddenMetricsForVersion", "1.35"),
    (["--proxy-mode=ipvs"], "mode", "ipvs"),
    (["--proxy-mode="], "mode", "iptables"),
    (["--iptables-masquerade-bit=3"], "iptables.masqueradeBit", "3"),
    (["--iptables-masquerade-bit=3"], "nftables.masqueradeBit", "14"),
    (["--iptables-localhost-nodeports=false"], "iptables.localhostNodePorts", "False"),
    (["--ipvs-scheduler=sh"], "ipvs.scheduler", "sh"),
    (["--ipvs-exclude-cidrs=a,b"], "ipvs.excludeCIDRs", "('a', 'b')"),
    (["--ipvs-strict-arp"], "ipvs.strictARP", "True"),
    (["--ipvs-tcp-timeout=1s"], "ipvs.tcpTimeout", "1s"),
    (["--ipvs-tcpfin-timeout=2s"], "ipvs.tcpFinTimeout", "2s"),
    (["--ipvs-udp-timeout=3s"], "ipvs.udpTimeout", "3s"),
    (["--detect-local-mode=NodeCIDR"], "detectLocalMode", "NodeCIDR"),
    (["--detect-local-mode="], "detectLocalMode", "ClusterCIDR"),
    (["--pod-bridge-interface=cni0"], "detectLocal.bridgeInterface", "cni0"),
    (["--pod-interface-name-prefix=veth"], "detectLocal.interfaceNamePrefix", "veth"),
    (["--cluster-cidr=a,b"], "clusterCIDR", "a,b"),
    (["--nodeport-addresses=a", "--nodeport-addresses=b"], "nodePortAddresses", "('a', 'b')"),
    (["--oom-score-adj=-998"], "oomScoreAdj", "-998"),
    (["--conntrack-max-per-core=0"], "conntrack.maxPerCore", "0"),
    (["--conntrack-min=1"], "conntrack.min", "1"),
    (["--conntrack-tcp-timeout-established=0"], "conntrack.tcpEstablishedTimeout", "0s"),
    (["--conntrack-tcp-timeout-close-wait=1m"], "conntrack.tcpCloseWaitTimeout", "1m0s"),
    (["--conntrack-tcp-be-liberal"], "conntrack.tcpBeLiberal", "True"),
    (["--conntrack-udp-timeout=1m"], "conntrack.udpTimeout", "1m0s"),
    (["--conntrack-udp-timeout-stream=1m"], "conntrack.udpStreamTimeout", "1m0s"),
    (["--config-sync-period=1m"], "configSyncPeriod", "1m0s"),
    (["--proxy-mode=userspace", "--proxy-port-range=1-2"], "portRange", "1-2"),
    (["--proxy-port-range=1-2"], "portRange", ""),
    (["--proxy-mode=userspace", "--udp-timeout=1s"], "udpIdleTimeout", "1s"),
    (["--udp-timeout=1s"], "udpIdleTimeout", "250ms"),
    (["-v=4"], "logging.verbosity", "4"),
    (["--logging-format=json"], "logging.format", "json"),
    (["--log-flush-frequency=0"], "logging.flushFrequency", "0s"),
    (["--log-text-split-stream"], "logging.options.text.splitStream", "True"),
    (["--log-json-split-stream"], "logging.options.json.splitStream", "True"),
    (["--log-text-info-buffer-size=1k"], "logging.options.text.infoBufferSize", "1k"),
    (["--log-json-info-buffer-size=1k"], "logging.options.json.infoBufferSize", "1k"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "path", "value"), FLAG_VALUES)
def test_a_flag_sets_its_field(arguments, path, value):
    assert str(value_at(by_flags(*arguments), path)) == value


ADDRESSES = [  # flags, healthz, metrics
    ([], "0.0.0.0:10256", "127.0.0.1:10249"),
    (["--healthz-bind-address=10.0.0.1"], "10.0.0.1:10256", "127.0.0.1:10249"),
    (["--healthz-bind-address=::"], "[::]:10256", "127.0.0.1:10249"),
    (["--healthz-bind-address="], "0.0.0.0:10256", "127.0.0.1:10249"),
    (["--healthz-bind-address=10.0.0.1", "--healthz-port=7"], "10.0.0.1:7", "127.0.0.1:10249"),
    (["--healthz-port=7"], "0.0.0.0:10256", "127.0.0.1:10249"),
    (["--healthz-port=0"], "", "127.0.0.1:10249"),
    (["--healthz-port=0", "--healthz-bind-address=10.0.0.1:5"], "", "127.0.0.1:10249"),
    (["--metrics-bind-address=::1", "--metrics-port=9"], "0.0.0.0:10256", "[::1]:9"),
    (["--metrics-port=0"], "0.0.0.0:10256", ""),
    (["--healthz-bind-address=10.0.0.1", "--write-config-to=w"], "10.0.0.1:10256", "127.0.0.1:10249"),
]


@pytest.mark.parametrize(("arguments", "healthz", "metrics"), ADDRESSES)
def test_ports_of_the_servers(arguments, healthz, metrics):
    config = by_flags(*arguments)
    assert (config.healthzBindAddress, config.metricsBindAddress) == (healthz, metrics)


PERIODS = [  # mode, flags, sync period, min sync period
    ("iptables", [], "30s", "1s"),
    ("nftables", [], "30s", "1s"),
    ("userspace", [], "30s", "1s"),
    ("ipvs", [], "30s", "1s"),
    ("iptables", ["--iptables-sync-period=5s", "--iptables-min-sync-period=0"], "5s", "0s"),
    ("nftables", ["--iptables-sync-period=5s", "--iptables-min-sync-period=2s"], "5s", "2s"),
    ("nftables", ["--ipvs-sync-period=5s", "--ipvs-min-sync-period=2s"], "30s", "1s"),
    ("ipvs", ["--iptables-sync-period=5s", "--iptables-min-sync-period=2s"], "30s", "1s"),
    ("ipvs", ["--ipvs-sync-period=5s", "--ipvs-min-sync-period=0s"], "5s", "0s"),
]


@pytest.mark.parametrize(("mode", "arguments", "sync", "shortest"), PERIODS)
def test_flags_for_periods_reach_the_mode(mode, arguments, sync, shortest):
    config = by_flags(f"--proxy-mode={mode}", *arguments)
    assert (str(config.sync_period), str(config.min_sync_period)) == (sync, shortest)


def test_the_shortest_pause_of_ipvs_depends_on_where_it_is_not_said():
    """One second by flags and none by file: it has always been so, and both kinds of clusters are in use."""
    assert str(by_flags("--proxy-mode=ipvs").min_sync_period) == "1s"
    assert str(by_file("mode: ipvs").min_sync_period) == "0s"


@pytest.mark.parametrize("mode", ["iptables", "nftables", "ipvs", "userspace"])
def test_masquerade_all_is_one_flag_for_all_modes(mode):
    assert by_flags(f"--proxy-mode={mode}", "--masquerade-all").masquerade_all


ONLY_HOME = """
iptables: {syncPeriod: 11s, minSyncPeriod: 1s, masqueradeAll: true}
ipvs: {syncPeriod: 12s, minSyncPeriod: 2s}
nftables: {syncPeriod: 13s, minSyncPeriod: 3s, masqueradeAll: true}
"""


@pytest.mark.parametrize(
    ("mode", "kept"),
    [
        ("iptables", "11s 1s True 0s 0s 0s 0s False"),
        ("userspace", "11s 1s True 0s 0s 0s 0s False"),
        ("ipvs", "0s 0s True 12s 2s 0s 0s False"),
        ("nftables", "0s 0s False 0s 0s 13s 3s True"),
    ],
)
def test_what_other_modes_would_use_is_dropped(mode, kept):
    config = by_file(f"mode: {mode}\n{ONLY_HOME}")
    paths = (
        "iptables.syncPeriod iptables.minSyncPeriod iptables.masqueradeAll ipvs.syncPeriod ipvs.minSyncPeriod"
    )
    paths += " nftables.syncPeriod nftables.minSyncPeriod nftables.masqueradeAll"
    assert " ".join(str(value_at(config, path)) for path in paths.split()) == kept


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("mode: nftables", ("primary",)),
        ("mode: nftables\nnodePortAddresses: []", ("primary",)),
        ("mode: nftables\nnodePortAddresses: [10.0.0.0/8]", ("10.0.0.0/8",)),
        ("mode: iptables", ()),
        ("mode: ipvs\nnodePortAddresses: null", ()),
    ],
)
def test_nftables_answers_node_ports_on_the_primary_address(text, addresses):
    assert by_file(text).nodePortAddresses == addresses


def test_a_file_is_the_whole_configuration():
    flags = ["--proxy-mode=ipvs", "--cluster-cidr=", "--oom-score-adj=1", "--feature-gates=Nonsense=true"]
    assert by_file("clusterCIDR: 10.0.0.0/8", *flags) == by_file("clusterCIDR: 10.0.0.0/8")


def test_flags_for_logging_count_beside_a_file_if_they_were_given():
    text = "logging: {verbosity: 2, vmodule: [{filePattern: a, verbosity: 1}], flushFrequency: 7s}"
    assert by_file(text).logging.verbosity == 2
    config = by_file(text, "-v=5", "--vmodule=b=3", "--log-flush-frequency=1s")
    assert (config.logging.verbosity, str(config.logging.flushFrequency)) == (5, "1s")
    assert config.logging.vmodule == (VModuleItem("b", 3), VModuleItem("a", 1))


@pytest.mark.parametrize(
    ("flag", "name"),
    [
        ([], "From-File"),
        (["--hostname-override= Node-B "], "node-b"),
        (["--hostname-override="], "From-File"),
    ],
)
def test_the_flag_for_the_node_name_wins_over_the_file(flag, name):
    assert by_file("hostnameOverride: From-File", *flag).hostnameOverride == name


def test_a_node_name_of_blanks_is_refused():
    with pytest.raises(ConfigError) as caught:
        by_flags("--hostname-override=  ")
    (complaint,) = caught.value.complaints
    assert complaint.stock == "empty hostname-override is invalid"
    assert complaint.remedy == "name the node, or leave the flag out to use the host name"


def test_a_cluster_cidr_that_is_given_but_empty_is_refused():
    with pytest.raises(ConfigError) as caught:
        by_flags("--cluster-cidr=")
    assert caught.value.complaints[0].stock == (
        'KubeProxyConfiguration.DetectLocalConfiguration.ClusterCIDRs[0]: Invalid value: "": must be a valid CIDR '
        "block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)"
    )
    assert by_flags("--cluster-cidr=", "--detect-local-mode=NodeCIDR").clusterCIDR == ""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "mode is not set; iptables is used; say so with --proxy-mode iptables, because the default may change one day"),
        (["--proxy-mode=iptables"], ""),
        (["--proxy-mode=ipvs", "--feature-gates=NFTablesProxyMode=true"],
         "feature gate NFTablesProxyMode is GA; a later release will not know it"),
    ],
)  # fmt: skip
def test_what_should_be_said_differently(arguments, text):
    reading = read_effective(parse_flags(arguments), None)
    assert "\n".join(map(str, reading.notices)) == text


def test_notices_of_the_file_are_kept():
    reading = read_effective(parse_flags(["--config=/etc/c.yaml"]), ENVELOPE + "mode: ipvs\nfoo: 1")
    assert [(notice.remark, notice.where) for notice in reading.notices] == [
        (Remark.UNKNOWN, "/etc/c.yaml line 4")
    ]


def test_unknown_gates_are_refused():
    with pytest.raises(ConfigError, match="unrecognized feature gate: Foo"):
        by_flags("--feature-gates=Foo=true")
    with pytest.raises(ConfigError, match="unrecognized feature gate: Foo"):
        by_file("featureGates: {Foo: true}")


def test_starting_by_flags_loads_no_yaml_reader():
    """Start-up time is spent on every node; only a file needs a reader for files."""
    program = (
        "import sys; from kubeproxy.config.effective import effective_config; "
        "from kubeproxy.config.invocation import parse_flags; from kubeproxy.config.check import check; "
        "config = effective_config(parse_flags(['--proxy-mode=ipvs']), None); assert check(config) == (); "
        "print(sorted({'yaml', 'difflib', 'csv', 'asyncio'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
