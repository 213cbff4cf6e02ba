"""Whose address is it: what is known of this node, the others, pods and networks."""

from collections.abc import Sequence

from msgspec import Struct

from kubeproxy.api.addresses import canonical_ip, parse_cidr
from kubeproxy.api.node import Node
from kubeproxy.cli.picture import Picture
from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import Family, PortName
from kubeproxy.packets.addresses import Addresses
from kubeproxy.routes.decide import Routes
from kubeproxy.routes.manners import Manners
from kubeproxy.routes.nodeview import NodeView, within
from kubeproxy.runtime.nodewatch import pod_cidrs


class Pod(Struct, frozen=True):
    """An endpoint's address, and a ServicePort it serves."""

    name: PortName
    endpoint: Endpoint


class Scene:
    """Where packets are sent in thought. What is known of Services, the picture holds."""

    def __init__(
        self,
        picture: Picture,
        mode: str,
        manners: Manners,
        *,
        service_networks: Sequence[str] = (),
        serves_external_ips: bool = True,
    ) -> None:
        self.picture, self.mode, self.manners = picture, mode, manners
        self.serves_external_ips = serves_external_ips
        self._service_networks = service_networks
        self._addresses: dict[Family, Addresses] = {}

    @property
    def node_name(self) -> str:
        return self.picture.views[Family.IPV4].name

    @property
    def node(self) -> Node | None:
        return self.picture.nodes.get(self.node_name)

    def view(self, family: Family) -> NodeView:
        return self.picture.views[family]

    def routes(self, family: Family) -> Routes:
        return self.picture.routes[family]

    def addresses(self, family: Family) -> Addresses:
        if family not in self._addresses:
            self._addresses[family] = Addresses(self.picture.routes[family].values())
        return self._addresses[family]

    def endpoints(self, name: PortName) -> tuple[Endpoint, ...]:
        return self.picture.tracker.snapshot.endpoints(name)

    def service_networks(self, family: Family) -> tuple[str, ...]:
        """Where cluster IPs come from; without an object that says so, what they are assigned from."""
        told = self.picture.tracker.service_cidrs(family)
        return told or tuple(n for n in self._service_networks if _is_of(n, family))

    def pod_networks(self, node: Node | None, family: Family) -> tuple[str, ...]:
        """The networks of a node's pods."""
        return tuple(network for network in pod_cidrs(node) if _is_of(network, family))

    def pod(self, address: str, family: Family) -> Pod | None:
        """The endpoint with this address, of whichever Service."""
        for name in self.picture.tracker.snapshot.names(family):
            for endpoint in self.endpoints(name):
                if endpoint.address == address:
                    return Pod(name, endpoint)
        return None

    def node_with(self, address: str) -> Node | None:
        """The Node that lists this address."""
        return next((n for n in self.picture.nodes.values() if address in _listed(n)), None)

    def node_of_pods(self, address: str, family: Family) -> Node | None:
        """The Node in whose pod network this address is."""
        for node in self.picture.nodes.values():
            if any(within(address, network) for network in self.pod_networks(node, family)):
                return node
        return None

    def here(self, endpoint: Endpoint) -> str:
        """Where an endpoint runs, in words."""
        if not endpoint.node:
            return "on an unknown node"
        return "on this node" if endpoint.node == self.node_name else f"on {endpoint.node}"


def _listed(node: Node) -> list[str | None]:
    return [canonical_ip(entry.address) for entry in node.status.addresses]


def _is_of(network: str, family: Family) -> bool:
    parsed = parse_cidr(network)
    return parsed is not None and parsed.version == (4 if family is Family.IPV4 else 6)
