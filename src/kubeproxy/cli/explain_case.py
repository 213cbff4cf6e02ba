"""A packet to a Service's address → the whole answer."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from kubeproxy.backends.waypoint import Waypoint
from kubeproxy.cli.explain_answer import (
    Answer,
    Candidate,
    From,
    LeftOut,
    Named,
    Next,
    Seen,
    To,
    Verdict,
)
from kubeproxy.cli.explain_reasons import Case, decisions, some_usable_elsewhere
from kubeproxy.cli.explain_scene import Scene
from kubeproxy.cli.explain_sender import Sender
from kubeproxy.packets.packet import Outcome, Packet, Story
from kubeproxy.packets.wording import FIELDS
from kubeproxy.routes.excluded import excluded, excluded_from_cluster
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import Because, PortRoutes

Trail: TypeAlias = Callable[[Story, PortRoutes | None, NodeView], tuple[Waypoint, ...]]

_VERDICTS: Final = {
    Outcome.ARRIVES: Verdict.ARRIVES,
    Outcome.REJECTED: Verdict.REFUSED,
    Outcome.DROPPED: Verdict.DROPPED,
    Outcome.UNTOUCHED: Verdict.UNTOUCHED,
}

#: what ends a packet's way before anybody looks for an endpoint
_BEFORE_CHOOSING: Final = (
    Because.SOURCE_NOT_ALLOWED,
    Because.LOOPBACK_GUARD,
    Because.NOT_A_NODE_PORT_ADDRESS,
)


def sent(sender: Sender) -> From:
    return From(sender.address, sender.who, sender.assumed)


def addressed(packet: Packet) -> To:
    return To(packet.destination, packet.port, packet.protocol, packet.family)


def answer(found: Case, sender: Sender, scene: Scene, trail: Trail) -> Answer:
    story = found.story
    return Answer(
        verdict=_VERDICTS[story.outcome],
        summary=_summary(found),
        sent_from=sent(sender),
        to=addressed(story.packet),
        service=_named(found),
        decided=decisions(found),
        endpoints=_candidates(found, scene),
        excluded=_left_out(found, scene),
        pod_sees=_seen(found),
        affinity_seconds=found.decided.port.affinity_seconds,
        path=trail(story, found.decided, found.node),
        remarks=(*sender.remarks, *_remarks(found, scene)),
        next=tuple(_next(found)),
        steps=story.steps,
    )


def _named(found: Case) -> Named:
    name, kind = found.name, found.route.frontend.kind
    return Named(name.namespace, name.service, name.port, kind.value, FIELDS[kind])


def _summary(found: Case) -> str:
    service, packet = f"Service {found.name}", found.story.packet
    match found.story.outcome:
        case Outcome.ARRIVES:
            return _arrives(found, service)
        case _ if found.has(Because.SOURCE_NOT_ALLOWED):
            return f"dropped: {packet.source} is outside the source ranges of {service}"
        case _ if found.has(Because.LOOPBACK_GUARD):
            return f"dropped: {packet.destination} is loopback, which only the node itself may use"
        case _ if found.has(Because.NOT_A_NODE_PORT_ADDRESS):
            return f"not touched: the node port of {service} does not answer on {packet.destination}"
        case outcome if found.refusing is not None:
            return f"{outcome}: {found.refusing.what}"
        case Outcome.REJECTED:
            return f"refused at once: {service} has no usable endpoint anywhere"
        case Outcome.DROPPED:
            return f"dropped: {service} has no usable endpoint on this node, and its policy is Local"
    return f"not touched: {service} has no usable endpoint, but on this way nobody refuses the packet"


def _arrives(found: Case, service: str) -> str:
    choices = found.story.choices
    if len(choices) > 1:
        return f"arrives: {service} gives it to one of {len(choices)} endpoints"
    return f"arrives: {service} gives it to {choices[0].endpoint}, the only endpoint it may choose"


def _candidates(found: Case, scene: Scene) -> tuple[Candidate, ...]:
    known = {str(endpoint): endpoint for endpoint in found.endpoints}
    return tuple(
        Candidate(
            choice.endpoint,
            scene.here(known[choice.endpoint]),
            round(choice.share, 6),
            "node" if choice.masqueraded else "client",
        )
        for choice in found.story.choices
    )


def _left_out(found: Case, scene: Scene) -> tuple[LeftOut, ...]:
    decided, all_of_them = found.decided, found.endpoints
    if found.story.outcome is not Outcome.ARRIVES and any(map(found.has, _BEFORE_CHOOSING)):
        return ()
    # Where nobody can be used anywhere, that is why, and not where they are.
    if found.has(Because.SHORTCUT) or not decided.usable_anywhere:
        left = excluded_from_cluster(decided, all_of_them)
    else:
        left = excluded(decided, found.route, all_of_them, found.node)
    return tuple(LeftOut(str(x.endpoint), scene.here(x.endpoint), x.because.value) for x in left)


def _seen(found: Case) -> Seen | None:
    story, route = found.story, found.route
    if story.outcome is not Outcome.ARRIVES:
        return None
    source, because = story.packet.source, route.masquerade_because
    if because is not None and found.node.source_class(source, story.packet.interface) & route.masquerade:
        return Seen("node", because.value)
    hairpin = f"{Because.HAIRPIN}, and its replies must come back through this node"
    if all(choice.masqueraded for choice in story.choices):
        return Seen("node", hairpin)
    if any(choice.masqueraded for choice in story.choices):
        return Seen(source, f"{source} itself would see this node's address: {hairpin}")
    return Seen(source, "its address is not changed")


def _remarks(found: Case, scene: Scene) -> Iterator[str]:
    story, name = found.story, found.name
    rivals = scene.routes(name.family).claims.contested(found.decided)
    for contested in rivals:
        if contested.frontend == story.frontend:
            listed = ", ".join(f"Service {rival}" for rival in contested.rivals)
            yield f"{listed} wants this address and port too, and does not get it: {name} had it first"
    if story.outcome is Outcome.ARRIVES:
        # Others it was for too, and endpoints that are addresses themselves, where somebody refuses.
        yield from (step.what for step in story.steps if ", which " in step.what)
    if found.has(Because.SHORTCUT) and not found.route.pool and found.route.verdict is not None:
        yield "a client outside would be dropped here: this node has no usable endpoint"
    port = found.decided.port.health_check_port
    if found.local and not found.inside and port:
        yield (
            f"load balancers ask port {port} (spec.healthCheckNodePort) whether this node has ready endpoints"
        )
    for complaint in scene.picture.tracker.complaints():
        if (complaint.about.kind, complaint.about.namespace, complaint.about.name) == (
            "Service",
            name.namespace,
            name.service,
        ):
            yield str(complaint)


def _next(found: Case) -> Iterator[Next]:
    """What to do about a packet that arrives nowhere."""
    owner, outcome = found.name.owner, found.story.outcome
    look = f"kubectl -n {owner.namespace} get endpointslices -l kubernetes.io/service-name={owner.name}"
    if outcome is Outcome.ARRIVES or found.has(Because.LOOPBACK_GUARD):
        return
    if found.refusing is not None:
        yield Next("write addresses of pods into its EndpointSlices, and none of Services", look)
    elif found.has(Because.SOURCE_NOT_ALLOWED):
        yield Next("to let it in, add its network to spec.loadBalancerSourceRanges")
    elif found.has(Because.NOT_A_NODE_PORT_ADDRESS):
        yield Next("dial another address of this node, or change nodePortAddresses in the configuration")
    elif not found.decided.usable_anywhere:
        what = "find out why no pod is ready" if found.endpoints else "see which EndpointSlices it has"
        yield Next(what, look)
    elif count := some_usable_elsewhere(found.endpoints, found.node):
        here = "have an endpoint on this node too" if found.inside else "dial a node that has an endpoint"
        yield Next(f"{here} ({count} elsewhere), or make the policy Cluster")
