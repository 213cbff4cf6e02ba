"""A cluster as both tellers see it: Routes for the oracle, tables for the walk."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kubeproxy.api.change import KubeObject, Upsert
from kubeproxy.backends.iptables.backend import IPTables
from kubeproxy.backends.iptables.text import whole
from kubeproxy.backends.iptables.walk import walk
from kubeproxy.model.identity import Family
from kubeproxy.model.tracker import Tracker
from kubeproxy.packets.addresses import Addresses
from kubeproxy.packets.oracle import tell
from kubeproxy.packets.packet import Packet, Story
from kubeproxy.routes.decide import Routes, decide
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.wire.iptdump import Table, parse_tables


class World(NamedTuple):
    """One IP family of a cluster, seen from one node."""

    node: NodeView
    routes: Routes
    addresses: Addresses
    tables: Mapping[str, Table]

    def told(self, packet: Packet) -> Story:
        return tell(packet, self.addresses, self.node, IPTables.manners)

    def walked(self, packet: Packet) -> Story:
        return walk(self.tables, packet, self.node)

    def disagreement(self, packet: Packet) -> str:
        """Empty when both tell the same end; else both stories."""
        told, walked = self.told(packet), self.walked(packet)
        return "" if told.gist == walked.gist else f"\noracle: {told}\n\nwalk: {walked}"


def tracked(objects: Iterable[KubeObject]) -> Tracker:
    """What is known once all these objects have been heard of."""
    tracker = Tracker()
    tracker.fold(Upsert(obj) for obj in objects)
    return tracker


def decided(tracker: Tracker, node: NodeView) -> Routes:
    routes = Routes()
    decide(tracker.snapshot, node, tracker.snapshot.names(node.family), routes)
    return routes


def compiled(routes: Routes, node: NodeView) -> dict[str, Table]:
    """The tables of a node that holds these rules and nothing else."""
    backend = IPTables(ipv6=node.family is Family.IPV6, portion=None)
    wanted = backend.prepare(node)
    backend.compile(wanted, dict(routes))
    return parse_tables("".join(text for _, text in whole(wanted)).splitlines())


def world(tracker: Tracker, node: NodeView, tables: Mapping[str, Table] | None = None) -> World:
    """Both views of a cluster; the rules are our own unless a dump is given."""
    routes = decided(tracker, node)
    return World(
        node, routes, Addresses(routes.values()), compiled(routes, node) if tables is None else tables
    )
