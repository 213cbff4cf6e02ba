"""Random clusters, as the API holds them, and packets that are likely to meet something in them.

Everything is picked from small pools, so that addresses collide, endpoints repeat, clients are endpoints, and
Services claim what others have. A seed makes the same cluster everywhere.
"""

from random import Random
from typing import Any, NamedTuple

from kubeproxy.api.change import KubeObject
from kubeproxy.api.decode import decode
from kubeproxy.model.identity import Family
from kubeproxy.packets.packet import Packet
from kubeproxy.routes.nodeview import DetectBy, Detector, NodePortAddresses, NodeView

Document = dict[str, Any]


class Pools(NamedTuple):
    """Where values of a family are picked from."""

    node_ips: tuple[str, ...]
    loopbacks: tuple[str, ...]
    cluster_ips: tuple[str, ...]
    #: external IPs and load balancer IPs
    outside_ips: tuple[str, ...]
    endpoints: tuple[str, ...]
    clients: tuple[str, ...]
    ranges: tuple[str, ...]
    pods: str
    node_port_networks: tuple[tuple[str, ...], ...]


POOLS = {
    Family.IPV4: Pools(
        node_ips=("192.168.50.11", "192.168.61.11"),
        loopbacks=("127.0.0.1", "127.0.0.9"),
        cluster_ips=tuple(f"172.30.0.{n}" for n in range(1, 8)),
        outside_ips=("203.0.113.1", "203.0.113.2", "198.51.100.3", "192.168.50.11", "192.168.61.11", "172.30.0.3"),
        endpoints=("10.77.1.1", "10.77.1.2", "10.77.1.10", "10.77.2.1", "10.77.2.2", "192.168.50.11", "192.168.50.12"),
        clients=("10.77.1.9", "10.77.3.3", "203.0.113.200", "198.51.100.77", "192.168.50.12", "203.0.113.1"),
        ranges=("203.0.113.0/25", " 198.51.100.0/24", "192.168.50.0/24", "10.77.1.0/24", "10.0.0.0/33", "0.0.0.0/0"),
        pods="10.77.0.0/16",
        node_port_networks=(("192.168.50.0/24",), ("192.168.61.11/32",), ("127.0.0.0/8", "192.168.61.0/24"), ("198.18.0.0/15",)),
    ),
    Family.IPV6: Pools(
        node_ips=("fd00:50::11", "fd00:61::11"),
        loopbacks=("::1",),
        cluster_ips=tuple(f"fd00:30::{n}" for n in range(1, 8)),
        outside_ips=("2001:db8:113::1", "2001:db8:113::2", "2001:db8:100::3", "fd00:50::11", "fd00:30::3"),
        endpoints=("fd00:77:1::1", "fd00:77:1::2", "fd00:77:1::10", "fd00:77:2::1", "fd00:50::11", "fd00:50::12"),
        clients=("fd00:77:1::9", "fd00:77:3::3", "2001:db8:113::200", "2001:db8:100::77", "2001:db8:113::1"),
        ranges=("2001:db8:113::/120", "2001:db8:100::/48 ", "fd00:50::/64", "fd00:77:1::/64", "nonsense", "::/0"),
        pods="fd00:77::/32",
        node_port_networks=(("fd00:50::/64",), ("::1/128", "fd00:61::/64"), ("2001:db8::/64",)),
    ),
}  # fmt: skip
PROTOCOLS = ("TCP", "TCP", "TCP", "UDP", "SCTP")
PORT_NAMES = ("", "http", "dns")
PORTS = (53, 80, 8080, 53, 80, 8080, 30080)
TARGETS = (53, 8080, 30080)
NODE_PORTS = (30001, 30002, 30053, 30080, 30443)
HEALTH_PORTS = (30900, 30901)
ZONES = ("", "zone-1", "zone-2")
NODES = ("node-a", "node-a", "node-b", None)
INTERFACES = ("eth0", "eth0", "cbr0", "veth7", "")


class Cluster(NamedTuple):
    """A cluster and one node's view of a family of it."""

    seed: int
    documents: tuple[Document, ...]
    node: NodeView
    packets: tuple[Packet, ...]

    def objects(self) -> list[KubeObject]:
        return [decode(document) for document in self.documents]


def cluster(seed: int, packets: int = 20) -> Cluster:
    rng = Random(seed)
    family = rng.choice(tuple(Family))
    node = _node(rng, family)
    names = [f"svc-{n}" for n in range(rng.randint(1, 5))]
    services = [_service(rng, name, family) for name in names]
    sliced = [service for service in services for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
    slices = [_slice(rng, service, number, family) for number, service in enumerate(sliced)]
    documents = (*services, *slices)
    return Cluster(seed, documents, node, tuple(_packet(rng, node, services) for _ in range(packets)))


def _node(rng: Random, family: Family) -> NodeView:
    pools = POOLS[family]
    networks = rng.choice(((), (), (), *pools.node_port_networks))
    node_ports = NodePortAddresses(match_all=not networks, networks=networks)
    reaches_loopback = not networks or "127.0.0.0/8" in networks
    bound = rng.sample((*pools.outside_ips[:3], *pools.cluster_ips[:2]), rng.choice((0, 0, 0, 1, 2)))
    return NodeView(
        family=family,
        name="node-a",
        zone=rng.choice(ZONES),
        node_ip=rng.choice((*pools.node_ips[:1] * 3, pools.loopbacks[0])),
        addresses=(pools.loopbacks[0], *pools.node_ips, *bound),
        detector=rng.choice(
            (
                *(Detector(DetectBy.CIDR, pools.pods),) * 4,
                Detector(DetectBy.INTERFACE, "cbr0"),
                Detector(DetectBy.INTERFACE_PREFIX, "veth"),
                None,
            )
        ),
        masquerade_all=rng.random() < 0.1,
        node_ports=node_ports,
        loopback_node_ports=family is Family.IPV4 and reaches_loopback and rng.random() < 0.7,
    )


def _service(rng: Random, name: str, family: Family) -> Document:
    kind = rng.choice((*("ClusterIP", "NodePort", "LoadBalancer") * 6, "ExternalName"))
    families = _families(rng, family)
    own = [POOLS[each] for each in families]
    headless = rng.random() < 0.04
    spec: Document = {
        "type": kind,
        "ipFamilies": [str(each) for each in families],
        "clusterIPs": ["None"] if headless else [rng.choice(pools.cluster_ips) for pools in own],
        "ports": _ports(rng, kind),
        "internalTrafficPolicy": rng.choice(("Cluster", "Cluster", "Local")),
        "externalTrafficPolicy": rng.choice(("Cluster", "Cluster", "Local")),
        "sessionAffinity": rng.choice(("None", "None", "ClientIP")),
    }
    spec["clusterIP"] = spec["clusterIPs"][0]
    if rng.random() < 0.35:
        spec["externalIPs"] = _some(rng, own, "outside_ips", 2)
    if rng.random() < 0.5:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": rng.choice((1, 600, 86400))}}
    if kind == "LoadBalancer":
        spec["healthCheckNodePort"] = rng.choice(HEALTH_PORTS)
        if rng.random() < 0.5:
            spec["loadBalancerSourceRanges"] = _some(rng, own, "ranges", 2)
    metadata: Document = {"name": name, "namespace": "shop"}
    if rng.random() < 0.9:
        metadata["creationTimestamp"] = f"2024-05-0{rng.randint(1, 3)}T00:00:00Z"
    if rng.random() < 0.03:
        metadata["labels"] = {"service.kubernetes.io/service-proxy-name": rng.choice(("other", ""))}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": spec,
        "status": {"loadBalancer": {"ingress": _ingress(rng, own) if kind == "LoadBalancer" else []}},
    }


def _families(rng: Random, family: Family) -> list[Family]:
    """Mostly the one that is looked at; sometimes both, in either order, or only the other."""
    other = Family.IPV6 if family is Family.IPV4 else Family.IPV4
    return rng.choice(
        (
            [family],
            [family],
            [family],
            [family, other],
            [family, other],
            [other, family],
            [other, family],
            [other],
        )
    )


def _some(rng: Random, own: list[Pools], pool: str, most: int) -> list[str]:
    picked = [value for pools in own for value in rng.sample(getattr(pools, pool), rng.randint(1, most))]
    rng.shuffle(picked)
    return picked


def _ports(rng: Random, kind: str) -> list[Document]:
    """Names are unique in a Service, except that the API lets different protocols share a number."""
    ports = []
    for name in rng.sample(PORT_NAMES, rng.choice((1, 1, 2, 3))):
        port: Document = {"name": name, "protocol": rng.choice(PROTOCOLS), "port": rng.choice(PORTS)}
        if kind == "NodePort" or (kind == "LoadBalancer" and rng.random() < 0.8):
            port["nodePort"] = rng.choice(NODE_PORTS)
        ports.append(port)
    return ports


def _ingress(rng: Random, own: list[Pools]) -> list[Document]:
    entries: list[Document] = [
        {"ip": ip, **rng.choice(({}, {}, {"ipMode": "VIP"}, {"ipMode": "Proxy"}))}
        for ip in _some(rng, own, "outside_ips", 2)
    ]
    return [*entries, {"hostname": "lb.example"}] if rng.random() < 0.2 else entries


def _slice(rng: Random, service: Document, number: int, family: Family) -> Document:
    family = rng.choice((family, family, family, *map(Family, service["spec"]["ipFamilies"])))
    listed = service["spec"]["ports"]
    ports: list[Document | None] = [
        {"name": port["name"], "port": rng.choice(TARGETS), "protocol": port["protocol"]}
        for port in listed
        if rng.random() < 0.85
    ]
    if rng.random() < 0.1:
        ports.append(rng.choice(({"name": "spare", "port": 1}, {"name": None, "port": 80}, {"name": "http"})))
    hinted = rng.choice(("", "", "zone", "node", "both", "some"))
    endpoints = [_endpoint(rng, family, hinted) for _ in range(rng.choice((0, 1, 2, 3, 3)))]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"slice-{number}",
            "namespace": "shop",
            "labels": {"kubernetes.io/service-name": service["metadata"]["name"]},
        },
        "addressType": str(family),
        "ports": ports or None,
        "endpoints": endpoints or None,
    }


def _endpoint(rng: Random, family: Family, hinted: str) -> Document:
    conditions = rng.choice(
        (
            *({}, {"ready": True}, {"ready": True, "serving": True, "terminating": False}) * 2,
            {"ready": False, "serving": False},
            {"ready": False, "serving": True, "terminating": True},
            {"ready": False, "serving": False, "terminating": True},
            {"ready": True, "serving": True, "terminating": True},
            {"ready": False, "serving": True, "terminating": False},
        )
    )
    endpoint: Document = {"addresses": [rng.choice(POOLS[family].endpoints)], "conditions": conditions}
    if name := rng.choice(NODES):
        endpoint["nodeName"] = name
    hints: Document = {}
    if hinted in ("zone", "both") or (hinted == "some" and rng.random() < 0.5):
        hints["forZones"] = [{"name": zone} for zone in rng.sample(ZONES[1:], rng.randint(1, 2))]
    if hinted in ("node", "both") or (hinted == "some" and rng.random() < 0.5):
        hints["forNodes"] = [{"name": rng.choice(("node-a", "node-b"))}]
    if hints:
        endpoint["hints"] = hints
    return endpoint


def _packet(rng: Random, node: NodeView, services: list[Document]) -> Packet:
    pools = POOLS[node.family]
    interface = rng.choice(INTERFACES)
    sources = (
        pools.clients,
        pools.endpoints,
        pools.node_ips,
        pools.loopbacks,
        node.addresses,
        pools.outside_ips,
    )
    source = rng.choice(rng.choice(sources[:2] if interface else sources))
    destination, port, protocol = _aim(rng, node, services)
    if rng.random() < 0.08:
        protocol = rng.choice(("TCP", "UDP", "SCTP", "ICMP"))
    if rng.random() < 0.08:
        port = rng.choice((4, 53, 80, *NODE_PORTS, *HEALTH_PORTS))
    remembers = rng.choice(("", _written(rng.choice(pools.endpoints), rng.choice(TARGETS))))
    return Packet(source, destination, port, protocol, interface, remembers)


def _aim(rng: Random, node: NodeView, services: list[Document]) -> tuple[str, int, str]:
    """At an address and port that some Service names."""
    proxied = [
        s for s in services if s["spec"]["type"] != "ExternalName" and node.family in s["spec"]["ipFamilies"]
    ]
    service = rng.choice(proxied if proxied and rng.random() < 0.95 else services)
    spec, pools = service["spec"], POOLS[node.family]
    port = rng.choice(spec["ports"])
    if port.get("nodePort") and rng.random() < 0.4:
        return (
            rng.choice((*node.addresses, *pools.node_ips, pools.loopbacks[-1])),
            port["nodePort"],
            port["protocol"],
        )
    ingress = [entry["ip"] for entry in service["status"]["loadBalancer"]["ingress"] if "ip" in entry]
    named = [*spec["clusterIPs"], *spec.get("externalIPs", ()), *ingress, *ingress]
    mine = [text for text in named if (":" in text) is (node.family is Family.IPV6) and text != "None"]
    return rng.choice(mine or pools.outside_ips), port["port"], port["protocol"]


def _written(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
