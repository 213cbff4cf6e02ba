"""nodePortAddresses: on which of the node's addresses node ports answer."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from kubeproxy.api.addresses import Network, family_of, parse_cidr, parse_ip
from kubeproxy.config.schema import PRIMARY

LOCALHOST: Final = "localhost"
ALL: Final = "all"
KEYWORDS: Final = (PRIMARY, LOCALHOST, ALL)

_MEANS: Final = {
    (LOCALHOST, "IPv4"): "127.0.0.0/8",
    (LOCALHOST, "IPv6"): "::1/128",
    (ALL, "IPv4"): "0.0.0.0/0",
    (ALL, "IPv6"): "::/0",
}


class NodePortSelection(Struct, frozen=True):
    """Every local address of one family, or those inside some networks."""

    match_all: bool
    networks: tuple[str, ...] = ()

    @property
    def holds_ipv4_loopback(self) -> bool:
        """Whether 127.0.0.1 may answer, which a node has to be prepared for."""
        return self.match_all or any(_holds_loopback(parse_cidr(network)) for network in self.networks)


def select_node_port_networks(entries: Sequence[str], family: str, node_ip: str) -> NodePortSelection:
    """What the entries mean for one family; `node_ip` is the node's address in it, loopback when unknown.

    A family that no entry speaks of answers on all addresses. That is how it has always been, and surprises
    people who list networks of one family only: a warning at start tells them.
    """
    texts = expanded(entries, family, node_ip)
    networks = [network for text in texts if (network := parse_cidr(text)) is not None]
    mine = [network for network in networks if family_of(network) == family]
    if not mine or any(network.prefixlen == 0 for network in mine):
        return NodePortSelection(match_all=True)
    return NodePortSelection(False, tuple(dict.fromkeys(str(network) for network in mine)))


def expanded(entries: Sequence[str], family: str, node_ip: str) -> Iterable[str]:
    """The entries with the keywords replaced by the networks they mean in one family."""
    for entry in entries:
        if entry == PRIMARY:
            address = parse_ip(node_ip)
            if address is not None and not address.is_loopback:
                yield f"{address}/{address.max_prefixlen}"
        else:
            yield _MEANS.get((entry, family), entry)


def _holds_loopback(network: Network | None) -> bool:
    if network is None or network.version != 4:
        return False
    start = int(network.network_address)
    return start >> 24 == 127 or (start <= 127 << 24 and int(network.broadcast_address) >= 127 << 24)
