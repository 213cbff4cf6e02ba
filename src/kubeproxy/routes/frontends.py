"""Every address a ServicePort answers on, and who may dial it."""

from typing import Final, TypeAlias

from kubeproxy.model.identity import Protocol
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.routes.nodeview import NodeView, within
from kubeproxy.routes.route import Allowed, Frontend, FrontendKind

#: address ("" for a node port), protocol, port: what a packet's destination is looked up by
Claim: TypeAlias = tuple[str, Protocol, int]

# Members of an Enum cost a look-up through its metaclass each time; these are needed for every Service.
_CLUSTER_IP: Final = FrontendKind.CLUSTER_IP
_EXTERNAL_IP: Final = FrontendKind.EXTERNAL_IP
_LOAD_BALANCER: Final = FrontendKind.LOAD_BALANCER
_NODE_PORT: Final = FrontendKind.NODE_PORT


def cluster_frontend(port: ServicePort) -> Frontend:
    return Frontend(_CLUSTER_IP, port.cluster_ip, port.name.protocol, port.port)


def external_frontends(port: ServicePort) -> list[Frontend]:
    """What clients outside dial: external IPs, load balancer IPs, node port, in this order.

    One address may be here twice, as external IP and as load balancer IP: what the second one restricts, the
    first one allows, and which of them a client meets is up to the dialect.
    """
    protocol, number = port.name.protocol, port.port
    found = [Frontend(_EXTERNAL_IP, address, protocol, number) for address in port.external_ips]
    found += [Frontend(_LOAD_BALANCER, address, protocol, number) for address in port.load_balancer_ips]
    if port.node_port:
        found.append(Frontend(_NODE_PORT, "", protocol, port.node_port))
    return found


def claims(port: ServicePort) -> set[Claim]:
    """What no other ServicePort can have while this one has it."""
    protocol, number = port.name.protocol, port.port
    found = {(address, protocol, number) for address in (*port.external_ips, *port.load_balancer_ips)}
    found.add((port.cluster_ip, protocol, number))
    if port.node_port:
        found.add(("", protocol, port.node_port))
    return found


def allowed(port: ServicePort, node: NodeView) -> Allowed | None:
    """Who may dial a load balancer IP; None for everybody.

    A platform may bind the addresses of the load balancer on its nodes, and then a node's own flow to one of
    them carries another as its source: a node that is inside the ranges may use these too.
    """
    if not port.source_ranges:
        return None
    inside = bool(node.node_ip) and any(within(node.node_ip, network) for network in port.source_ranges)
    return Allowed(port.source_ranges, port.load_balancer_ips if inside else ())
