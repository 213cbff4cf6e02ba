"""Manners: the differences a dialect is allowed, as data: a backend selects, the oracle reads."""

from msgspec import Struct

from kubeproxy.routes.route import Verdict


class Manners(Struct, frozen=True):
    """Where the dialects may differ in what a packet meets; everything else must be the same."""

    #: node ports may answer on 127.0.0.0/8 when the operator wants it
    loopback_node_ports: bool
    #: new flows from elsewhere to 127.0.0.0/8 are dropped while loopback node ports are on
    guards_loopback: bool
    #: this node's own flows to an external address without endpoints are refused even if it is not here
    refuses_own_flows_to_foreign_addresses: bool
    #: a node port without endpoints is refused on every local address, selected for node ports or not
    refuses_node_port_everywhere: bool
    #: an address that is external IP and load balancer IP of one Service answers as external IP
    external_ip_before_source_ranges: bool
    #: without any endpoint, refusing comes before looking at the source ranges
    refuses_before_source_ranges: bool
    #: what meets a new flow to an unknown port of a known cluster IP, and to an unallocated cluster IP
    unknown_port: Verdict | None
    unallocated: Verdict | None
    #: a cluster IP without endpoints is refused to others even where this node itself has the address
    refuses_cluster_ip_delivered_here: bool = False
    #: a translated flow that is masqueraded and forwarded passes before anybody may refuse its new address
    forwards_masqueraded_unchecked: bool = False
    #: clients inside may use every endpoint although externalTrafficPolicy is Local
    shortcut: bool = True
    #: Local policy without a local endpoint balances over the cluster instead of dropping
    local_falls_back: bool = False


CLASSIC = Manners(
    loopback_node_ports=True,
    guards_loopback=True,
    refuses_own_flows_to_foreign_addresses=False,
    refuses_node_port_everywhere=True,
    external_ip_before_source_ranges=True,
    refuses_before_source_ranges=True,
    unknown_port=None,
    unallocated=None,
    forwards_masqueraded_unchecked=True,
)
