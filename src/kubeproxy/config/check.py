"""Whether a configuration makes sense: every complaint at once, in the order of the stock validation."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from kubeproxy.api.addresses import family_of, parse_cidr, parse_ip
from kubeproxy.config.checklogging import check_logging
from kubeproxy.config.complaint import Complaint, Form
from kubeproxy.config.field import value_at
from kubeproxy.config.gates import gate_complaints, gate_enabled
from kubeproxy.config.goliteral import quoted
from kubeproxy.config.hostport import split_host_port
from kubeproxy.config.nodeports import KEYWORDS
from kubeproxy.config.portrange import parse_port_range
from kubeproxy.config.release import PREVIOUS_MINOR
from kubeproxy.config.schema import KubeProxyConfig

_TOP: Final = "KubeProxyConfiguration."
_CONNTRACK: Final = _TOP + "KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration."
_IPVS: Final = _TOP + "KubeProxyIPVSConfiguration."
_DETECT: Final = _TOP + "DetectLocalConfiguration."
_MODES: Final = ("iptables", "ipvs", "nftables", "userspace")
_LOCAL_MODES: Final = ("ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix", "")
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_POSITIVE: Final = "must be greater than 0"
_DUAL: Final = (
    "must be a either a single CIDR or dual-stack pair of CIDRs (e.g. [10.100.0.0/16, fde4:8dba:82e1::/48]"
)
_BLOCK: Final = "must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)"
_HIGHEST_PORT: Final = 65535

Complaints = Iterator[Complaint]


def check(config: KubeProxyConfig) -> tuple[Complaint, ...]:
    """Everything that keeps a proxy from running with this configuration; nothing when all is well."""
    found = [complaint for rule in _RULES for complaint in rule(config)]
    return tuple(complaint for place, complaint in enumerate(found) if complaint not in found[:place])


def _gates(config: KubeProxyConfig) -> Complaints:
    yield from gate_complaints(config.featureGates)


def _masquerade_bit(block: str, path: str) -> Callable[[KubeProxyConfig], Complaints]:
    # The iptables one is checked in every mode: it always was, and no file in use can have a wrong one.
    def rule(config: KubeProxyConfig) -> Complaints:
        if block in ("iptables", config.mode):
            yield from _within(
                config,
                f"{block}.masqueradeBit",
                path,
                0,
                31,
                "pick a bit nothing else on the node uses, such as 14",
            )

    return rule


def _ipvs(config: KubeProxyConfig) -> Complaints:
    if config.mode != "ipvs":
        return
    for name, path in (
        ("tcpTimeout", "TCPTimeout"),
        ("tcpFinTimeout", "TCPFinTimeout"),
        ("udpTimeout", "UDPTimeout"),
    ):
        yield from _not_negative(config, f"ipvs.{name}", _IPVS + path, "write 0s to leave the kernel's value")
    for place, cidr in enumerate(config.ipvs.excludeCIDRs):
        if parse_cidr(cidr) is None:
            field, path = f"ipvs.excludeCIDRs[{place}]", f"{_IPVS}ExcludeCidrs[{place}]"
            yield Complaint(field, cidr, "must be a valid CIDR", _cidr_remedy(cidr), path)


def _conntrack(config: KubeProxyConfig) -> Complaints:
    remedy = "write 0 to leave the kernel's value alone"
    for name, path in (
        ("maxPerCore", "MaxPerCore"),
        ("min", "Min"),
        ("tcpEstablishedTimeout", "TCPEstablishedTimeout"),
        ("tcpCloseWaitTimeout", "TCPCloseWaitTimeout"),
        ("udpTimeout", "UDPTimeout"),
        ("udpStreamTimeout", "UDPStreamTimeout"),
    ):
        yield from _not_negative(config, f"conntrack.{name}", _CONNTRACK + path, remedy)


def _oom_score(config: KubeProxyConfig) -> Complaints:
    path = _TOP + "KubeProxyLinuxConfiguration.OOMScoreAdj"
    yield from _within(
        config, "oomScoreAdj", path, -1000, 1000, "the usual value is -999: almost never kill it"
    )


def _mode(config: KubeProxyConfig) -> Complaints:
    modes = [mode for mode in _MODES if mode != "ipvs" or gate_enabled(config.featureGates, "KubeProxyIPVS")]
    if config.mode in (*modes, ""):
        return
    path = _TOP + "Mode.ProxyMode"
    if config.mode == "kernelspace":
        said = "kernelspace is how Windows nodes do it, and this is a Linux node"
        yield Complaint("mode", config.mode, said, f"choose {' or '.join(modes[:1] + modes[-2:-1])}", path)
        return
    said = f"must be {', '.join(modes)} or blank (blank means the best-available proxy [currently iptables])"
    alike = [mode for mode in modes if mode == config.mode.strip().lower()]
    remedy = f"write {alike[0]}" if alike else "iptables works everywhere, nftables is the newest"
    yield Complaint("mode", config.mode, said, remedy, path)


def _burst(config: KubeProxyConfig) -> Complaints:
    path = _TOP + "ClientConnection.Burst"
    yield from _not_negative(config, "clientConnection.burst", path, "the usual value is 10")


def _periods(config: KubeProxyConfig) -> Complaints:
    home = config.mode if config.mode in ("nftables", "ipvs") else "iptables"
    sync, shortest = config.sync_period, config.min_sync_period
    if config.configSyncPeriod <= 0:
        yield Complaint(
            "configSyncPeriod",
            config.configSyncPeriod,
            _POSITIVE,
            "the usual value is 15m",
            _TOP + "ConfigSyncPeriod",
        )
    if sync <= 0:
        yield Complaint(f"{home}.syncPeriod", sync, _POSITIVE, "the usual value is 30s", _TOP + "SyncPeriod")
    if shortest < 0:
        yield Complaint(
            f"{home}.minSyncPeriod", shortest, _NOT_NEGATIVE, "the usual value is 1s", _TOP + "MinSyncPeriod"
        )
    if shortest > sync:
        said = "must be greater than or equal to KubeProxyConfiguration.MinSyncPeriod"
        remedy = f"write a syncPeriod of at least {shortest}"
        remedy += f", or a minSyncPeriod of at most {sync}" if sync > 0 else ""
        yield Complaint(f"{home}.syncPeriod", shortest, said, remedy, _TOP + "SyncPeriod")


def _bind_address(config: KubeProxyConfig) -> Complaints:
    if parse_ip(config.bindAddress) is None:
        said = "not a valid textual representation of an IP address"
        remedy = "write an address of this node without a port, or leave it out"
        yield Complaint("bindAddress", config.bindAddress, said, remedy, _TOP + "BindAddress")


def _servers(config: KubeProxyConfig) -> Complaints:
    if config.healthzBindAddress:
        yield from _host_port("healthzBindAddress", config.healthzBindAddress, "0.0.0.0:10256")
    yield from _host_port("metricsBindAddress", config.metricsBindAddress, "127.0.0.1:10249")


def _host_port(field: str, address: str, usual: str) -> Complaints:
    path = _TOP + field[0].upper() + field[1:]
    remedy = f"write an address and a port, such as {usual}"
    parts = split_host_port(address)
    if parts is None:
        yield Complaint(field, address, "must be IP:port", remedy, path)
        return
    host, port = parts
    if parse_ip(host) is None:
        yield Complaint(field, host, "must be a valid IP", remedy, path)
    if not port.isascii() or not port.isdigit() or not 1 <= int(port[:6]) <= _HIGHEST_PORT:
        yield Complaint(
            field, port, "must be a valid port", "write a port from 1 to 65535 after the colon", path
        )


def _node_port_addresses(config: KubeProxyConfig) -> Complaints:
    seen: set[str] = set()
    for place, entry in enumerate(config.nodePortAddresses):
        field, path = f"nodePortAddresses[{place}]", f"{_TOP}NodePortAddresses[{place}]"
        if entry in KEYWORDS:
            if entry in seen:
                yield Complaint(field, entry, "", "name it once", path, Form.DUPLICATE)
            seen.add(entry)
        elif parse_cidr(entry) is None:
            said = "must be a valid CIDR or one of the keywords 'primary', 'localhost', 'all'"
            yield Complaint(field, entry, said, _cidr_remedy(entry), path)


def _hidden_metrics(config: KubeProxyConfig) -> Complaints:
    version = config.showHiddenMetricsForVersion
    if version and version != PREVIOUS_MINOR:
        name = "showHiddenMetricsForVersion"
        said = (
            f"invalid {name}: {name}: Invalid value: {quoted(version)}: must be omitted or have the value "
            f"'{PREVIOUS_MINOR}'; only the previous minor version is allowed"
        )
        path = _TOP + "ShowHiddenMetricsForVersion"
        yield Complaint(
            "showHiddenMetricsForVersion", version, said, f"write '{PREVIOUS_MINOR}', or nothing", path
        )


def _detect_local(config: KubeProxyConfig) -> Complaints:
    mode, detail = config.detectLocalMode, config.detectLocal
    if mode not in _LOCAL_MODES:
        said = f"supported values: {', '.join(quoted(mode) for mode in _LOCAL_MODES)}"
        alike = [known for known in _LOCAL_MODES if known.lower() == mode.strip().lower()]
        remedy = f"write {alike[0]}" if alike and alike[0] else "ClusterCIDR fits most clusters"
        yield Complaint("detectLocalMode", mode, said, remedy, _TOP + "DetectLocalMode", Form.UNSUPPORTED)
    if mode == "BridgeInterface" and not detail.bridgeInterface:
        remedy = "name the bridge that pods are attached to, such as cni0"
        yield Complaint(
            "detectLocal.bridgeInterface", "", "must not be empty", remedy, _DETECT + "InterfaceName"
        )
    if mode == "InterfaceNamePrefix" and not detail.interfaceNamePrefix:
        remedy = "name the beginning of the pods' interface names, such as veth"
        yield Complaint(
            "detectLocal.interfaceNamePrefix", "", "must not be empty", remedy, _DETECT + "InterfacePrefix"
        )
    if mode == "ClusterCIDR":
        yield from _cluster_cidrs(config.cluster_cidrs)


def _cluster_cidrs(cidrs: tuple[str, ...]) -> Complaints:
    networks = [parse_cidr(cidr) for cidr in cidrs]
    families = [family_of(network) for network in networks if network is not None]
    if len(cidrs) > 2 or len(families) > len(set(families)):
        remedy = "name one network, or one of each IP family: 10.244.0.0/16,fd00:10:244::/56"
        yield Complaint("clusterCIDR", cidrs, _DUAL, remedy, _DETECT + "ClusterCIDRs")
    for place, cidr in enumerate(cidrs):
        if networks[place] is None:
            yield Complaint(
                "clusterCIDR", cidr, _BLOCK, _cidr_remedy(cidr), f"{_DETECT}ClusterCIDRs[{place}]"
            )


def _relays(config: KubeProxyConfig) -> Complaints:
    if config.mode != "userspace":
        return
    if parse_port_range(config.portRange) is None:
        said = "must be a valid port range (e.g. 300-2000)"
        remedy = "write first-last, first+count or one port, none above 65535"
        yield Complaint("portRange", config.portRange, said, remedy, _TOP + "PortRange")
    if config.udpIdleTimeout <= 0:
        remedy = "the usual value is 250ms"
        yield Complaint("udpIdleTimeout", config.udpIdleTimeout, _POSITIVE, remedy, _TOP + "UDPIdleTimeout")


def _within(config: KubeProxyConfig, field: str, path: str, low: int, high: int, remedy: str) -> Complaints:
    value: Any = value_at(config, field)
    if not low <= value <= high:
        yield Complaint(field, value, f"must be within the range [{low}, {high}]", remedy, path)


def _not_negative(config: KubeProxyConfig, field: str, path: str, remedy: str) -> Complaints:
    value: Any = value_at(config, field)
    if value < 0:
        yield Complaint(field, value, _NOT_NEGATIVE, remedy, path)


def _cidr_remedy(text: str) -> str:
    address = parse_ip(text.strip())
    if parse_cidr(text.strip()) is not None:
        return "remove the blanks around it"
    if address is not None:
        return f"add the length of its prefix: {address}/{address.max_prefixlen} is this address alone"
    return "write an address and the length of its prefix, such as 192.0.2.0/24 or 2001:db8::/64"


_RULES: Final[tuple[Callable[[KubeProxyConfig], Complaints], ...]] = (
    _gates,
    _masquerade_bit("iptables", _TOP + "KubeProxyIPTablesConfiguration.MasqueradeBit"),
    _ipvs,
    _masquerade_bit("nftables", _TOP + "KubeProxyNFTablesConfiguration.MasqueradeBit"),
    _conntrack,
    _oom_score,
    _mode,
    _burst,
    _periods,
    _bind_address,
    _servers,
    _node_port_addresses,
    _hidden_metrics,
    _detect_local,
    _relays,
    check_logging,
)
