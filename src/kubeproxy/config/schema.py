"""KubeProxyConfiguration, spelled as the API spells it: one table from which everything else is made.

Each attribute is one field of the file. Its type is what the proxy works with, its value here is the default,
and its Row says what it means, which flag sets it and when a file's value counts. Decoding, flags, --help,
docs/config.md and the written file all follow this table, so a field is added here and nowhere else.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from msgspec import Struct

from kubeproxy.config import kind
from kubeproxy.config.duration import Duration, parse_duration
from kubeproxy.config.filevalue import VModuleItem
from kubeproxy.config.row import Group, Row, When, Written

API_VERSION: Final = "kubeproxy.config.k8s.io/v1alpha1"
KIND: Final = "KubeProxyConfiguration"
PRIMARY: Final = "primary"

_ZERO: Final = Duration(0)
_GIVEN, _FULL, _POINTER = When.GIVEN, When.NOT_EMPTY, When.NOT_NULL
_IF_SET: Final = Written.NOT_EMPTY
# The file's blocks are named after modes, but some fields of a block serve several of them.
_CLASSIC: Final = ("iptables", "ipvs")
_IPTABLES_LIKE: Final = ("iptables", "userspace")


class Block(Struct, frozen=True, kw_only=True):
    """A part of the file that holds fields and smaller blocks."""

    group: ClassVar[Group] = Group.RUN
    modes: ClassVar[tuple[str, ...]] = ()


# fmt: off
class ClientConnection(Block, frozen=True):
    group = Group.API

    kubeconfig: Annotated[str, Row(
        "how to reach the cluster; without it, as a pod does", "kubeconfig", kind=kind.FILE)] = ""
    acceptContentTypes: Annotated[str, Row(
        "Accept header sent to the API server, instead of one made from contentType")] = ""
    contentType: Annotated[str, Row(
        "encoding to ask the API server for", "kube-api-content-type", _FULL,
    )] = "application/vnd.kubernetes.protobuf"
    qps: Annotated[float, Row("requests a second; negative: no limit", "kube-api-qps", _FULL)] = 5.0
    burst: Annotated[int, Row("requests that may be sent at once", "kube-api-burst", _FULL)] = 10


class TextLogging(Block, frozen=True):
    group = Group.LOGGING

    splitStream: Annotated[bool, Row(
        "text: errors to stderr, the rest to stdout (alpha)", "log-text-split-stream",
        beside_file=True, written=_IF_SET, live=True)] = False
    infoBufferSize: Annotated[str, Row(
        "text: bytes of info lines to collect before writing (alpha)", "log-text-info-buffer-size",
        kind=kind.QUANTITY, beside_file=True, live=True)] = "0"


class JSONLogging(Block, frozen=True):
    group = Group.LOGGING

    splitStream: Annotated[bool, Row(
        "json: errors to stderr, the rest to stdout (alpha)", "log-json-split-stream",
        beside_file=True, written=_IF_SET, live=True)] = False
    infoBufferSize: Annotated[str, Row(
        "json: bytes of info lines to collect before writing (alpha)", "log-json-info-buffer-size",
        kind=kind.QUANTITY, beside_file=True, live=True)] = "0"


class LoggingOptions(Block, frozen=True):
    text: TextLogging = TextLogging()
    json: JSONLogging = JSONLogging()


class Logging(Block, frozen=True):
    group = Group.LOGGING

    format: Annotated[str, Row("text or json", "logging-format", _FULL, beside_file=True, live=True)] = "text"
    flushFrequency: Annotated[Duration, Row(
        "longest time a log line may wait", "log-flush-frequency", _FULL, kind.FLUSH,
        beside_file=True, live=True)] = parse_duration("5s")
    verbosity: Annotated[int, Row(
        "how much to log: 0 little, 2 changes, 4 details", "v", kind=kind.VERBOSITY, beside_file=True,
        live=True)] = 0
    vmodule: Annotated[tuple[VModuleItem, ...], Row(
        "verbosity of single source files", "vmodule", kind=kind.PATTERNS,
        beside_file=True, written=_IF_SET, live=True)] = ()
    options: LoggingOptions = LoggingOptions()


class IPTables(Block, frozen=True):
    group = Group.IPTABLES
    modes = _IPTABLES_LIKE

    masqueradeBit: Annotated[int, Row(
        "bit of the packet mark for traffic to masquerade, 0 to 31", "iptables-masquerade-bit",
        _POINTER, modes=_CLASSIC, live=True)] = 14
    masqueradeAll: Annotated[bool, Row(
        "masquerade all traffic to Services", "masquerade-all", group=Group.TRAFFIC, modes=_CLASSIC,
        live=True)] = False
    localhostNodePorts: Annotated[bool, Row(
        "let node ports answer on 127.0.0.1", "iptables-localhost-nodeports", _POINTER,
        modes=("iptables",), live=True)] = True
    syncPeriod: Annotated[Duration, Row(
        "pause before a failed sync is tried again (also in mode nftables)", "iptables-sync-period",
        _FULL, live=True)] = parse_duration("30s")
    minSyncPeriod: Annotated[Duration, Row(
        "shortest pause between two syncs (also in mode nftables)", "iptables-min-sync-period",
        _FULL, live=True)] = parse_duration("1s")


class IPVS(Block, frozen=True):
    group = Group.IPVS
    modes = ("ipvs",)

    syncPeriod: Annotated[Duration, Row(
        "longest pause between two syncs", "ipvs-sync-period", _FULL, live=True)] = parse_duration("30s")
    minSyncPeriod: Annotated[Duration, Row(
        "shortest pause between two syncs", "ipvs-min-sync-period",
        flag_default=parse_duration("1s"), live=True)] = _ZERO
    scheduler: Annotated[str, Row("balancing algorithm; none: rr", "ipvs-scheduler")] = ""
    excludeCIDRs: Annotated[tuple[str, ...], Row(
        "networks whose virtual servers belong to somebody else", "ipvs-exclude-cidrs")] = ()
    strictARP: Annotated[bool, Row(
        "answer ARP only for an interface's own addresses", "ipvs-strict-arp")] = False
    tcpTimeout: Annotated[Duration, Row(
        "idle TCP connections; 0s: as the kernel has it", "ipvs-tcp-timeout")] = _ZERO
    tcpFinTimeout: Annotated[Duration, Row(
        "TCP connections after FIN; 0s: as the kernel has it", "ipvs-tcpfin-timeout")] = _ZERO
    udpTimeout: Annotated[Duration, Row(
        "idle UDP flows; 0s: as the kernel has it", "ipvs-udp-timeout")] = _ZERO


class NFTables(Block, frozen=True):
    group = Group.NFTABLES
    modes = ("nftables",)

    masqueradeBit: Annotated[int, Row(
        "bit of the packet mark for traffic to masquerade, 0 to 31", "", _POINTER, live=True)] = 14
    masqueradeAll: Annotated[bool, Row("masquerade all traffic to Services", "masquerade-all",
        live=True)] = False
    syncPeriod: Annotated[Duration, Row(
        "pause before a failed sync is tried again", "iptables-sync-period", _FULL,
        live=True)] = parse_duration("30s")
    minSyncPeriod: Annotated[Duration, Row(
        "shortest pause between two syncs", "iptables-min-sync-period", _FULL,
        live=True)] = parse_duration("1s")


class WinKernel(Block, frozen=True):
    group = Group.IGNORED
    modes = ("kernelspace",)

    networkName: Annotated[str, Row("Windows only")] = ""
    sourceVip: Annotated[str, Row("Windows only")] = ""
    enableDSR: Annotated[bool, Row("Windows only")] = False
    rootHnsEndpointName: Annotated[str, Row("Windows only")] = ""
    forwardHealthCheckVip: Annotated[bool, Row("Windows only")] = False


class DetectLocal(Block, frozen=True):
    group = Group.LOCAL

    bridgeInterface: Annotated[str, Row(
        "with BridgeInterface: the bridge that pod traffic comes in on", "pod-bridge-interface",
        live=True)] = ""
    interfaceNamePrefix: Annotated[str, Row(
        "with InterfaceNamePrefix: how the names of pod interfaces begin", "pod-interface-name-prefix",
        live=True)] = ""


class Conntrack(Block, frozen=True):
    group = Group.CONNTRACK

    maxPerCore: Annotated[int, Row(
        "connections to track for each CPU; 0: leave the limit, ignore min", "conntrack-max-per-core",
        _POINTER)] = 32768
    min: Annotated[int, Row(
        "connections to track at least, whatever the CPUs", "conntrack-min", _POINTER)] = 131072
    tcpEstablishedTimeout: Annotated[Duration, Row(
        "idle established TCP connections; 0s: leave alone", "conntrack-tcp-timeout-established",
        _POINTER)] = parse_duration("24h")
    tcpCloseWaitTimeout: Annotated[Duration, Row(
        "TCP connections in CLOSE_WAIT; 0s: leave alone", "conntrack-tcp-timeout-close-wait",
        _POINTER)] = parse_duration("1h")
    tcpBeLiberal: Annotated[bool, Row(
        "do not take out-of-window TCP packets for invalid", "conntrack-tcp-be-liberal")] = False
    udpTimeout: Annotated[Duration, Row(
        "unanswered UDP flows; 0s: leave alone", "conntrack-udp-timeout")] = _ZERO
    udpStreamTimeout: Annotated[Duration, Row(
        "answered UDP flows; 0s: leave alone", "conntrack-udp-timeout-stream")] = _ZERO


class KubeProxyConfig(Block, frozen=True):
    """What the operator asked for. Made without arguments it is the default configuration."""

    featureGates: Annotated[Mapping[str, bool], Row(
        "feature gates to switch", "feature-gates", written=_IF_SET)] = {}
    clientConnection: ClientConnection = ClientConnection()
    logging: Logging = Logging()
    hostnameOverride: Annotated[str, Row(
        "name of this node; none: the host name", "hostname-override",
        group=Group.NODE, beside_file=True)] = ""
    bindAddress: Annotated[str, Row(
        "this node's address, if not the Node object's; it makes its family primary", "bind-address", _FULL,
        kind.IP, Group.NODE)] = "0.0.0.0"
    healthzBindAddress: Annotated[str, Row(
        "where /healthz and /livez listen", "healthz-bind-address", _FULL,
        kind.IP_PORT, Group.SERVERS, live=True)] = "0.0.0.0:10256"
    metricsBindAddress: Annotated[str, Row(
        "where /metrics, /proxyMode and /configz listen", "metrics-bind-address", _FULL,
        kind.IP_PORT, Group.SERVERS, live=True)] = "127.0.0.1:10249"
    bindAddressHardFail: Annotated[bool, Row(
        "exit if one of these addresses is taken", "bind-address-hard-fail", group=Group.SERVERS,
        live=True)] = False
    enableProfiling: Annotated[bool, Row(
        "offer debug pages beside the metrics", "profiling", group=Group.SERVERS)] = False
    showHiddenMetricsForVersion: Annotated[str, Row(
        "show metrics hidden since the previous minor release", "show-hidden-metrics-for-version",
        group=Group.SERVERS)] = ""
    mode: Annotated[str, Row(
        "iptables, nftables, ipvs or userspace", "proxy-mode", _FULL, group=Group.TRAFFIC)] = "iptables"
    iptables: IPTables = IPTables()
    ipvs: IPVS = IPVS()
    nftables: NFTables = NFTables()
    winkernel: WinKernel = WinKernel()
    detectLocalMode: Annotated[str, Row(
        "ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix", "detect-local-mode", _FULL,
        group=Group.LOCAL, live=True)] = "ClusterCIDR"
    detectLocal: DetectLocal = DetectLocal()
    clusterCIDR: Annotated[str, Row(
        "with ClusterCIDR: the network of all pods, or one of each family as 'a,b'", "cluster-cidr",
        group=Group.LOCAL, live=True)] = ""
    nodePortAddresses: Annotated[tuple[str, ...], Row(
        "where node ports answer: networks, or primary, localhost, all", "nodeport-addresses",
        group=Group.TRAFFIC, live=True)] = ()
    oomScoreAdj: Annotated[int, Row(
        "the kernel's out-of-memory score for this process", "oom-score-adj", _POINTER,
        group=Group.NODE)] = -999
    conntrack: Conntrack = Conntrack()
    configSyncPeriod: Annotated[Duration, Row(
        "how often everything known is looked at again", "config-sync-period", _FULL,
        group=Group.API)] = parse_duration("15m")
    portRange: Annotated[str, Row(
        "ports that relays may listen on, such as 20000-20999; none: any", "proxy-port-range",
        group=Group.USERSPACE, modes=("userspace",))] = ""
    udpIdleTimeout: Annotated[Duration, Row(
        "idle time after which a UDP client is forgotten", "udp-timeout", _FULL, group=Group.USERSPACE,
        modes=("userspace",), written=Written.IN_USERSPACE)] = parse_duration("250ms")
    windowsRunAsService: Annotated[bool, Row(
        "Windows only", group=Group.IGNORED, modes=("kernelspace",), written=_IF_SET)] = False
    # fmt: on

    # What the proxy works with: some settings live in the block of the mode in use.

    @property
    def sync_period(self) -> Duration:
        return self._home.syncPeriod

    @property
    def min_sync_period(self) -> Duration:
        return self._home.minSyncPeriod

    @property
    def masquerade_all(self) -> bool:
        return self._mark_home.masqueradeAll

    @property
    def masquerade_bit(self) -> int:
        return self._mark_home.masqueradeBit

    @property
    def cluster_cidrs(self) -> tuple[str, ...]:
        """As written: neither trimmed nor checked."""
        return tuple(self.clusterCIDR.split(",")) if self.clusterCIDR else ()

    @property
    def _home(self) -> IPTables | IPVS | NFTables:
        if self.mode == "nftables":
            return self.nftables
        return self.ipvs if self.mode == "ipvs" else self.iptables

    @property
    def _mark_home(self) -> IPTables | NFTables:
        return self.nftables if self.mode == "nftables" else self.iptables
