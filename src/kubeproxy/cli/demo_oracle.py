"""What the oracle says of a dial on the stage before it is made, and whether it came true."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from kubeproxy.cli.stage.echo import spelled
from kubeproxy.cli.stage.layout import POD_RANGES, Layout, Room, bare, same_family
from kubeproxy.cli.stage.questions import Answer, Dial, Fate
from kubeproxy.model.identity import Family, Protocol
from kubeproxy.model.tracker import Tracker
from kubeproxy.packets.addresses import Addresses
from kubeproxy.packets.oracle import tell
from kubeproxy.packets.packet import Outcome, Packet, Story
from kubeproxy.routes.decide import Routes, decide
from kubeproxy.routes.manners import CLASSIC, Manners
from kubeproxy.routes.nodeview import DetectBy, Detector, NodeView, is_loopback
from kubeproxy.sources.manifests import ManifestsSource

ZONE = "topology.kubernetes.io/zone"
LOOPBACK = {Family.IPV4: "127.0.0.1", Family.IPV6: "::1"}
AT_ONCE_MS = 900.0


class Oracle:
    """Knows the manifests of a directory and the layout of the stage; sends no packet.

    `settings` are fields of the NodeViews that another configuration than the demo's would change.
    """

    def __init__(
        self,
        folder: Path,
        layout: Layout,
        node: str = "node-a",
        manners: Manners = CLASSIC,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.rooms = {room.name: room for room in layout.rooms}
        self.node, self.manners = node, manners
        tracker = Tracker()
        changed = tracker.fold(ManifestsSource(folder).read().changes)
        known = tracker.node(node)
        zone = known.metadata.labels.get(ZONE, "") if known else ""
        room = self.rooms[node]
        self.views = {family: replace(view(room, family, zone), **settings) for family in Family}
        self.addresses: dict[Family, Addresses] = {}
        for family, own in self.views.items():
            routes = Routes()
            decide(tracker.snapshot, own, changed.of(family).names, routes)
            self.addresses[family] = Addresses(routes.values())

    def packet(self, dial: Dial) -> Packet:
        """The first packet of a dial, as the node sees it come."""
        protocol = Protocol(dial.protocol)
        source = dial.source or self._source(dial)
        return Packet(source, dial.to, dial.port, protocol, self._interface(dial.room))

    def story(self, dial: Dial, remembers: str = "") -> Story:
        """What will happen to a dial."""
        packet = replace(self.packet(dial), remembers=remembers)
        family = packet.family
        return tell(packet, self.addresses[family], self.views[family], self.manners)

    def lies(self, story: Story, answer: Answer, dial: Dial) -> str:
        """How an answer differs from its story; empty when it came true."""
        return CHECKS[story.outcome](self, story, answer, dial)

    def _source(self, dial: Dial) -> str:
        """The address that the kernel of the room chooses: the first of the family."""
        own = [a for nic in self.rooms[dial.room].nics for a in map(bare, nic.addresses)]
        if dial.room == self.node and (is_loopback(dial.to) or dial.to in own):
            return dial.to
        return next(address for address in own if same_family(address, dial.to))

    def _interface(self, room: str) -> str:
        if room == self.node:
            return ""
        nics = {nic.name for nic in self.rooms[self.node].nics}
        return f"veth-{room}" if f"veth-{room}" in nics else "eth0"

    def _arrived(self, story: Story, answer: Answer, dial: Dial) -> str:
        choice = next((c for c in story.choices if c.endpoint == answer.at), None)
        if answer.outcome is not Fate.ARRIVED or choice is None:
            return f"should arrive at {' or '.join(c.endpoint for c in story.choices)}, but: {answer}"
        if choice.masqueraded and not self.views[story.packet.family].is_local(answer.client):
            return f"the pod should see node-a, but: {answer}"
        if not choice.masqueraded and answer.client != story.packet.source:
            return f"the pod should see {story.packet.source}, but: {answer}"
        return ""

    def _refused(self, story: Story, answer: Answer, dial: Dial) -> str:
        at_once = answer.outcome is Fate.REFUSED and answer.milliseconds < AT_ONCE_MS
        return "" if at_once else f"should be refused at once, but: {answer}, {answer.milliseconds:.0f} ms"

    def _dropped(self, story: Story, answer: Answer, dial: Dial) -> str:
        return "" if answer.outcome is Fate.SILENT else f"should be dropped, but: {answer}"

    def _untouched(self, story: Story, answer: Answer, dial: Dial) -> str:
        fate, where = self.without_services(dial)
        ends = answer.outcome is fate and answer.at == (where if fate is Fate.ARRIVED else "")
        sees = fate is not Fate.ARRIVED or answer.client == story.packet.source
        return "" if ends and sees else f"should be {fate} {where} as without Services, but: {answer}"

    def without_services(self, dial: Dial) -> tuple[Fate, str]:
        """What becomes of a dial where no Service has a say: the wiring alone decides.

        An address that nobody in the cluster has is the world's.
        """
        for room in self.rooms.values():
            if dial.to in {bare(a) for nic in room.nics for a in nic.addresses} or (
                room.name == dial.room and is_loopback(dial.to)
            ):
                served = f"{dial.port}/{dial.protocol}" in room.serves
                return (Fate.ARRIVED, spelled(dial.to, dial.port)) if served else (Fate.REFUSED, "")
        if f"{dial.port}/{dial.protocol}" in self.rooms["world"].serves:
            return Fate.ARRIVED, spelled(dial.to, dial.port)
        return Fate.REFUSED, ""


CHECKS = {
    Outcome.ARRIVES: Oracle._arrived,
    Outcome.REJECTED: Oracle._refused,
    Outcome.DROPPED: Oracle._dropped,
    Outcome.UNTOUCHED: Oracle._untouched,
}


def view(room: Room, family: Family, zone: str) -> NodeView:
    """What the proxy on this node knows of itself, with the demo's configuration."""
    own = [bare(a) for nic in room.nics for a in nic.addresses if _is_of(a, family)]
    pods = next(network for network in POD_RANGES if _is_of(network, family))
    return NodeView(
        family=family,
        name=room.name,
        zone=zone,
        node_ip=own[0] if own else LOOPBACK[family],
        addresses=(*dict.fromkeys(own), LOOPBACK[family]),
        detector=Detector(DetectBy.CIDR, pods),
        loopback_node_ports=family is Family.IPV4,
    )


def _is_of(address: str, family: Family) -> bool:
    return (":" in address) == (family is Family.IPV6)
