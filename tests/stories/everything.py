"""All packets that can make a difference in a cluster.

Rules and Routes mention finitely many values. Everything they do not mention they treat alike, so one of each
stands for all of those, and the combinations prove the whole.
"""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from itertools import product
from math import prod
from typing import NamedTuple

from kubeproxy.model.identity import Family
from kubeproxy.packets.packet import Packet
from tests.stories.world import World

UNMENTIONED = {Family.IPV4: "198.18.7.7", Family.IPV6: "2001:db8:7777::7"}
LOOPBACKS = {Family.IPV4: ("127.0.0.1", "127.9.9.9"), Family.IPV6: ("::1",)}
PROTOCOLS = ("TCP", "UDP", "SCTP", "ICMP")
UNMENTIONED_PORT = 4
#: where a packet comes in; "" is this node itself
INTERFACES = ("eth0", "")


class Values(NamedTuple):
    """What is mentioned, and one of each that is not."""

    sources: list[str]
    destinations: list[str]
    ports: list[int]
    #: endpoints a client may have been given before; "" is none
    remembered: list[str]

    @property
    def combinations(self) -> int:
        return prod(map(len, (*self, INTERFACES, PROTOCOLS)))


def values(world: World) -> Values:
    family = world.node.family
    sources = {*world.node.addresses, *LOOPBACKS[family], UNMENTIONED[family]}
    destinations = set(sources)
    ports = {UNMENTIONED_PORT}
    remembered = {""}
    for decided in world.routes.values():
        for route in decided.routes:
            front = route.frontend
            destinations.update({front.address} - {""})
            ports.add(front.port)
            if route.allowed:
                sources.update(map(_inside, route.allowed.ranges))
                sources.update(route.allowed.own_addresses)
        sources.update(endpoint.address for endpoint in decided.reachable)
        ports.add(decided.port.health_check_port or UNMENTIONED_PORT)
        if decided.port.affinity_seconds:
            remembered.update(map(str, decided.reachable))
    for option, value in _mentioned(world):
        if option == "-s":
            sources.add(_inside(value))
        elif option == "-d":
            destinations.add(_inside(value))
        elif option == "--dport":
            ports.add(int(value))
    return Values(sorted(sources), sorted(destinations), sorted(ports), sorted(remembered))


def packets(world: World) -> Iterator[Packet]:
    found = values(world)
    for source, destination, port, known, protocol, interface in product(*found, PROTOCOLS, INTERFACES):
        yield Packet(source, destination, port, protocol, interface, known)


def _mentioned(world: World) -> Iterator[tuple[str, str]]:
    for table in world.tables.values():
        for chain in table.chains.values():
            for rule in chain.rules:
                yield from ((match.option, match.value) for match in rule.matches)


def _inside(network: str) -> str:
    """An address that stands for a network: not its first, which may be mentioned by itself."""
    whole = ip_network(network)
    return str(whole[0] if whole.num_addresses == 1 else ip_address(int(whole[0]) + 77 % whole.num_addresses))
