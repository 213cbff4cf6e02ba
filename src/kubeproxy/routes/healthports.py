"""Health-check port → local endpoint count, which a load balancer asks to learn where clients may be sent."""

from collections.abc import Iterable

from msgspec import Struct

from kubeproxy.model.identity import PortName, ServiceName
from kubeproxy.model.snapshot import Snapshot
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.policy import is_here


class HealthPort(Struct, frozen=True, gc=False):
    """What one Service's health-check port answers on this node."""

    service: ServiceName
    port: int
    local_endpoints: int


def health_ports(
    snapshot: Snapshot, node: NodeView, changed: Iterable[PortName]
) -> dict[ServiceName, HealthPort | None]:
    """The health-check ports of the Services these names belong to, None for those that have none."""
    family = node.family
    owners = dict.fromkeys(name.owner for name in changed if name.family is family)
    return {owner: health_port(snapshot, node, owner) for owner in owners}


def health_port(snapshot: Snapshot, node: NodeView, service: ServiceName) -> HealthPort | None:
    ports = snapshot.ports_of(service, node.family)
    if not ports or not ports[0].health_check_port:
        return None
    return HealthPort(service, ports[0].health_check_port, local_endpoints(snapshot, node, service))


def local_endpoints(snapshot: Snapshot, node: NodeView, service: ServiceName) -> int:
    """Distinct addresses of ready endpoints here, over all ports.

    Draining ones do not count, although they still serve: new clients should be sent elsewhere.
    """
    return len(
        {
            endpoint.address
            for name in snapshot.served_names(service, node.family)
            for endpoint in snapshot.endpoints(name)
            if endpoint.ready and is_here(endpoint, node)
        }
    )
