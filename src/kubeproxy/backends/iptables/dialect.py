"""Dialect: what of this node and its settings shapes the text of rules, whatever the Services."""

from msgspec import Struct

from kubeproxy.model.identity import Family
from kubeproxy.routes.nodeview import DetectBy, Detector, NodeView, is_loopback


class Facts(Struct, frozen=True):
    """What was observed of the kernel and its programs before anything is compiled."""

    #: net.netfilter.nf_conntrack_tcp_be_liberal is set: invalid packets must pass
    liberal: bool = False
    counts_invalid: bool = False
    counts_loopback: bool = False
    random_fully: bool = True


class Dialect(Struct, frozen=True):
    """Everything but Services that the text of a rule depends on."""

    family: Family
    mark: int = 1 << 14
    detector: Detector | None = None
    match_all_node_ports: bool = True
    #: addresses node ports answer on, where not all do
    node_port_addresses: tuple[str, ...] = ()
    loopback_node_ports: bool = False
    facts: Facts = Facts()

    @property
    def ipv6(self) -> bool:
        return self.family is Family.IPV6

    @property
    def counts_loopback(self) -> bool:
        """Node ports dialled on loopback pass a counter of their own."""
        return self.guards_loopback and self.facts.counts_loopback

    @property
    def guards_loopback(self) -> bool:
        """Routing to loopback is on, so spoofed packets to it must be stopped."""
        return self.loopback_node_ports and not self.ipv6

    @property
    def mark_text(self) -> str:
        return f"{self.mark:#010x}"


def dialect_for(node: NodeView, masquerade_bit: int, facts: Facts) -> Dialect:
    """The dialect of a node; only what changes the text is kept, so an unrelated address change is none."""
    chosen = () if node.node_ports.match_all else tuple(sorted(_chosen(node)))
    return Dialect(
        family=node.family,
        mark=1 << masquerade_bit,
        detector=node.detector,
        match_all_node_ports=node.node_ports.match_all,
        node_port_addresses=chosen,
        loopback_node_ports=node.loopback_node_ports,
        facts=facts,
    )


def _chosen(node: NodeView) -> set[str]:
    return {
        address
        for address in node.addresses
        if node.node_ports.selects(address) and (node.loopback_node_ports or not is_loopback(address))
    }


def local_words(detector: Detector | None) -> str:
    """The match for local pods, with a blank behind it; a `! ` goes before it to match everybody else."""
    if detector is None:
        return ""
    if detector.by is DetectBy.CIDR:
        return f"-s {detector.value} "
    suffix = "+" if detector.by is DetectBy.INTERFACE_PREFIX else ""
    return f"-i {detector.value}{suffix} "
