"""Who this node is: its name, and its address in each family."""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from kubeproxy.api.addresses import canonical_ip, family_of, parse_ip
from kubeproxy.config.complaint import Complaint, ConfigError, Form

_LOOPBACK: Final = {"IPv4": "127.0.0.1", "IPv6": "::1"}


class HasAddress(Protocol):
    """An entry of a Node's `status.addresses`."""

    @property
    def type(self) -> str: ...
    @property
    def address(self) -> str: ...


class NodeIPs(Struct, frozen=True, gc=False):
    """The node's addresses; a family in which nothing is known has its loopback address."""

    #: "IPv4" or "IPv6"
    primary: str
    ipv4: str
    ipv6: str

    def of(self, family: str) -> str:
        return self.ipv4 if family == "IPv4" else self.ipv6

    @property
    def known(self) -> bool:
        """Whether anything but loopback is known for the primary family."""
        return self.of(self.primary) != _LOOPBACK[self.primary]


def candidate_ips(addresses: Iterable[HasAddress]) -> tuple[str, ...]:
    """A Node's addresses in the order in which they are considered: internal before external ones."""
    listed = list(addresses)
    ordered = [entry for kind in ("InternalIP", "ExternalIP") for entry in listed if entry.type == kind]
    texts = (canonical_ip(entry.address) for entry in ordered)
    return tuple(text for text in texts if text is not None)


def node_ips(addresses: Sequence[str], bind_address: str) -> NodeIPs:
    """The node's address in each family; `addresses` are the Node's candidates, the first is the primary one.

    An operator's `bindAddress` that is a real address wins over the Node object in its family, and makes that
    family the primary one; the wildcard says nothing.
    """
    found = dict(_LOOPBACK)
    primary = "IPv4"
    valid = [address for text in addresses if (address := parse_ip(text)) is not None]
    for address in reversed(valid):
        primary = family_of(address)
        found[primary] = str(address)
    chosen = parse_ip(bind_address)
    if chosen is not None and not chosen.is_unspecified:
        primary = family_of(chosen)
        found[primary] = str(chosen)
    return NodeIPs(primary, found["IPv4"], found["IPv6"])


def node_name(override: str, host_name: str) -> str:
    """The name under which the Node object is looked up; ConfigError when nothing is left of it."""
    name = (override or host_name).strip().lower()
    if not name:
        remedy = "name the node with --hostname-override, or give the machine a host name"
        raise ConfigError(
            Complaint("hostnameOverride", override, "empty hostname is invalid", remedy, form=Form.PLAIN)
        )
    return name
