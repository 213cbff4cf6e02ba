"""The oracle: follows a Packet through Routes. What it tells is what every backend must do.

It knows no dialect. Where dialects may differ, it reads their manners.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import PortName
from kubeproxy.packets.addresses import Addresses, Answer
from kubeproxy.packets.packet import Choice, Outcome, Packet, Step, Story
from kubeproxy.packets.wording import SOURCE_RANGES, TOPOLOGY, client, dialled, near_misses, passed_by, policy
from kubeproxy.routes.manners import Manners
from kubeproxy.routes.nodeview import NodeView, is_loopback, within
from kubeproxy.routes.route import Because, FrontendKind, Pool, PortRoutes, Source, Topology, Verdict

_OUTCOMES = {Verdict.REJECT: Outcome.REJECTED, Verdict.DROP: Outcome.DROPPED}


def tell(
    packet: Packet,
    routes: Addresses | Mapping[PortName, PortRoutes],
    node: NodeView,
    manners: Manners,
    service_networks: Sequence[str] = (),
) -> Story:
    """What happens to a packet on this node, and why.

    Ask many questions of the same Addresses: making them from a mapping visits every ServicePort.
    """
    addresses = routes if isinstance(routes, Addresses) else Addresses(routes.values())
    return _Telling(packet, addresses, node, manners, tuple(service_networks)).story()


class Refusal(Struct, frozen=True):
    """Why a packet that was given to nobody goes no further."""

    answer: Answer
    verdict: Verdict
    because: Because | None
    field: str


class _Telling(Struct, frozen=True):
    """One packet, and everything that decides about it."""

    packet: Packet
    addresses: Addresses
    node: NodeView
    manners: Manners
    service_networks: tuple[str, ...]

    def story(self) -> Story:
        """Whoever was dialled is asked in order; the first that may and can gives it to an endpoint."""
        asked = self._asked()
        for position, answer in enumerate(asked):
            if self._serves(answer) and self._allowed(answer) and self._pool(answer):
                return self._arrives(answer, self._introduced(asked[: position + 1]))
        return self._ends(asked)

    def _asked(self) -> list[Answer]:
        """Everybody with a claim to the packet.

        One Service may name an address twice, and an address of this node may be somebody's external IP on a
        port that is also somebody's node port.
        """
        packet = self.packet
        found = self.addresses.dialled(packet.destination, packet.protocol, packet.port)
        if len(found) > 1:
            found = sorted(found, key=self._rank)
        if self.node.is_local(packet.destination):
            behind = self.addresses.node_port(packet.family, packet.protocol, packet.port)
            return [*found, behind] if behind is not None else found
        return found

    def _rank(self, answer: Answer) -> int:
        external_first = self.manners.external_ip_before_source_ranges
        return {
            FrontendKind.CLUSTER_IP: 0,
            FrontendKind.EXTERNAL_IP: 1 if external_first else 2,
            FrontendKind.LOAD_BALANCER: 2 if external_first else 1,
        }.get(answer.route.frontend.kind, 3)

    def _serves(self, answer: Answer) -> bool:
        """Whether the Frontend answers on this address at all: node ports are choosy."""
        if answer.route.frontend.kind is not FrontendKind.NODE_PORT:
            return True
        destination = self.packet.destination
        if is_loopback(destination) and not self.manners.loopback_node_ports:
            return False
        return self.node.serves_node_port_on(destination)

    @property
    def _source(self) -> Source:
        return self.node.source_class(self.packet.source, self.packet.interface)

    def _allowed(self, answer: Answer) -> bool:
        allowed, source = answer.route.allowed, self.packet.source
        if allowed is None or source in allowed.own_addresses:
            return True
        return any(within(source, network) for network in allowed.ranges)

    def _pool(self, answer: Answer) -> Pool:
        """The endpoints this client may be given to."""
        route = answer.route
        pool = route.pool_for(self._source) if self.manners.shortcut else route.pool
        if not pool and self.manners.local_falls_back and answer.decided.cluster:
            return Pool(answer.decided.cluster, pool.affinity_seconds)
        return pool

    def _introduced(self, asked: Sequence[Answer]) -> tuple[Step, ...]:
        """The way to the last of those asked, and who its packet is from."""
        *passed, answer = asked
        kind = answer.route.frontend.kind
        address = self.packet.family if kind is FrontendKind.NODE_PORT else self.packet.destination
        losers = self.addresses.lost(address, self.packet.protocol, self.packet.port)
        return (
            *(passed_by(one, self._allowed(one)) for one in passed),
            dialled(answer),
            *(Step(f"{name} wants it too and does not get it", Because.CLAIMED_BY_OLDER) for name in losers),
            client(self.packet, self._source, self.node),
        )

    def _arrives(self, answer: Answer, steps: tuple[Step, ...]) -> Story:
        pool, route = self._pool(answer), answer.route
        kept = [e for e in pool.endpoints if pool.affinity_seconds and str(e) == self.packet.remembers]
        endpoints = kept or pool.endpoints
        steps += self._reasons(answer, endpoints, bool(kept))
        masqueraded = bool(self._source & route.masquerade)
        shares = dict.fromkeys(Outcome, 0)
        choices = []
        for endpoint in endpoints:
            hidden = masqueraded or endpoint.address == self.packet.source
            refusal = self._behind(endpoint, hidden)
            shares[_OUTCOMES[refusal.verdict] if refusal else Outcome.ARRIVES] += 1
            if refusal is None:
                choices.append(Choice(str(endpoint), 1 / len(endpoints), hidden))
            else:
                said = f"{endpoint} is itself an address of Service {refusal.answer.name}, which refuses"
                steps += (Step(said, refusal.because or "", refusal.field),)
        if masqueraded and route.masquerade_because is not None:
            steps += (Step("the pod sees this node's address", route.masquerade_because),)
        elif any(choice.masqueraded for choice in choices):
            steps += (Step(f"{self.packet.source} sees this node's address", Because.HAIRPIN),)
        outcome = Outcome.ARRIVES if choices else max(shares, key=lambda end: shares[end])
        return Story(self.packet, outcome, tuple(choices), steps, answer.name, route.frontend)

    def _reasons(self, answer: Answer, endpoints: Sequence[Endpoint], kept: bool) -> tuple[Step, ...]:
        """Why these endpoints."""
        if kept:
            return (Step("goes where it went before", Because.AFFINITY, "spec.sessionAffinity: ClientIP"),)
        steps: tuple[Step, ...] = ()
        if self.manners.shortcut and self._source & answer.route.shortcut:
            field = "spec.externalTrafficPolicy: Local"
            steps = (Step("may use every endpoint", Because.SHORTCUT, field),)
        because: str = ""
        if all(endpoint.draining for endpoint in endpoints):
            because = Because.DRAINING_FALLBACK
        elif endpoints == answer.decided.cluster and answer.decided.topology is not Topology.NONE:
            because = TOPOLOGY[answer.decided.topology]
        said = "the only endpoint" if len(endpoints) == 1 else f"one of {len(endpoints)} endpoints"
        return (*steps, Step(said, because, policy(answer)))

    def _behind(self, endpoint: Endpoint, masqueraded: bool) -> Refusal | None:
        """What a translated packet meets where an endpoint is itself an address that refuses.

        The kernel translates first and filters then, and what filters sees only the new address.
        """
        moved = replace(self, packet=replace(self.packet, destination=endpoint.address, port=endpoint.port))
        asked = moved._asked()
        forwarded = not self.packet.from_node and not self.node.is_local(endpoint.address)
        unchecked = masqueraded and forwarded and self.manners.forwards_masqueraded_unchecked
        refusals = moved._from_ranges(asked) if unchecked else moved._refusals(asked)
        return next(refusals, None) if asked else None

    def _ends(self, asked: Sequence[Answer]) -> Story:
        """Nobody was given the packet: it is refused, or goes on as if there were no Service."""
        packet = self.packet
        guarded = self._guarded()
        refusal = None if guarded else next(self._refusals(asked), None)
        if refusal is not None:
            steps = self._introduced([refusal.answer])
            done = Step(refusal.verdict.value, refusal.because or "", refusal.field)
            return _told(packet, _OUTCOMES[refusal.verdict], (*steps, done), refusal.answer)
        steps = self._introduced(asked[:1]) if asked else near_misses(packet, self.addresses, self.node)
        first = asked[0] if asked else None
        if guarded:
            guard = Step("dropped", Because.LOOPBACK_GUARD, "iptables.localhostNodePorts")
            return _told(packet, Outcome.DROPPED, (*steps, guard), first)
        if not asked and (verdict := self._stray()):
            return Story(packet, _OUTCOMES[verdict], steps=(*steps, Step(verdict.value, Because.NO_FRONTEND)))
        if asked:
            because = Because.NOT_REFUSED_HERE if self._serves(asked[0]) else Because.NOT_A_NODE_PORT_ADDRESS
            steps += (Step("goes on as if no Service were there", because),)
        return _told(packet, Outcome.UNTOUCHED, steps, first)

    def _refusals(self, asked: Sequence[Answer]) -> Iterator[Refusal]:
        """Who refuses a packet that nobody translated, the first one first: cluster IPs, then by name."""
        yield from self._from_ranges(asked)
        inside = FrontendKind.CLUSTER_IP
        for answer in sorted(asked, key=lambda one: (one.route.frontend.kind is not inside, one.name)):
            route = answer.route
            if not route.pool and route.verdict is not None and self._sees_refused(answer):
                yield Refusal(answer, route.verdict, route.because, policy(answer))

    def _from_ranges(self, asked: Sequence[Answer]) -> Iterator[Refusal]:
        """What source ranges guard is dropped wherever it shows up untranslated, allowed or not."""
        early = not self.manners.refuses_before_source_ranges
        for answer in asked:
            if answer.route.allowed is None or not (answer.decided.usable_anywhere or early):
                continue
            if not self._allowed(answer):
                yield Refusal(answer, Verdict.DROP, Because.SOURCE_NOT_ALLOWED, SOURCE_RANGES)
            elif answer.decided.usable_anywhere:
                yield Refusal(answer, Verdict.DROP, answer.route.because, policy(answer))

    def _sees_refused(self, answer: Answer) -> bool:
        """Whether a packet that found no endpoint passes where refusing happens."""
        packet, kind, manners = self.packet, answer.route.frontend.kind, self.manners
        delivered_here = self.node.is_local(packet.destination)
        if kind is FrontendKind.CLUSTER_IP:
            return packet.from_node or not delivered_here or manners.refuses_cluster_ip_delivered_here
        if kind is FrontendKind.NODE_PORT:
            return self._serves(answer) or manners.refuses_node_port_everywhere
        return not packet.from_node or delivered_here or manners.refuses_own_flows_to_foreign_addresses

    def _guarded(self) -> bool:
        """A new flow from elsewhere to 127.0.0.0/8, which node ports on loopback would let in."""
        packet = self.packet
        guards = self.manners.guards_loopback and self.node.loopback_node_ports and ":" not in packet.source
        return guards and is_loopback(packet.destination) and not is_loopback(packet.source)

    def _stray(self) -> Verdict | None:
        """What meets a flow to the service network that no Service has this address and port of."""
        destination = self.packet.destination
        if self.node.is_local(destination) and not self.packet.from_node:
            return None
        if self.addresses.is_cluster_ip(destination):
            return self.manners.unknown_port
        inside = any(within(destination, network) for network in self.service_networks)
        return self.manners.unallocated if inside else None


def _told(packet: Packet, outcome: Outcome, steps: tuple[Step, ...], answer: Answer | None) -> Story:
    """The story of a packet that arrives nowhere."""
    name, frontend = (answer.name, answer.route.frontend) if answer is not None else (None, None)
    return Story(packet, outcome, steps=steps, service=name, frontend=frontend)
