"""ServicePort: one port of one Service in one IP family."""

from msgspec import Struct

from kubeproxy.model.identity import PortName


class ServicePort(Struct, frozen=True, gc=False):
    """What a Service asks for on one of its ports, reduced to one family and canonical addresses.

    Two Services that differ only in what is not kept here are programmed alike, so equality
    of ServicePorts is what decides whether a Service changed.
    """

    name: PortName
    cluster_ip: str
    port: int
    node_port: int = 0
    external_ips: tuple[str, ...] = ()
    #: the Service lists externalIPs of this family, even if programming them is switched off: enough to count
    #: as reachable from outside
    claims_external_ips: bool = False
    load_balancer_ips: tuple[str, ...] = ()
    source_ranges: tuple[str, ...] = ()
    #: seconds a client stays with its endpoint; 0 when every connection chooses anew
    affinity_seconds: int = 0
    internal_local: bool = False
    external_local: bool = False
    health_check_port: int = 0
    #: creation time as the API writes it ("" when unknown): who was first when two Services claim one address
    created: str = ""

    @property
    def reachable_from_outside(self) -> bool:
        return bool(self.node_port or self.load_balancer_ips or self.external_ips or self.claims_external_ips)

    @property
    def uses_cluster(self) -> bool:
        """Some traffic to it may go to any endpoint of the cluster."""
        return not self.internal_local or self.reachable_from_outside

    @property
    def uses_local(self) -> bool:
        """Some traffic to it may only go to endpoints of this node."""
        return self.internal_local or (self.external_local and self.reachable_from_outside)
