"""The lab's cluster: Services of every policy and every place their pods can be, and who dials them.

The same table makes the manifests, the dials and the names of the tests. What must come of each dial
is not written here: the oracle says it.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from kubeproxy.cli.stage.layout import Pod, cluster
from kubeproxy.cli.stage.questions import Dial

FAMILIES = ("IPv4", "IPv6")
PROTOCOLS = ("TCP", "UDP", "SCTP")
PORT, TARGET = 80, 8080


def address(family: str, node: int, number: int) -> str:
    """A pod's address: node 1 is node-a, node 2 is node-b."""
    return f"10.244.{node}.{number}" if family == "IPv4" else f"fd00:10:244:{node}::{number}"


def pod(name: str, node: int, *numbers: int) -> Pod:
    """A pod that serves on addresses of both families."""
    addresses = tuple(address(family, node, number) for family in FAMILIES for number in numbers)
    return Pod(name, f"node-{'ab'[node - 1]}", addresses, tuple(f"{TARGET}/{p}" for p in PROTOCOLS))


#: endpoints on both nodes, and two pods that are nobody's endpoint
HERE, HERE_TOO, THERE, CALLER, FAR_CALLER = (
    pod("here", 1, 11),
    pod("here-too", 1, 12),
    pod("there", 2, 11),
    pod("caller", 1, 50),
    pod("far-caller", 2, 50),
)
#: one namespace with the addresses of ten pods, for the choice among many
MANY = pod("many", 1, *range(101, 111))
LAYOUT = cluster((HERE, HERE_TOO, THERE, CALLER, FAR_CALLER, MANY))

READY = {"ready": True}
SICK = {"ready": False}
DRAINING = {"ready": False, "serving": True, "terminating": True}

#: where a Service's pods are and how they feel: the pod, its conditions
PLACES: dict[str, tuple[tuple[Pod, dict[str, bool]], ...]] = {
    "everywhere": ((HERE, READY), (HERE_TOO, READY), (THERE, READY)),
    "here": ((HERE, READY),),
    "there": ((THERE, READY),),
    "nowhere": (),
    "sick": ((HERE, SICK), (THERE, SICK)),
    "draining": ((HERE, DRAINING), (THERE, DRAINING)),
    "draining here": ((HERE, DRAINING), (THERE, READY)),
}


class Policy(NamedTuple):
    """internalTrafficPolicy and externalTrafficPolicy."""

    internal: str
    external: str

    def __str__(self) -> str:
        return f"internal {self.internal}, external {self.external}"


POLICIES = tuple(Policy(*pair) for pair in product(("Cluster", "Local"), repeat=2))


class Offer(NamedTuple):
    """One Service of the table."""

    number: int
    policy: Policy
    place: str

    @property
    def name(self) -> str:
        return f"s{self.number}"

    @property
    def node_port(self) -> int:
        return 30100 + self.number

    def address(self, front: str, family: str) -> str:
        """The address of this Service that somebody dials; node ports have the node's."""
        four = family == "IPv4"
        return {
            "cluster IP": f"10.96.1.{self.number}" if four else f"fd00:10:96::1{self.number:02}",
            "external IP": f"198.51.100.{100 + self.number}" if four else f"fd00:198::1{self.number:02}",
            "load balancer": f"198.51.100.{self.number}" if four else f"fd00:198::{self.number}",
            "node port": "192.168.50.11" if four else "fd00:50::11",
            "other node port": "192.168.61.11" if four else "fd00:61::11",
            "loopback node port": "127.0.0.1" if four else "::1",
        }[front]

    def port(self, front: str) -> int:
        return self.node_port if "node port" in front else PORT


OFFERS = tuple(
    Offer(number, policy, place) for number, (policy, place) in enumerate(product(POLICIES, PLACES), 1)
)


def offers(policy: Policy) -> list[Offer]:
    """The Services of one policy."""
    return [offer for offer in OFFERS if offer.policy == policy]


FRONTS = ("cluster IP", "external IP", "load balancer", "node port", "other node port")


class Who(NamedTuple):
    """Somebody who dials: from which room, and the addresses used where the room has several."""

    room: str
    sources: tuple[str, str] = ("", "")


WHO = {
    "a pod here": Who("caller"),
    "an endpoint here": Who("here"),
    "a pod on node-b": Who("far-caller"),
    "node-b": Who("node-b"),
    "node-a": Who("node-a"),
    "a client outside": Who("client", ("203.0.113.10", "fd00:113::10")),
}


class Cell(NamedTuple):
    """One question to real packets."""

    who: str
    front: str
    offer: Offer
    family: str
    protocol: str

    @property
    def dial(self) -> Dial:
        who = WHO[self.who]
        to = self.offer.address(self.front, self.family)
        source = who.sources[FAMILIES.index(self.family)]
        return Dial(who.room, to, self.offer.port(self.front), self.protocol, source)


def cells(policy: Policy) -> Iterator[Cell]:
    """Everybody dials everything; only a node can dial its own loopback."""
    for offer, family, protocol in product(offers(policy), FAMILIES, PROTOCOLS):
        for who, front in product(WHO, FRONTS):
            yield Cell(who, front, offer, family, protocol)
        # A raw socket would take its own packet for an answer, where no Service sends it elsewhere.
        if (family, protocol) != ("IPv6", "SCTP"):
            yield Cell("node-a", "loopback node port", offer, family, protocol)


def manifests(policy: Policy) -> list[dict[str, Any]]:
    """The nodes, and the Services of one policy.

    All Services together would be more than an ordinary user's kernel takes in one go.
    """
    return [*nodes(), *(one for offer in offers(policy) for one in objects(offer))]


def objects(offer: Offer) -> Iterator[dict[str, Any]]:
    """The Service of an offer and its slices."""
    ingress = [{"ip": offer.address("load balancer", family)} for family in FAMILIES]
    yield service(
        offer.name,
        [offer.address("cluster IP", family) for family in FAMILIES],
        node_port=offer.node_port,
        type="LoadBalancer",
        internalTrafficPolicy=offer.policy.internal,
        externalTrafficPolicy=offer.policy.external,
        externalIPs=[offer.address("external IP", family) for family in FAMILIES],
        **({"healthCheckNodePort": 31000 + offer.number} if offer.policy.external == "Local" else {}),
    ) | {"status": {"loadBalancer": {"ingress": ingress}}}
    for family in FAMILIES:
        yield endpoint_slice(offer.name, family, [endpoint(p, family, c) for p, c in PLACES[offer.place]])


def service(name: str, addresses: list[str], node_port: int = 0, **spec: Any) -> dict[str, Any]:
    """A Service that answers on one port over every protocol."""
    ports = [
        {"name": p.lower(), "protocol": p, "port": PORT, "targetPort": TARGET}
        | ({"nodePort": node_port} if node_port else {})
        for p in PROTOCOLS
    ]
    families = ["IPv6" if ":" in a else "IPv4" for a in addresses]
    policy = "RequireDualStack" if len(addresses) > 1 else "SingleStack"
    ips = {"clusterIP": addresses[0], "clusterIPs": addresses}
    given = {**ips, "ipFamilies": families, "ipFamilyPolicy": policy, "ports": ports, **spec}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "lab"},
        "spec": given,
    }


def endpoint(where: Pod, family: str, conditions: dict[str, bool], **more: Any) -> dict[str, Any]:
    """A pod as one endpoint of a slice."""
    own = next(a for a in where.addresses if (":" in a) == (family == "IPv6"))
    return {"addresses": [own], "nodeName": where.node, "conditions": conditions, **more}


def endpoint_slice(name: str, family: str, endpoints: list[dict[str, Any]]) -> dict[str, Any]:
    """The slice of a Service in one family."""
    labels = {"kubernetes.io/service-name": name}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{name}-{family.lower()}", "namespace": "lab", "labels": labels},
        "addressType": family,
        "ports": [{"name": p.lower(), "protocol": p, "port": TARGET} for p in PROTOCOLS],
        "endpoints": endpoints,
    }


def nodes() -> Iterator[dict[str, Any]]:
    """Both nodes, as far as a proxy looks at them."""
    for number, name in enumerate(("node-a", "node-b"), 1):
        addresses = [f"192.168.50.1{number}", f"fd00:50::1{number}"]
        pods = [f"10.244.{number}.0/24", f"fd00:10:244:{number}::/64"]
        labels = {"topology.kubernetes.io/zone": f"zone-{number}"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"podCIDR": pods[0], "podCIDRs": pods},
            "status": {"addresses": [{"type": "InternalIP", "address": a} for a in addresses]},
        }


#: how many endpoints the choice is among
CHOICES = (2, 3, 7, 10)


def choice_address(count: int, family: str) -> str:
    return f"10.96.2.{count}" if family == "IPv4" else f"fd00:10:96::2{count:02}"


def choices() -> Iterator[dict[str, Any]]:
    """A Service for each count, over the first addresses of the namespace with ten of them."""
    for count in CHOICES:
        name = f"choice-{count}"
        yield service(name, [choice_address(count, family) for family in FAMILIES])
        for family in FAMILIES:
            yield endpoint_slice(name, family, many(family, count))


def many(family: str, count: int) -> list[dict[str, Any]]:
    """The first endpoints of the namespace that has ten addresses."""
    own = [a for a in MANY.addresses if (":" in a) == (family == "IPv6")][:count]
    return [{"addresses": [a], "nodeName": "node-a", "conditions": READY} for a in own]
