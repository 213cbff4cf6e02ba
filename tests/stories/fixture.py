"""The cluster the stories happen in, and who and what is in it, by name and in both IP families.

A node with two addresses, pods here and elsewhere, clients outside; `l` is an endpoint on this node, `r` one
on another. Whoever wants to send real packets can build the same cluster from these names.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from kubeproxy.api.decode import decode
from kubeproxy.model.identity import Family
from kubeproxy.model.tracker import Tracker
from kubeproxy.packets.packet import Outcome, Packet, Story
from kubeproxy.routes.nodeview import DetectBy, Detector, NodePortAddresses, NodeView
from tests.stories.world import tracked

#: who and what has which address
PEOPLE: Final = {
    "a pod": ("10.128.7.7", "fd00:128:7::7"),
    "pod l": ("10.128.7.20", "fd00:128:7::20"),
    "pod r": ("10.128.9.20", "fd00:128:9::20"),
    "this node": ("192.0.2.10", "fd00:2::10"),
    "this node's loopback": ("127.0.0.1", "::1"),
    "a client": ("203.0.113.7", "2001:db8:113::7"),
    "another client": ("203.0.113.200", "2001:db8:113::200"),
    "another node": ("192.0.2.99", "fd00:2::99"),
    "gate's first VIP": ("198.51.100.6", "2001:db8:100::6"),
}
PLACES: Final = {
    "node": ("192.0.2.10", "fd00:2::10"),
    "node's second address": ("192.0.2.66", "fd00:2::66"),
    "loopback": ("127.0.0.1", "::1"),
    "unallocated": ("10.96.200.200", "fd00:96::c8c8"),
    "the internet": ("1.1.1.1", "2606:4700::1111"),
    "pod r": PEOPLE["pod r"],
}
PODS: Final = {Family.IPV4: "10.128.0.0/9", Family.IPV6: "fd00:128::/32"}
OWN_PODS: Final = {Family.IPV4: "10.128.7.0/24", Family.IPV6: "fd00:128:7::/48"}
ADDRESSES: Final = {
    Family.IPV4: ("127.0.0.1", "192.0.2.10", "192.0.2.66"),
    Family.IPV6: ("::1", "fd00:2::10", "fd00:2::66"),
}
RANGES: Final = {
    Family.IPV4: [" 203.0.113.0/25", "192.0.2.0/24"],
    Family.IPV6: ["2001:db8:113::/120 ", "fd00:2::/64"],
}
PORTS: Final = {"node port": 31079, "health check port": 31900}


class Shop(NamedTuple):
    """A Service of the fixture; its number is the last part of its addresses and ports."""

    name: str
    number: int
    endpoints: tuple[str, ...] = ("l", "r")
    external: str = "Cluster"
    internal: str = "Cluster"
    external_ip: bool = False
    vips: int = 1
    ranges: bool = False
    draining: tuple[str, ...] = ()
    affinity: bool = False


SHOPS: Final = (
    Shop("web", 1, external_ip=True),
    Shop("edge", 2, external="Local"),
    Shop("near", 3, internal="Local"),
    Shop("away", 4, ("r",), "Local", "Local"),
    Shop("void", 5, (), external_ip=True),
    Shop("gate", 6, ("l",), vips=2, ranges=True),
    Shop("last", 7, external="Local", draining=("l",)),
    Shop("keen", 8, affinity=True),
    Shop("shut", 9, ("r",), "Local", ranges=True),
    Shop("dark", 10, (), external="Local", ranges=True),
)
BY_NAME: Final = {shop.name: shop for shop in SHOPS}


def node(family: Family, **settings: Any) -> NodeView:
    """The node the stories are told on; settings are fields of the NodeView."""
    usual = NodeView(
        family=family,
        name="me",
        node_ip=ADDRESSES[family][1],
        addresses=ADDRESSES[family],
        detector=Detector(DetectBy.CIDR, PODS[family]),
        node_ports=NodePortAddresses(),
        loopback_node_ports=family is Family.IPV4,
    )
    fields = {name: getattr(usual, name) for name in usual.__struct_fields__}
    return NodeView(**{**fields, **settings})


def vip(shop: Shop, family: Family, second: bool = False) -> str:
    number = shop.number + 60 * second
    return f"198.51.100.{number}" if family is Family.IPV4 else f"2001:db8:100::{number}"


def cluster_ip(shop: Shop, family: Family) -> str:
    return f"10.96.3.{shop.number}" if family is Family.IPV4 else f"fd00:96::3:{shop.number}"


def external_ip(shop: Shop, family: Family) -> str:
    number = 100 + shop.number
    return f"198.51.100.{number}" if family is Family.IPV4 else f"2001:db8:100::{number}"


def place(dials: str, family: Family) -> tuple[str, int, str]:
    """Address, port and protocol of what a story dials: "web VIP", "web node port at loopback", "the internet:80"."""
    where, _, protocol = dials.partition("/")
    name, _, rest = where.partition(" ")
    shop, six = BY_NAME.get(name), family is Family.IPV6
    if shop is None:
        address, _, port = where.partition(":")
        return PLACES[address][six], int(port), protocol or "TCP"
    kind, _, at = rest.partition(" at ")
    if kind in PORTS:
        return PLACES[at or "node"][six], PORTS[kind] + shop.number, protocol or "TCP"
    kind, _, port = kind.partition(":")
    addresses = {
        "cluster IP": cluster_ip(shop, family),
        "VIP": vip(shop, family),
        "second VIP": vip(shop, family, second=True),
        "external IP": external_ip(shop, family),
    }
    return addresses[kind], int(port or 80), protocol or "TCP"


def packet(who: str, dials: str, family: Family, remembers: str = "") -> Packet:
    address, port, protocol = place(dials, family)
    interface = "" if who.startswith("this node") else "eth0"
    known = endpoint(remembers, family) if remembers else ""
    return Packet(PEOPLE[who][family is Family.IPV6], address, port, protocol, interface, known)


def endpoint(name: str, family: Family) -> str:
    address = PEOPLE[f"pod {name}"][family is Family.IPV6]
    return f"[{address}]:8080" if family is Family.IPV6 else f"{address}:8080"


def arrives(story: Story, family: Family) -> tuple[str, str]:
    """The end of a story in the words of the tables: where it arrives, and whom that pod sees."""
    if story.outcome is not Outcome.ARRIVES:
        return ENDS[story.outcome], ""
    names = {endpoint(name, family): name for name in ("l", "r")}
    seen = {names[c.endpoint]: "this node" if c.masqueraded else "the client" for c in story.choices}
    assert {c.share for c in story.choices} == {1 / len(story.choices)}
    same = len(set(seen.values())) == 1
    told = next(iter(seen.values())) if same else ", ".join(f"{name}: {seen[name]}" for name in sorted(seen))
    return " or ".join(sorted(seen)), told


ENDS: Final = {Outcome.REJECTED: "refused", Outcome.DROPPED: "dropped", Outcome.UNTOUCHED: "untouched"}


def tracker(shops: Iterable[str] = BY_NAME, empty: bool = False) -> Tracker:
    """Some Services of the fixture; `empty` without any endpoint."""
    return tracked(map(decode, documents(shops, empty)))


def documents(shops: Iterable[str] = BY_NAME, empty: bool = False) -> list[dict[str, Any]]:
    """The same as the API spells it."""
    chosen = [BY_NAME[name] for name in shops]
    slices = [_slice(shop, family) for shop in chosen for family in Family if shop.endpoints and not empty]
    return [*map(_service, chosen), *slices]


def _service(shop: Shop) -> dict[str, Any]:
    both = tuple(Family)
    vips = [vip(shop, family, second) for family in both for second in (False, True)[: shop.vips]]
    spec = {
        "type": "LoadBalancer",
        "clusterIP": cluster_ip(shop, Family.IPV4),
        "clusterIPs": [cluster_ip(shop, family) for family in both],
        "ipFamilies": [str(family) for family in both],
        "ports": [{"port": 80, "protocol": "TCP", "nodePort": PORTS["node port"] + shop.number}],
        "externalTrafficPolicy": shop.external,
        "internalTrafficPolicy": shop.internal,
        "externalIPs": [external_ip(shop, family) for family in both] if shop.external_ip else [],
        "loadBalancerSourceRanges": [text for family in both for text in RANGES[family]]
        if shop.ranges
        else [],
        "healthCheckNodePort": PORTS["health check port"] + shop.number if shop.external == "Local" else 0,
        "sessionAffinity": "ClientIP" if shop.affinity else "None",
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": shop.name, "namespace": "demo"},
        "spec": spec,
        "status": {"loadBalancer": {"ingress": [{"ip": address} for address in vips]}},
    }


def _slice(shop: Shop, family: Family) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{shop.name}-{family.lower()}",
            "namespace": "demo",
            "labels": {"kubernetes.io/service-name": shop.name},
        },
        "addressType": str(family),
        "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
        "endpoints": [
            {
                "addresses": [PEOPLE[f"pod {name}"][family is Family.IPV6]],
                "nodeName": {"l": "me", "r": "far"}[name],
                "conditions": {
                    "ready": name not in shop.draining,
                    "serving": True,
                    "terminating": name in shop.draining,
                },
            }
            for name in shop.endpoints
        ],
    }
