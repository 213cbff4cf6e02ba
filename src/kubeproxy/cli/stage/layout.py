"""The plan of the little cluster: which namespaces there are, how they are wired, who lives where.

    client ── lan ──┬── node-a ── its pods      (the proxy runs on node-a)
              │     └── node-b ── its pods      (a plain router)
            world                               (whatever node-a sends on although it is no Service's)

The LAN is a router with a cable to each node, as in most clouds: no bridge, whose ports take seconds
to wake up. All addresses exist inside the namespaces only, so they collide with nothing on the machine.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_interface

from msgspec import Struct


class Nic(Struct, frozen=True):
    """One interface of a room."""

    name: str
    addresses: tuple[str, ...] = ()


class Room(Struct, frozen=True):
    """One network namespace. Routes and rules are in the words of ip(8)."""

    name: str
    nics: tuple[Nic, ...] = ()
    routes: tuple[str, ...] = ()
    #: for each family
    rules: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    forwards: bool = False

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address of every interface."""
        return tuple(bare(address) for nic in self.nics for address in nic.addresses)


class Link(Struct, frozen=True):
    """A cable: a room and an interface at each end."""

    room: str
    nic: str
    peer: str
    peer_nic: str


class Layout(Struct, frozen=True):
    """All rooms and cables."""

    rooms: tuple[Room, ...]
    links: tuple[Link, ...]

    def room(self, name: str) -> Room:
        """The room of that name."""
        return next(room for room in self.rooms if room.name == name)


class Pod(Struct, frozen=True):
    """A namespace with pod addresses on one of the nodes, and what it listens on ("8080/TCP")."""

    name: str
    node: str
    addresses: tuple[str, ...]
    serves: tuple[str, ...] = ("8080/TCP", "8080/UDP")


class Node(Struct, frozen=True):
    """A node: where it is on the LAN, which pods' addresses are its own, and their gateway."""

    name: str
    addresses: tuple[str, ...]
    pod_networks: tuple[str, ...]
    gateways: tuple[str, ...]
    #: further interfaces, each cabled to the LAN room
    further: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()


class Plan(Struct, frozen=True):
    """Who has which address. The proxy runs on the first node."""

    nodes: tuple[Node, ...]
    lan_gateways: tuple[str, ...]
    client: tuple[str, ...]
    client_gateways: tuple[str, ...]
    world: tuple[str, ...]
    world_gateways: tuple[str, ...]
    #: networks that the LAN sends to the first node: cluster IPs, load balancer and external IPs
    services: tuple[str, ...]
    #: what else the world answers for
    beyond: tuple[str, ...] = ()
    world_serves: tuple[str, ...] = ("80/TCP", "80/UDP", "80/SCTP")


DEMO = Plan(
    nodes=(
        Node(
            name="node-a",
            addresses=("192.168.50.11", "fd00:50::11"),
            pod_networks=("10.244.1.0/24", "fd00:10:244:1::/64"),
            gateways=("10.244.1.1", "fd00:10:244:1::1"),
            further=("192.168.61.11", "fd00:61::11"),
            serves=("10250/TCP",),
        ),
        Node(
            name="node-b",
            addresses=("192.168.50.12", "fd00:50::12"),
            pod_networks=("10.244.2.0/24", "fd00:10:244:2::/64"),
            gateways=("10.244.2.1", "fd00:10:244:2::1"),
            serves=("6443/TCP",),
        ),
    ),
    lan_gateways=("192.168.50.1", "fd00:50::1"),
    client=("203.0.113.10/24", "203.0.113.99/24", "fd00:113::10/64", "fd00:113::99/64"),
    client_gateways=("203.0.113.1/24", "fd00:113::1/64"),
    world=("192.0.2.9/24", "fd00:9::9/64"),
    world_gateways=("192.0.2.1/24", "fd00:9::1/64"),
    services=("10.96.0.0/16", "fd00:10:96::/112", "198.51.100.0/24", "fd00:198::/64"),
)
#: the routing table for what comes from the first node
FROM_FIRST_NODE = 100


def bare(address: str) -> str:
    """An address without its prefix length."""
    return str(ip_interface(address).ip)


def same_family(one: str, other: str) -> bool:
    """Whether two addresses or networks are of one IP family."""
    return (":" in one) == (":" in other)


def pod_nic(pod: Pod) -> str:
    """The node's end of a pod's cable, called as most CNI plugins call theirs."""
    return f"veth-{pod.name}"[:15]


def cluster(pods: Sequence[Pod], plan: Plan = DEMO) -> Layout:
    """Rooms and cables for these pods: a client, the LAN, the world, the nodes, and a room per pod."""
    by_name = {node.name: node for node in plan.nodes}
    rooms = [_client(plan), _lan(plan), _world(plan)]
    rooms += [_node(node, [pod for pod in pods if pod.node == node.name], plan) for node in plan.nodes]
    rooms += [_pod(pod, by_name[pod.node]) for pod in pods]
    links = [Link("lan", "to-client", "client", "eth0"), Link("lan", "to-world", "world", "eth0")]
    links += [link for node in plan.nodes for link in _node_links(node)]
    links += [Link(pod.node, pod_nic(pod), pod.name, "eth0") for pod in pods]
    return Layout(tuple(rooms), tuple(links))


def only_ipv4(layout: Layout) -> Layout:
    """The same cluster for a kernel without IPv6."""
    return Layout(tuple(_only_ipv4(room) for room in layout.rooms), layout.links)


def _only_ipv4(room: Room) -> Room:
    def kept(nic: Nic) -> Nic:
        return Nic(nic.name, tuple(a for a in nic.addresses if ":" not in a))

    return Room(
        name=room.name,
        nics=tuple(map(kept, room.nics)),
        routes=tuple(route for route in room.routes if ":" not in route),
        rules=room.rules,
        serves=room.serves,
        forwards=room.forwards,
    )


def _client(plan: Plan) -> Room:
    routes = tuple(f"route add default via {bare(gateway)}" for gateway in plan.client_gateways)
    return Room("client", (Nic("eth0", plan.client),), routes=routes, serves=("8080/TCP", "8080/UDP"))


def _lan(plan: Plan) -> Room:
    """The router between the nodes, the client and the world.

    It hands Service addresses to the first node; what that node itself sends to one goes to the world:
    no Service took it, and it must not come back.
    """
    nics = [Nic("to-client", plan.client_gateways), Nic("to-world", plan.world_gateways)]
    routes = [f"route add default via {bare(address)}" for address in plan.world]
    for node in plan.nodes:
        nics.append(Nic(f"to-{node.name}", plan.lan_gateways))
        routes += [f"route add {address} dev to-{node.name}" for address in node.addresses]
        if node.further:
            nics.append(Nic(f"to2-{node.name}", plan.lan_gateways))
            routes += [f"route add {address} dev to2-{node.name}" for address in node.further]
        routes += [f"route add {network} via {_of(node.addresses, network)}" for network in node.pod_networks]
    first = plan.nodes[0]
    for network in plan.services:
        routes.append(f"route add {network} via {_of(first.addresses, network)}")
        world = bare(_of(plan.world, network))
        routes.append(f"route add {network} via {world} table {FROM_FIRST_NODE}")
    rule = f"rule add iif to-{first.name} lookup {FROM_FIRST_NODE}"
    return Room("lan", tuple(nics), routes=tuple(routes), rules=(rule,), forwards=True)


def _world(plan: Plan) -> Room:
    """Has every Service's address, so that whoever arrives here was let through by the node."""
    routes = [f"route add default via {bare(gateway)}" for gateway in plan.world_gateways]
    routes += [f"route add local {network} dev lo" for network in (*plan.services, *plan.beyond)]
    return Room("world", (Nic("eth0", plan.world),), tuple(routes), serves=plan.world_serves)


def _of(addresses: Sequence[str], network: str) -> str:
    """The first address of a network's family."""
    return next(address for address in addresses if same_family(network, address))


def _node(node: Node, pods: Sequence[Pod], plan: Plan) -> Room:
    nics = [Nic("eth0", node.addresses)]
    nics += [Nic("eth1", node.further)] if node.further else []
    nics += [Nic(pod_nic(pod), node.gateways) for pod in pods]
    routes = [f"route add default via {gateway} dev eth0 onlink" for gateway in plan.lan_gateways]
    routes += [f"route add {address} dev {pod_nic(pod)}" for pod in pods for address in pod.addresses]
    return Room(node.name, tuple(nics), routes=tuple(routes), serves=node.serves, forwards=True)


def _pod(pod: Pod, node: Node) -> Room:
    families = {":" in address for address in pod.addresses}
    routes = [
        f"route add default via {gateway} dev eth0 onlink"
        for gateway in node.gateways
        if (":" in gateway) in families
    ]
    return Room(pod.name, (Nic("eth0", pod.addresses),), routes=tuple(routes), serves=pod.serves)


def _node_links(node: Node) -> Iterator[Link]:
    yield Link(node.name, "eth0", "lan", f"to-{node.name}")
    if node.further:
        yield Link(node.name, "eth1", "lan", f"to2-{node.name}")
