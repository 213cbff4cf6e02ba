"""The oracle: follows a Packet through Routes. What it tells is what every backend must do.

It knows no dialect. Where dialects may differ, it reads their manners.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import PortName
from kubeproxy.packets.addresses import Addresses, Answer
from kubeproxy.packets.packet import Choice, Outcome, Packet, Step, Story
from kubeproxy.packets.wording import FIELD_OF, TOPOLOGY, client, near_misses, policy
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


class _Telling(Struct, frozen=True):
    """One packet, and everything that decides about it."""

    packet: Packet
    addresses: Addresses
    node: NodeView
    manners: Manners
    service_networks: tuple[str, ...]

    def story(self) -> Story:
        answer = self._dialled()
        if answer is not None:
            return self._answered(answer, (*self._dials(answer), *self._losers(self.packet.destination)))
        return self._on_node_port() or self._untouched(())

    def _dialled(self) -> Answer | None:
        """Who answers on the address; where a Service names it twice, the first that has somebody to give."""
        packet = self.packet
        answers = self.addresses.dialled(packet.destination, packet.protocol, packet.port)
        if len(answers) < 2:
            return answers[0] if answers else None
        ranked = sorted(answers, key=self._rank)
        first = [*filter(self._pool, ranked), *filter(self._sees_refused, ranked), *ranked]
        return first[0]

    def _rank(self, answer: Answer) -> int:
        external_first = self.manners.external_ip_before_source_ranges
        return {
            FrontendKind.CLUSTER_IP: 0,
            FrontendKind.EXTERNAL_IP: 1 if external_first else 2,
            FrontendKind.LOAD_BALANCER: 2 if external_first else 1,
        }.get(answer.route.frontend.kind, 3)

    @property
    def _source(self) -> Source:
        return self.node.source_class(self.packet.source, self.packet.interface)

    def _on_node_port(self) -> Story | None:
        """A node port, where the number is one and the address this node's."""
        packet, node = self.packet, self.node
        answer = self.addresses.node_port(packet.family, packet.protocol, packet.port)
        if answer is None or not node.is_local(packet.destination):
            return None
        steps = (*self._dials(answer), *self._losers(packet.family))
        served = node.serves_node_port_on(packet.destination)
        if is_loopback(packet.destination):
            served = served and self.manners.loopback_node_ports
        if served:
            return self._answered(answer, steps)
        if self.manners.refuses_node_port_everywhere and not answer.route.pool:
            return self._refused(answer, steps)
        elsewhere = Step("the node port does not answer on this address", Because.NOT_A_NODE_PORT_ADDRESS)
        return self._untouched((*steps, elsewhere), answer)

    def _answered(self, answer: Answer, steps: tuple[Step, ...]) -> Story:
        """A Frontend was dialled: source ranges, then the pool, then who the pod sees."""
        route, packet = answer.route, self.packet
        refuses = self.manners.refuses_before_source_ranges and not answer.decided.usable_anywhere
        if not refuses and not self._allowed(answer):
            dropped = Step("dropped", Because.SOURCE_NOT_ALLOWED, "spec.loadBalancerSourceRanges")
            return Story(packet, Outcome.DROPPED, steps=(*steps, dropped), service=answer.name)
        source = self._source
        steps += (client(packet, source, self.node),)
        pool = self._pool(answer)
        if not pool:
            return self._refused(answer, steps)
        if self.manners.shortcut and source & route.shortcut:
            steps += (Step("may use every endpoint", Because.SHORTCUT, "spec.externalTrafficPolicy: Local"),)
        return self._arrives(answer, pool, source, steps)

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

    def _arrives(self, answer: Answer, pool: Pool, source: Source, steps: tuple[Step, ...]) -> Story:
        kept = [e for e in pool.endpoints if pool.affinity_seconds and str(e) == self.packet.remembers]
        endpoints = kept or pool.endpoints
        steps += self._reasons(answer, endpoints, bool(kept))
        masqueraded = bool(source & answer.route.masquerade)
        shares = dict.fromkeys(Outcome, 0)
        choices = []
        for endpoint in endpoints:
            hidden = masqueraded or endpoint.address == self.packet.source
            outcome, step = self._behind(endpoint, hidden)
            steps += step
            shares[outcome] += 1
            if outcome is Outcome.ARRIVES:
                choices.append(Choice(str(endpoint), 1 / len(endpoints), hidden))
        if masqueraded and answer.route.masquerade_because is not None:
            steps += (Step("the pod sees this node's address", answer.route.masquerade_because),)
        elif any(choice.masqueraded for choice in choices):
            steps += (Step(f"{self.packet.source} sees this node's address", Because.HAIRPIN),)
        outcome = Outcome.ARRIVES if choices else max(shares, key=lambda end: shares[end])
        return Story(self.packet, outcome, tuple(choices), steps, answer.name)

    def _behind(self, endpoint: Endpoint, masqueraded: bool) -> tuple[Outcome, tuple[Step, ...]]:
        """What a translated packet meets: where an endpoint is itself an address that refuses, refusal.

        The kernel translates first and filters then, and what filters sees only the new address.
        """
        moved = replace(self, packet=replace(self.packet, destination=endpoint.address, port=endpoint.port))
        answers = self.addresses.dialled(endpoint.address, self.packet.protocol, endpoint.port)
        node_port = self.addresses.node_port(self.packet.family, self.packet.protocol, endpoint.port)
        if node_port is not None and moved.node.is_local(endpoint.address):
            answers = [*answers, node_port]
        for answer in sorted(answers, key=lambda answer: answer.route.allowed is None):
            if verdict := moved._refuses_translated(answer, masqueraded):
                said = Step(f"{endpoint} is itself an address of Service {answer.name}, which refuses")
                return _OUTCOMES[verdict], (said,)
        return Outcome.ARRIVES, ()

    def _refuses_translated(self, answer: Answer, masqueraded: bool) -> Verdict | None:
        route, here = answer.route, self.node.is_local(self.packet.destination)
        if route.allowed is not None and answer.decided.usable_anywhere:
            return Verdict.DROP
        forwarded = not self.packet.from_node and not here
        unchecked = masqueraded and forwarded and self.manners.forwards_masqueraded_unchecked
        if route.pool or unchecked or not self._sees_refused(answer):
            return None
        return route.verdict

    def _reasons(self, answer: Answer, endpoints: Sequence[Endpoint], kept: bool) -> tuple[Step, ...]:
        """Why these endpoints."""
        if kept:
            return (Step("goes where it went before", Because.AFFINITY, "spec.sessionAffinity: ClientIP"),)
        because: str = ""
        if all(endpoint.draining for endpoint in endpoints):
            because = Because.DRAINING_FALLBACK
        elif endpoints == answer.decided.cluster and answer.decided.topology is not Topology.NONE:
            because = TOPOLOGY[answer.decided.topology]
        said = "the only endpoint" if len(endpoints) == 1 else f"one of {len(endpoints)} endpoints"
        return (Step(said, because, policy(answer)),)

    def _refused(self, answer: Answer, steps: tuple[Step, ...]) -> Story:
        """No endpoint may answer: the verdict, where the dialect sees the packet at all."""
        route, packet = answer.route, self.packet
        if self._guarded():
            return self._untouched(steps, answer)
        if route.verdict is None or not self._sees_refused(answer):
            why = Step("leaves as if no Service were there", Because.NOT_REFUSED_HERE)
            return self._untouched((*steps, why), answer)
        done = Step(route.verdict.value, route.because or "", policy(answer))
        return Story(packet, _OUTCOMES[route.verdict], steps=(*steps, done), service=answer.name)

    def _sees_refused(self, answer: Answer) -> bool:
        """Whether a packet that found no endpoint passes where refusing happens."""
        packet, kind = self.packet, answer.route.frontend.kind
        delivered_here = self.node.is_local(packet.destination)
        if kind is FrontendKind.CLUSTER_IP:
            return packet.from_node or not delivered_here or self.manners.refuses_cluster_ip_delivered_here
        if answer.route.allowed is not None and answer.decided.usable_anywhere:
            return True  # what the source ranges guard is dropped wherever it shows up
        foreign = packet.from_node and not delivered_here
        return not foreign or self.manners.refuses_own_flows_to_foreign_addresses

    def _guarded(self) -> bool:
        """A new flow from elsewhere to 127.0.0.0/8, which node ports on loopback would let in."""
        packet = self.packet
        guards = self.manners.guards_loopback and self.node.loopback_node_ports and ":" not in packet.source
        return guards and is_loopback(packet.destination) and not is_loopback(packet.source)

    def _untouched(self, steps: tuple[Step, ...], answer: Answer | None = None) -> Story:
        """No Service has a say; what is left are the rules for everybody."""
        packet = self.packet
        name = answer.name if answer else None
        if self._guarded():
            guard = Step("dropped", Because.LOOPBACK_GUARD, "iptables.localhostNodePorts")
            return Story(packet, Outcome.DROPPED, steps=(*steps, guard), service=name)
        if answer is None:
            steps += near_misses(packet, self.addresses, self.node)
            if verdict := self._stray():
                stray = Step(verdict.value, Because.NO_FRONTEND)
                return Story(packet, _OUTCOMES[verdict], steps=(*steps, stray))
        return Story(packet, Outcome.UNTOUCHED, steps=steps, service=name)

    def _stray(self) -> Verdict | None:
        """What meets a flow to the service network that no Service has this address and port of."""
        destination = self.packet.destination
        if self.node.is_local(destination) and not self.packet.from_node:
            return None
        if self.addresses.is_cluster_ip(destination):
            return self.manners.unknown_port
        inside = any(within(destination, network) for network in self.service_networks)
        return self.manners.unallocated if inside else None

    def _dials(self, answer: Answer) -> tuple[Step, ...]:
        kind = answer.route.frontend.kind
        return (Step(f"dials the {kind} of Service {answer.name}", detail=FIELD_OF[kind]),)

    def _losers(self, address: str) -> tuple[Step, ...]:
        losers = self.addresses.lost(address, self.packet.protocol, self.packet.port)
        return tuple(
            Step(f"{name} wants it too and does not get it", Because.CLAIMED_BY_OLDER) for name in losers
        )
