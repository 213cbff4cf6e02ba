"""Values that make no sense are all named at once, in the stock words, each with a way out."""

import pytest
from msgspec.structs import replace

from kubeproxy.config.check import check
from kubeproxy.config.complaint import summary
from kubeproxy.config.duration import parse_duration
from kubeproxy.config.field import with_values
from kubeproxy.config.filevalue import VModuleItem
from kubeproxy.config.schema import KubeProxyConfig

TOP = "KubeProxyConfiguration."
LINUX = TOP + "KubeProxyLinuxConfiguration."
TRACK = LINUX + "KubeProxyConntrackConfiguration."
V4, V4B, V6 = "10.100.0.0/16", "10.101.0.0/16", "fde4:8dba:82e1::/48"
MODES = "must be iptables, ipvs, nftables, userspace or blank (blank means the best-available proxy [currently iptables])"
DUAL = "must be a either a single CIDR or dual-stack pair of CIDRs (e.g. [10.100.0.0/16, fde4:8dba:82e1::/48]"
BLOCK = "must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)"
ENTRY = "must be a valid CIDR or one of the keywords 'primary', 'localhost', 'all'"
MINUS = parse_duration("-1s")
ZERO = parse_duration("0s")


def said(values: dict[str, object]) -> list[str]:
    return [complaint.stock for complaint in check(with_values(KubeProxyConfig(), values))]


WRONG = [  # values by field, what the stock proxy says
    ({"iptables.masqueradeBit": 32},
     [TOP + "KubeProxyIPTablesConfiguration.MasqueradeBit: Invalid value: 32: must be within the range [0, 31]"]),
    ({"iptables.masqueradeBit": -1, "mode": "nftables"},
     [TOP + "KubeProxyIPTablesConfiguration.MasqueradeBit: Invalid value: -1: must be within the range [0, 31]"]),
    ({"nftables.masqueradeBit": 32, "mode": "nftables"},
     [TOP + "KubeProxyNFTablesConfiguration.MasqueradeBit: Invalid value: 32: must be within the range [0, 31]"]),
    ({"mode": "ipvs", "ipvs.tcpTimeout": MINUS, "ipvs.tcpFinTimeout": MINUS, "ipvs.udpTimeout": MINUS},
     [TOP + f'KubeProxyIPVSConfiguration.{name}: Invalid value: "-1s": must be greater than or equal to 0'
      for name in ("TCPTimeout", "TCPFinTimeout", "UDPTimeout")]),
    ({"mode": "ipvs", "ipvs.excludeCIDRs": ("10.0.0.0/8", "10.0.0.1", "x")},
     [TOP + 'KubeProxyIPVSConfiguration.ExcludeCidrs[1]: Invalid value: "10.0.0.1": must be a valid CIDR',
      TOP + 'KubeProxyIPVSConfiguration.ExcludeCidrs[2]: Invalid value: "x": must be a valid CIDR']),
    ({"conntrack.maxPerCore": -1, "conntrack.min": -2},
     [TRACK + "MaxPerCore: Invalid value: -1: must be greater than or equal to 0",
      TRACK + "Min: Invalid value: -2: must be greater than or equal to 0"]),
    ({f"conntrack.{name}": MINUS for name in ("tcpEstablishedTimeout", "tcpCloseWaitTimeout", "udpTimeout", "udpStreamTimeout")},
     [TRACK + f'{name}: Invalid value: "-1s": must be greater than or equal to 0'
      for name in ("TCPEstablishedTimeout", "TCPCloseWaitTimeout", "UDPTimeout", "UDPStreamTimeout")]),
    ({"oomScoreAdj": 1001}, [LINUX + "OOMScoreAdj: Invalid value: 1001: must be within the range [-1000, 1000]"]),
    ({"oomScoreAdj": -1001}, [LINUX + "OOMScoreAdj: Invalid value: -1001: must be within the range [-1000, 1000]"]),
    ({"mode": "IPVS"}, [TOP + f'Mode.ProxyMode: Invalid value: "IPVS": {MODES}']),
    ({"mode": "ipvs", "featureGates": {"KubeProxyIPVS": False}},
     [TOP + f'Mode.ProxyMode: Invalid value: "ipvs": {MODES.replace("ipvs, ", "")}']),
    ({"mode": "kernelspace"},
     [TOP + 'Mode.ProxyMode: Invalid value: "kernelspace": kernelspace is how Windows nodes do it, and this is a Linux node']),
    ({"clientConnection.burst": -1},
     [TOP + "ClientConnection.Burst: Invalid value: -1: must be greater than or equal to 0"]),
    ({"configSyncPeriod": ZERO}, [TOP + 'ConfigSyncPeriod: Invalid value: "0s": must be greater than 0']),
    ({"iptables.syncPeriod": ZERO},
     [TOP + 'SyncPeriod: Invalid value: "0s": must be greater than 0',
      TOP + 'SyncPeriod: Invalid value: "1s": must be greater than or equal to KubeProxyConfiguration.MinSyncPeriod']),
    ({"iptables.minSyncPeriod": MINUS},
     [TOP + 'MinSyncPeriod: Invalid value: "-1s": must be greater than or equal to 0']),
    ({"mode": "nftables", "nftables.minSyncPeriod": parse_duration("1m")},
     [TOP + 'SyncPeriod: Invalid value: "1m0s": must be greater than or equal to KubeProxyConfiguration.MinSyncPeriod']),
    ({"bindAddress": "localhost"},
     [TOP + 'BindAddress: Invalid value: "localhost": not a valid textual representation of an IP address']),
    ({"bindAddress": ""},
     [TOP + 'BindAddress: Invalid value: "": not a valid textual representation of an IP address']),
    ({"healthzBindAddress": "nowhere"}, [TOP + 'HealthzBindAddress: Invalid value: "nowhere": must be IP:port']),
    ({"healthzBindAddress": "here:99999"},
     [TOP + 'HealthzBindAddress: Invalid value: "here": must be a valid IP',
      TOP + 'HealthzBindAddress: Invalid value: "99999": must be a valid port']),
    ({"healthzBindAddress": "10.0.0.1:0"}, [TOP + 'HealthzBindAddress: Invalid value: "0": must be a valid port']),
    ({"metricsBindAddress": ""}, [TOP + 'MetricsBindAddress: Invalid value: "": must be IP:port']),
    ({"metricsBindAddress": ":80"}, [TOP + 'MetricsBindAddress: Invalid value: "": must be a valid IP']),
    ({"metricsBindAddress": "[::1]:http"}, [TOP + 'MetricsBindAddress: Invalid value: "http": must be a valid port']),
    ({"nodePortAddresses": ("primary", "all", "primary", "localhost", "all", "10.0.0.1", "PRIMARY")},
     [TOP + 'NodePortAddresses[2]: Duplicate value: "primary"',
      TOP + 'NodePortAddresses[4]: Duplicate value: "all"',
      TOP + f'NodePortAddresses[5]: Invalid value: "10.0.0.1": {ENTRY}',
      TOP + f'NodePortAddresses[6]: Invalid value: "PRIMARY": {ENTRY}']),
    ({"showHiddenMetricsForVersion": "1.34"},
     [TOP + 'ShowHiddenMetricsForVersion: Invalid value: "1.34": invalid showHiddenMetricsForVersion: '
      'showHiddenMetricsForVersion: Invalid value: "1.34": must be omitted or have the value \'1.35\'; '
      "only the previous minor version is allowed"]),
    ({"detectLocalMode": "nodeCIDR"},
     [TOP + 'DetectLocalMode: Unsupported value: "nodeCIDR": supported values: "ClusterCIDR", "NodeCIDR", '
      '"BridgeInterface", "InterfaceNamePrefix", ""']),
    ({"detectLocalMode": "BridgeInterface"},
     [TOP + 'DetectLocalConfiguration.InterfaceName: Invalid value: "": must not be empty']),
    ({"detectLocalMode": "InterfaceNamePrefix"},
     [TOP + 'DetectLocalConfiguration.InterfacePrefix: Invalid value: "": must not be empty']),
    ({"clusterCIDR": f"{V4},{V4B}"},
     [TOP + f'DetectLocalConfiguration.ClusterCIDRs: Invalid value: ["{V4}","{V4B}"]: {DUAL}']),
    ({"clusterCIDR": f"{V4},{V6},{V4B}"},
     [TOP + f'DetectLocalConfiguration.ClusterCIDRs: Invalid value: ["{V4}","{V6}","{V4B}"]: {DUAL}']),
    ({"clusterCIDR": f"{V4}, {V6}"},
     [TOP + f'DetectLocalConfiguration.ClusterCIDRs[1]: Invalid value: " {V6}": {BLOCK}']),
    ({"clusterCIDR": "10.0.0.1"},
     [TOP + f'DetectLocalConfiguration.ClusterCIDRs[0]: Invalid value: "10.0.0.1": {BLOCK}']),
    ({"featureGates": {"Foo": True}}, ["unrecognized feature gate: Foo"]),
    ({"mode": "userspace", "portRange": "9-1", "udpIdleTimeout": ZERO},
     [TOP + 'PortRange: Invalid value: "9-1": must be a valid port range (e.g. 300-2000)',
      TOP + 'UDPIdleTimeout: Invalid value: "0s": must be greater than 0']),
    ({"logging.flushFrequency": ZERO}, ['logging.flushFrequency: Invalid value: "0s": Must be greater than zero']),
    ({"logging.format": "xml"}, ['logging.format: Invalid value: "xml": Unsupported log format']),
    ({"logging.format": "json", "featureGates": {"LoggingBetaOptions": False}},
     ["logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature"]),
    ({"logging.format": "json", "logging.vmodule": (VModuleItem("a", 1),)},
     ["logging.vmodule: Forbidden: Only supported for text log format"]),
    ({"logging.vmodule": (VModuleItem("a", 1), VModuleItem("", 1))},
     ["logging.vmodule[1]: Required value: File pattern must not be empty"]),
    ({"logging.options.text.splitStream": True, "logging.options.json.infoBufferSize": "1k"},
     ["logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled",
      "logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled"]),
]  # fmt: skip


@pytest.mark.parametrize(("values", "stock"), WRONG)
def test_a_value_that_makes_no_sense_is_named(values, stock):
    assert said(values) == stock


@pytest.mark.parametrize("values", [values for values, _ in WRONG])
def test_every_complaint_names_a_next_step(values):
    for complaint in check(with_values(KubeProxyConfig(), values)):
        assert len(complaint.remedy) > 5
        assert complaint.field
        assert str(complaint).endswith(complaint.remedy)


RIGHT = [
    {},
    {"mode": ""},
    {"mode": "userspace", "portRange": "300-2000"},
    {"nftables.masqueradeBit": 99},
    {"ipvs.tcpTimeout": MINUS, "ipvs.excludeCIDRs": ("x",)},
    {"iptables.masqueradeBit": 0, "conntrack.maxPerCore": 0, "oomScoreAdj": 1000},
    {"iptables.syncPeriod": parse_duration("1s"), "iptables.minSyncPeriod": parse_duration("1s")},
    {"mode": "ipvs", "iptables.syncPeriod": ZERO, "iptables.minSyncPeriod": MINUS},
    {"clientConnection.burst": 0, "clientConnection.qps": -5.0},
    {"bindAddress": "::", "healthzBindAddress": "", "metricsBindAddress": "[::1]:65535"},
    {"bindAddress": "010.0.0.1", "healthzBindAddress": "010.0.0.1:1"},
    {"nodePortAddresses": ("primary", "10.0.0.0/8", "localhost", "all", "10.0.0.0/8")},
    {"showHiddenMetricsForVersion": "1.35"},
    {"clusterCIDR": f"{V6},{V4}"},
    {"detectLocalMode": "NodeCIDR", "clusterCIDR": "nonsense,,"},
    {"detectLocalMode": "BridgeInterface", "detectLocal.bridgeInterface": "cni0"},
    {"detectLocalMode": ""},
    {"mode": "iptables", "portRange": "9-1", "udpIdleTimeout": ZERO},
    {"ipvs.scheduler": "no such thing", "hostnameOverride": " ", "winkernel.sourceVip": "x"},
    {"logging.options.text.splitStream": True, "featureGates": {"LoggingAlphaOptions": True}},
    {"logging.format": "json"},
]


@pytest.mark.parametrize("values", RIGHT)
def test_nothing_is_said_where_nothing_is_wrong(values):
    assert said(values) == []


def test_all_complaints_come_at_once_and_in_the_stock_order():
    values = {"metricsBindAddress": "", "oomScoreAdj": 5000, "iptables.masqueradeBit": 40, "clusterCIDR": "x"}
    complaints = check(with_values(KubeProxyConfig(), values))
    assert [complaint.field for complaint in complaints] == [
        "iptables.masqueradeBit",
        "oomScoreAdj",
        "metricsBindAddress",
        "clusterCIDR",
    ]
    assert summary(complaints) == f"[{', '.join(complaint.stock for complaint in complaints)}]"
    assert summary(complaints[:1]) == complaints[0].stock
    assert summary((*complaints[:1], replace(complaints[0], remedy="other"))) == complaints[0].stock


SENTENCES = [
    ({"mode": "kernelspace"}, 'mode: kernelspace is how Windows nodes do it, and this is a Linux node (found "kernelspace"); choose iptables or nftables'),
    ({"mode": "Nftables "}, f'mode: {MODES} (found "Nftables "); write nftables'),
    ({"clusterCIDR": "10.0.0.1"}, f'clusterCIDR: {BLOCK} (found "10.0.0.1"); add the length of its prefix: 10.0.0.1/32 is this address alone'),
    ({"clusterCIDR": f"{V4}, {V6}"}, f'clusterCIDR: {BLOCK} (found " {V6}"); remove the blanks around it'),
    ({"nodePortAddresses": ("all", "all")}, 'nodePortAddresses[1]: is listed more than once (found "all"); name it once'),
    ({"logging.options.text.splitStream": True}, "logging.options.text.splitStream: Feature LoggingAlphaOptions is disabled; remove it, or switch on the gate LoggingAlphaOptions"),
    ({"iptables.minSyncPeriod": parse_duration("1m")}, 'iptables.syncPeriod: must be greater than or equal to KubeProxyConfiguration.MinSyncPeriod (found "1m0s"); write a syncPeriod of at least 1m0s, or a minSyncPeriod of at most 30s'),
]  # fmt: skip


@pytest.mark.parametrize(("values", "sentence"), SENTENCES)
def test_a_complaint_reads_as_a_sentence(values, sentence):
    assert [str(complaint) for complaint in check(with_values(KubeProxyConfig(), values))] == [sentence]
