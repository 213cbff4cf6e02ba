"""What the oracle says of a dial on the stage before it is made, and whether it came true."""

from collections.abc import Iterator

from msgspec.structs import replace

from kubeproxy.cli.demo_proxy import Files
from kubeproxy.cli.settings import load
from kubeproxy.cli.stage.echo import spelled
from kubeproxy.cli.stage.layout import Layout, Room, bare, same_family
from kubeproxy.cli.stage.questions import Answer, Dial, Fate
from kubeproxy.config.invocation import parse_flags
from kubeproxy.model.identity import Family, Protocol
from kubeproxy.model.tracker import Tracker
from kubeproxy.packets.addresses import Addresses
from kubeproxy.packets.oracle import tell
from kubeproxy.packets.packet import Outcome, Packet, Story
from kubeproxy.routes.decide import Routes, decide
from kubeproxy.routes.manners import CLASSIC, Manners
from kubeproxy.routes.nodeview import is_loopback
from kubeproxy.runtime.nodewatch import node_view
from kubeproxy.sources.manifests import ManifestsSource
from kubeproxy.wire.netlink import AF_INET, AF_INET6
from kubeproxy.wire.rtnetlink import LocalAddress, Scope

#: slower than this is no refusal at once; a busy machine has slow moments
AT_ONCE_MS = 900.0


class Oracle:
    """Knows the manifests, the configuration and the layout of the stage; sends no packet."""

    def __init__(self, files: Files, layout: Layout, manners: Manners = CLASSIC) -> None:
        config = load(parse_flags(files.options()))
        self.layout, self.rooms = layout, {room.name: room for room in layout.rooms}
        self.node, self.manners = config.hostnameOverride, manners
        tracker = Tracker()
        tracker.fold(ManifestsSource(files.manifests).read().changes)
        node, own = tracker.node(self.node), list(local_addresses(self.rooms[self.node]))
        self.views = {f: node_view(config, self.node, f, node, own) for f in Family}
        self.addresses: dict[Family, Addresses] = {}
        for family, view in self.views.items():
            routes = Routes()
            decide(tracker.snapshot, view, list(tracker.snapshot.names(family)), routes)
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
        own = self.rooms[dial.room].addresses
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
        fate, where = without_services(self.layout, dial)
        ends = answer.outcome is fate and answer.at == where
        sees = not where or answer.client == story.packet.source
        return "" if ends and sees else f"should be {fate} {where} as without Services, but: {answer}"


def without_services(layout: Layout, dial: Dial) -> tuple[Fate, str]:
    """What becomes of a dial where no Service has a say: the wiring alone decides, and where it ends.

    An address that nobody in the cluster has is the world's.
    """
    rooms = {room.name: room for room in layout.rooms}
    if dial.protocol == "ICMP":
        return Fate.ARRIVED, ""
    room = rooms[dial.room] if is_loopback(dial.to) else None
    owner = next((room for room in rooms.values() if dial.to in room.addresses), rooms["world"])
    if f"{dial.port}/{dial.protocol}" in (room or owner).serves:
        return Fate.ARRIVED, spelled(dial.to, dial.port)
    return Fate.REFUSED, ""


CHECKS = {
    Outcome.ARRIVES: Oracle._arrived,
    Outcome.REJECTED: Oracle._refused,
    Outcome.DROPPED: Oracle._dropped,
    Outcome.UNTOUCHED: Oracle._untouched,
}


def local_addresses(room: Room) -> Iterator[LocalAddress]:
    """What the kernel of a room would say its addresses are."""
    named = [(nic.name, bare(address)) for nic in room.nics for address in nic.addresses]
    for index, (name, address) in enumerate([("lo", "127.0.0.1"), ("lo", "::1"), *named], 1):
        family, length = (AF_INET6, 128) if ":" in address else (AF_INET, 32)
        yield LocalAddress(family, address, length, index, name, Scope.UNIVERSE)
