"""Whether the configuration fits this node: what each part of it is, and what the others then should be.

Asked when the node's addresses are known. Most of what is found only deserves a warning; what would leave all
traffic unserved, or take every client for a foreign one, is fatal.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from kubeproxy.api.addresses import family_of, parse_cidr, parse_ip
from kubeproxy.config.hostport import split_host_port
from kubeproxy.config.node import NodeIPs
from kubeproxy.config.nodeports import expanded
from kubeproxy.config.schema import KubeProxyConfig

_OTHER: Final = {"IPv4": "IPv6", "IPv6": "IPv4"}


class NodeFacts(Struct, frozen=True):
    """What is known of the node when the configuration is held against it."""

    ips: NodeIPs
    pod_cidrs: tuple[str, ...] = ()
    #: both IP families work on this host
    dual_stack: bool = True

    @property
    def primary(self) -> str:
        return self.ips.primary


class Mismatch(Struct, frozen=True):
    """Two things that do not fit together."""

    text: str
    fatal: bool = False


def open_node_ports(config: KubeProxyConfig, node: NodeFacts) -> str:
    """In which families node ports answer on every address although nobody said so; "" when in none."""
    entries = [
        text
        for family in ("IPv4", "IPv6")
        for text in expanded(config.nodePortAddresses, family, node.ips.of(family))
    ]
    families = _families(entries)
    primary, other = node.primary, _OTHER[node.primary]
    opens = "node ports are open on all {} addresses of this node; name {}"
    if not families:
        said = "nodePortAddresses is unset, so node ports are open on all addresses of this node; "
        return said + "consider nodePortAddresses: [primary] (--nodeport-addresses=primary)"
    lists = (
        config.cluster_cidrs,
        config.nodePortAddresses,
        config.ipvs.excludeCIDRs,
        node.pod_cidrs,
    )
    if families == {primary} and any(len(_families(texts)) > 1 for texts in lists):
        said = f"the cluster looks dual-stack, but nodePortAddresses has only {primary} entries: "
        return said + opens.format(other, f"{other} networks too, or primary")
    if primary not in families:
        said = f"the cluster is {primary}-primary, but nodePortAddresses has only {other} entries: "
        return said + opens.format(primary, f"{primary} networks too, or primary")
    return ""


def mismatches(config: KubeProxyConfig, node: NodeFacts) -> tuple[Mismatch, ...]:
    return tuple(_mismatches(config, node))


def _mismatches(config: KubeProxyConfig, node: NodeFacts) -> Iterator[Mismatch]:
    primary, other, single = node.primary, _OTHER[node.primary], not node.dual_stack
    cluster = f"cluster is {primary}-{'only' if single else 'primary'}"
    only = f"contains only {other} addresses"
    if _wrong(config.cluster_cidrs, primary):
        fatal = single and config.detectLocalMode == "ClusterCIDR"
        yield Mismatch(f"{cluster} but clusterCIDRs {only}", fatal)
    if _wrong(node.pod_cidrs, primary):
        yield Mismatch(f"{cluster} but node.spec.podCIDRs {only}", config.detectLocalMode == "NodeCIDR")
    if _wrong((config.winkernel.sourceVip,), primary):
        yield Mismatch(f"{cluster} but winkernel.sourceVip is {other}")
    if single:
        if _wrong(config.ipvs.excludeCIDRs, primary):
            yield Mismatch(f"{cluster} but ipvs.excludeCIDRs {only}")
        for name in ("healthzBindAddress", "metricsBindAddress"):
            if _wrong(_host(getattr(config, name)), primary):
                yield Mismatch(f"{cluster} but {name} is {other}")


def _host(server: str) -> Sequence[str]:
    """The address a server listens on, if it is a real one."""
    parts = split_host_port(server)
    address = parse_ip(parts[0]) if parts is not None else None
    return () if address is None or address.is_unspecified else (str(address),)


def _wrong(texts: Iterable[str], primary: str) -> bool:
    """All that is named is of the other family."""
    families = _families(texts)
    return bool(families) and primary not in families


def _families(texts: Iterable[str]) -> set[str]:
    found = (parse_cidr(text.strip()) or parse_ip(text.strip()) for text in texts)
    return {family_of(one) for one in found if one is not None}


def joined(found: Sequence[Mismatch]) -> str:
    """One text alone, several in brackets."""
    texts = [mismatch.text for mismatch in found]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
