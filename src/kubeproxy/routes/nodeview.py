"""NodeView: this node as decisions see it."""

from enum import Enum
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from msgspec import Struct

from kubeproxy.model.identity import Family
from kubeproxy.routes.route import Source


class DetectBy(Enum):
    """How a local pod is recognised."""

    CIDR = "source address"
    INTERFACE = "input interface"
    INTERFACE_PREFIX = "input interface prefix"


class Detector(Struct, frozen=True):
    """Tells local pods from everybody else."""

    by: DetectBy
    value: str

    def says_pod(self, source: str, interface: str) -> bool:
        """Whether a packet with this source, come in over this interface ("" = made here), is a pod's."""
        if self.by is DetectBy.CIDR:
            return within(source, self.value)
        if self.by is DetectBy.INTERFACE:
            return interface == self.value
        return interface != "" and interface.startswith(self.value)


class NodePortAddresses(Struct, frozen=True):
    """Where node ports answer: every local address, or those inside some networks."""

    match_all: bool = True
    networks: tuple[str, ...] = ()

    def selects(self, address: str) -> bool:
        return self.match_all or any(within(address, network) for network in self.networks)


class NodeView(Struct, frozen=True):
    """What decisions need to know of this node, for one IP family."""

    family: Family
    name: str = ""
    zone: str = ""
    #: the node's own address of the family, loopback when unknown
    node_ip: str = ""
    #: every address of the family on this node's interfaces, loopback included
    addresses: tuple[str, ...] = ()
    detector: Detector | None = None
    masquerade_all: bool = False
    node_ports: NodePortAddresses = NodePortAddresses()
    #: node ports answer on loopback too (IPv4 only)
    loopback_node_ports: bool = False

    def source_class(self, source: str, interface: str) -> Source:
        """POD before HOST before OTHER: the order in which every dialect asks."""
        if self.detector is not None and self.detector.says_pod(source, interface):
            return Source.POD
        return Source.HOST if self.is_local(source) else Source.OTHER

    def is_local(self, address: str) -> bool:
        """Whether the kernel delivers this address to the node itself."""
        return address in self.addresses or is_loopback(address)

    def serves_node_port_on(self, address: str) -> bool:
        """Whether a node port dialled at this address is ours to answer.

        Networks select among the addresses of the interfaces: of 127.0.0.0/8, all of which is local, that is
        127.0.0.1 alone.
        """
        if is_loopback(address) and not self.loopback_node_ports:
            return False
        if self.node_ports.match_all:
            return self.is_local(address)
        return address in self.addresses and self.node_ports.selects(address)


@lru_cache(maxsize=4096)
def network_of(cidr: str) -> IPv4Network | IPv6Network:
    return ip_network(cidr, strict=False)


def within(address: str, cidr: str) -> bool:
    """Whether an address is inside a network; another family never is."""
    return ip_address(address) in network_of(cidr)


def is_loopback(address: str) -> bool:
    return address == "::1" or address.startswith("127.")
