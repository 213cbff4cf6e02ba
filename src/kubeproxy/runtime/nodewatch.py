"""Keeps the NodeView current: the configuration, the Node object and this machine's addresses together."""

from collections.abc import Iterable

from kubeproxy.api.addresses import family_of, parse_cidr
from kubeproxy.api.node import Node
from kubeproxy.config.node import NodeIPs, candidate_ips, node_ips
from kubeproxy.config.nodeports import NodePortSelection, select_node_port_networks
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.model.identity import Family
from kubeproxy.routes.nodeview import DetectBy, Detector, NodePortAddresses, NodeView
from kubeproxy.wire.netlink import AF_INET, AF_INET6
from kubeproxy.wire.rtnetlink import LocalAddress

ZONE_LABEL = "topology.kubernetes.io/zone"

_NUMBERS = {Family.IPV4: AF_INET, Family.IPV6: AF_INET6}


def node_view(
    config: KubeProxyConfig,
    name: str,
    family: Family,
    node: Node | None,
    addresses: Iterable[LocalAddress],
) -> NodeView:
    """This node in one family, from all that is known of it now."""
    ips = addresses_of_node(config, node)
    selection = select_node_port_networks(config.nodePortAddresses, family.value, ips.of(family.value))
    labels = node.metadata.labels if node is not None else {}
    mine = sorted({address.address for address in addresses if address.family == _NUMBERS[family]})
    return NodeView(
        family=family,
        name=name,
        zone=labels.get(ZONE_LABEL, ""),
        node_ip=ips.of(family.value),
        addresses=tuple(mine),
        detector=detector(config, family, node),
        masquerade_all=config.masquerade_all,
        node_ports=NodePortAddresses(selection.match_all, selection.networks),
        loopback_node_ports=_on_loopback(config, family, selection),
    )


def addresses_of_node(config: KubeProxyConfig, node: Node | None) -> NodeIPs:
    return node_ips(candidate_ips(node.status.addresses) if node is not None else (), config.bindAddress)


def detector(config: KubeProxyConfig, family: Family, node: Node | None) -> Detector | None:
    """How local pods are told from others; None when nothing says so for this family."""
    mode = config.detectLocalMode
    if mode == "BridgeInterface":
        return Detector(DetectBy.INTERFACE, config.detectLocal.bridgeInterface)
    if mode == "InterfaceNamePrefix":
        return Detector(DetectBy.INTERFACE_PREFIX, config.detectLocal.interfaceNamePrefix)
    cidrs = pod_cidrs(node) if mode == "NodeCIDR" else config.cluster_cidrs
    networks = (network for cidr in cidrs if (network := parse_cidr(cidr.strip())) is not None)
    first = next((network for network in networks if family_of(network) == family.value), None)
    return None if first is None else Detector(DetectBy.CIDR, str(first))


def pod_cidrs(node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    return node.spec.podCIDRs or ((node.spec.podCIDR,) if node.spec.podCIDR else ())


def eligible(node: Node | None) -> bool:
    """Whether load balancers should send clients here at all."""
    if node is None or node.metadata.deletionTimestamp:
        return False
    return all(taint.key != "ToBeDeletedByClusterAutoscaler" for taint in node.spec.taints)


def health_hosts(view: NodeView) -> tuple[str, ...]:
    """Where health-check ports listen: everywhere, or on the addresses node ports answer on."""
    if view.node_ports.match_all:
        return ("0.0.0.0",) if view.family is Family.IPV4 else ("::",)
    return tuple(address for address in view.addresses if view.node_ports.selects(address))


def _on_loopback(config: KubeProxyConfig, family: Family, selection: NodePortSelection) -> bool:
    wanted = config.mode == "iptables" and config.iptables.localhostNodePorts
    return wanted and family is Family.IPV4 and selection.holds_ipv4_loopback
