"""Whatever the cluster and the packet: there is an answer, it fits the page, and it ends as the oracle says."""

import pytest
from msgspec.structs import replace

from kubeproxy.api.node import Node
from kubeproxy.api.service import Service
from kubeproxy.backends.iptables.trail import trail
from kubeproxy.cli.explain import shown
from kubeproxy.cli.explain_answer import Verdict
from kubeproxy.cli.explain_answering import explain
from kubeproxy.cli.explain_question import Question, Who
from kubeproxy.cli.explain_scene import Scene
from kubeproxy.cli.picture import Picture
from kubeproxy.model.identity import Family
from kubeproxy.model.service import service_name
from kubeproxy.packets.oracle import tell
from kubeproxy.packets.packet import Outcome, Packet
from kubeproxy.routes.manners import CLASSIC
from kubeproxy.routes.nodeview import NodeView
from tests.stories.clusters import cluster
from tests.stories.world import decided, tracked

ENDS = {
    Outcome.ARRIVES: Verdict.ARRIVES,
    Outcome.REJECTED: Verdict.REFUSED,
    Outcome.DROPPED: Verdict.DROPPED,
    Outcome.UNTOUCHED: Verdict.UNTOUCHED,
}
LOOPBACKS = {Family.IPV4: "127.0.0.1", Family.IPV6: "::1"}


def scene(objects: list, node: NodeView) -> Scene:
    """A cluster that never was in a file."""
    tracker = tracked(objects)
    other = Family.IPV6 if node.family is Family.IPV4 else Family.IPV4
    views = {node.family: node, other: NodeView(other, node.name, node_ip=LOOPBACKS[other])}
    routes = {family: decided(tracker, view) for family, view in views.items()}
    services = {service_name(obj): obj for obj in objects if isinstance(obj, Service)}
    nodes = {obj.metadata.name: obj for obj in objects if isinstance(obj, Node)}
    return Scene(Picture(tracker, views, routes, services, nodes, ()), "iptables", CLASSIC)


@pytest.mark.parametrize("seed", range(60))
def test_any_packet_in_any_cluster(seed):
    made = cluster(seed, 20)
    seen = scene(list(made.objects()), made.node)
    for packet in made.packets:
        question = Question("", packet.destination, port=packet.port, protocol=packet.protocol)
        for said in (*Who, packet.source, None):
            found = explain(question, said, seen, trail)
            (answer,) = found.answers
            # The sender's interface is what the sender is known by.
            sent = Packet(answer.sent_from.address, packet.destination, packet.port, packet.protocol)
            ends = {
                ENDS[tell(p, seen.addresses(p.family), made.node, CLASSIC).outcome]
                for p in ways(sent, made.node)
            }
            assert answer.verdict in ends, f"seed {seed}: {packet} from {said}"
            text = shown(found, as_json=False)
            assert text.startswith(answer.summary + "\n\n")
            assert max(map(len, text.splitlines()[1:])) <= 110
            assert shown(found, as_json=True).startswith("{")


def ways(packet: Packet, node: NodeView) -> list[Packet]:
    """The packet as each interface would bring it, and as the node itself would send it."""
    names = (
        ["", "eth0"]
        if node.detector is None
        else ["", "eth0", node.detector.value, f"{node.detector.value}0"]
    )
    return [replace(packet, interface=name) for name in names]


@pytest.mark.parametrize("seed", range(60))
def test_any_service_by_its_name(seed):
    made = cluster(seed, 1)
    seen = scene(list(made.objects()), made.node)
    for name, service in seen.picture.services.items():
        found = explain(Question("", service=str(name)), None, seen, trail)
        served = seen.picture.tracker.snapshot
        expected = sum(
            len(seen.routes(f)[port.name].routes) + len(seen.routes(f)[port.name].lost)
            for f in Family
            for port in served.ports_of(name, f)
        )
        assert len(found.answers) == expected, service
        assert shown(found, as_json=False)
