"""Question × Scene → Explanation."""

from collections.abc import Sequence

from msgspec.structs import replace

from kubeproxy.cli.explain_answer import Answer, Decision, Explanation, Named, Verdict
from kubeproxy.cli.explain_case import Trail, addressed, answer, sent
from kubeproxy.cli.explain_misses import Miss, miss
from kubeproxy.cli.explain_question import PING, Question, Unclear, Who
from kubeproxy.cli.explain_reasons import case
from kubeproxy.cli.explain_scene import Scene
from kubeproxy.cli.explain_sender import Sender, likely, sender
from kubeproxy.cli.explain_service import Place, named, places, unserved
from kubeproxy.model.identity import Family
from kubeproxy.packets.oracle import tell
from kubeproxy.packets.packet import Packet
from kubeproxy.packets.wording import FIELDS
from kubeproxy.routes.route import Because, FrontendKind


def explain(question: Question, said: Who | str | None, scene: Scene, trail: Trail) -> Explanation:
    """Everything there is to say about a question."""
    found = _about_address(question, said, scene, trail) if question.address else None
    if found is None:
        return _about_service(question, said, scene, trail)
    return _whole(question, scene, found.summary, (found,))


def _whole(question: Question, scene: Scene, summary: str, answers: Sequence[Answer]) -> Explanation:
    """What holds for every answer is said where it will be read."""
    unknown = _unknown_node(scene)
    told = tuple(replace(one, remarks=(*one.remarks, *unknown)) for one in answers)
    return Explanation(question.text, scene.node_name, scene.mode, summary, told)


def _unknown_node(scene: Scene) -> tuple[str, ...]:
    if scene.node is not None:
        return ()
    known = ", ".join(sorted(scene.picture.nodes)) or "none"
    return (
        (
            f"there is no Node {scene.node_name}, so its addresses and its zone are not known; "
            f"Nodes: {known}; name one with --hostname-override"
        ),
    )


def _about_address(question: Question, said: Who | str | None, scene: Scene, trail: Trail) -> Answer:
    who = _sender(question.address, question.port, question.protocol, said, scene)
    return _answered(who, question.address, question.port, question.protocol, scene, trail)


def _sender(to: str, port: int, protocol: str, said: Who | str | None, scene: Scene) -> Sender:
    if said is not None:
        return sender(said, to, scene, assumed=False)
    return sender(likely(to, _for_outside(to, port, protocol, scene)), to, scene, assumed=True)


def _for_outside(to: str, port: int, protocol: str, scene: Scene) -> bool:
    """Whether clients outside dial this rather than pods."""
    family = Family.IPV6 if ":" in to else Family.IPV4
    addresses = scene.addresses(family)
    if scene.view(family).is_local(to) and protocol != PING:
        return True
    inside = FrontendKind.CLUSTER_IP
    return any(found.route.frontend.kind is not inside for found in addresses.dialled(to, protocol, port))


def _answered(who: Sender, to: str, port: int, protocol: str, scene: Scene, trail: Trail) -> Answer:
    packet = Packet(who.address, to, port, protocol, who.interface)
    family = packet.family
    networks = scene.service_networks(family)
    story = tell(packet, scene.addresses(family), scene.view(family), scene.manners, networks)
    found = case(story, scene)
    if found is not None:
        return answer(found, who, scene, trail)
    missed, verdict = miss(packet, scene), Verdict.UNTOUCHED
    guard = next((step for step in story.steps if step.because == Because.LOOPBACK_GUARD), None)
    if guard is not None:
        verdict, fields = Verdict.DROPPED, (Decision(f"{guard.detail}: true", guard.because),)
        missed = Miss(f"dropped: {to} is loopback, which only the node itself may use", fields)
    return Answer(
        verdict,
        missed.summary,
        sent(who),
        addressed(packet),
        decided=missed.decided,
        path=trail(story, None, scene.view(family)),
        remarks=(*who.remarks, *missed.remarks),
        next=missed.next,
        steps=story.steps,
    )


def _about_service(question: Question, said: Who | str | None, scene: Scene, trail: Trail) -> Explanation:
    service = named(question, scene)
    found = places(question, service, scene)
    if not found:
        return unserved(question, service, scene)
    if said is not None and not isinstance(said, Who):
        found = [place for place in found if (":" in place.address) == (":" in said)]
        if not found:
            raise Unclear(f"{said} is of another family than the addresses of {service}", f"{service}")
    answers = [_at_place(place, said, scene, trail) for place in found]
    if len(answers) == 1:
        return _whole(question, scene, answers[0].summary, answers)
    return _whole(
        question, scene, f"Service {service} has {len(answers)} addresses on {scene.node_name}", answers
    )


def _at_place(place: Place, said: Who | str | None, scene: Scene, trail: Trail) -> Answer:
    front = place.frontend
    outside = front.kind is not FrontendKind.CLUSTER_IP
    whom = likely(place.address, outside) if said is None else said
    who = sender(whom, place.address, scene, assumed=said is None)
    if place.holder is None:
        return _answered(who, place.address, front.port, front.protocol, scene, trail)
    name, field = place.name, FIELDS[front.kind]
    return Answer(
        Verdict.UNSERVED,
        f"not its own: Service {place.holder} is older, and has this address and port",
        sent(who),
        addressed(Packet(who.address, place.address, front.port, front.protocol, who.interface)),
        Named(name.namespace, name.service, name.port, front.kind.value, field),
        (Decision(f"{field} and metadata.creationTimestamp", Because.CLAIMED_BY_OLDER.value),),
        remarks=(f"it gets the address when Service {place.holder} lets go of it",),
    )
