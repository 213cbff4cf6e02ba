"""Follows a Packet through rules, as the kernel would.

It knows hooks, chains, matches and targets, and nothing of Services: that it comes to the same end as the
oracle, who knows nothing of rules, is what proves the rules right. Where chance decides, all ways are followed
and each keeps its share.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Final

import msgspec
from msgspec import Struct

from kubeproxy.packets.packet import Choice, Outcome, Packet, Step, Story
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.wire.iptables import Match, Rule, Target
from kubeproxy.wire.iptdump import Chain, Table


class Fate(Enum):
    """What the rules have decided about a flow so far."""

    GOING = "goes on"
    ACCEPTED = "accepted"
    DROPPED = "dropped"
    REJECTED = "rejected"


class Flow(Struct, frozen=True):
    """The packet on one of its possible ways, and how often it takes it."""

    destination: str
    port: int
    interface: str
    share: Fraction = Fraction(1)
    mark: int = 0
    translated: bool = False
    masqueraded: bool = False
    fate: Fate = Fate.GOING


def walk(tables: Mapping[str, Table], packet: Packet, node: NodeView) -> Story:
    """The packet's story, told by the rules of the nat and filter tables alone."""
    return _Walk(tables, packet, node).story()


class _Walk:
    """One packet on its way; the rules it met are collected as it goes."""

    def __init__(self, tables: Mapping[str, Table], packet: Packet, node: NodeView) -> None:
        self.tables = tables
        self.packet = packet
        self.node = node
        self.met: dict[tuple[str, Rule | str], Step] = {}

    def story(self) -> Story:
        flows = [Flow(self.packet.destination, self.packet.port, self.packet.interface)]
        for table, hook in (("nat", "OUTPUT"), ("filter", "OUTPUT")) if self.packet.from_node else (("nat", "PREROUTING"),):
            flows = self._hook(table, hook, flows)
        flows = self._routed(flows)
        flows = self._hook("nat", "POSTROUTING", flows)
        return self._told(flows)

    def _routed(self, flows: Iterable[Flow]) -> list[Flow]:
        """The filter hooks behind the routing decision.

        What this node sends to itself leaves through the loopback device and comes in again: it meets
        INPUT too. nat is not asked a second time, because the connection is known by then.
        """
        arrived: list[Flow] = []
        for flow in flows:
            if self.node.is_local(flow.destination):
                inside = msgspec.structs.replace(flow, interface=flow.interface or "lo")
                arrived += self._hook("filter", "INPUT", [inside])
            elif self.packet.from_node:
                arrived.append(flow)
            else:
                arrived += self._hook("filter", "FORWARD", [flow])
        return arrived

    def _hook(self, table: str, hook: str, flows: Iterable[Flow]) -> list[Flow]:
        """Flows still alive pass a chain of the kernel's; what it accepts goes on to the next hook."""
        chain = self.tables[table].chains.get(hook) if table in self.tables else None
        passed: list[Flow] = []
        for flow in flows:
            if chain is None or flow.fate is not Fate.GOING:
                passed.append(flow)
                continue
            for end in self._chain(table, chain, flow):
                passed.append(self._end_of_hook(chain, table, end))
        return passed

    def _end_of_hook(self, chain: Chain, table: str, flow: Flow) -> Flow:
        if flow.fate is Fate.ACCEPTED:
            return msgspec.structs.replace(flow, fate=Fate.GOING)
        if flow.fate is Fate.GOING and chain.policy == "DROP":
            self._note(table, chain.name, Step(f"dropped by the policy of {table} {chain.name}"))
            return msgspec.structs.replace(flow, fate=Fate.DROPPED)
        return flow

    def _chain(self, table: str, chain: Chain, flow: Flow) -> list[Flow]:
        """Every way through a chain: those that ended, and those still going, which return to the caller."""
        here, left = [flow], list[Flow]()
        for rule in chain.rules:
            staying: list[Flow] = []
            for one in here:
                share = self._share(table, rule, one)
                if share < 1:
                    staying.append(_part(one, 1 - share) if share else one)
                if share:
                    returned, gone = self._obey(table, rule, _part(one, share) if share < 1 else one)
                    staying += returned
                    left += gone
            here = staying
            if not here:
                break
        return left + here

    def _share(self, table: str, rule: Rule, flow: Flow) -> Fraction | int:
        """How much of a flow a rule matches: 0, 1, or what the dice say."""
        share: Fraction | int = 1
        foreign: Match | None = None
        for match in rule.matches:
            test = _TESTS.get((match.module, match.option))
            if test is None:
                foreign = match
                continue
            found = test(match.value, flow, self.packet, self)
            if match.negated:
                found = 1 - found
            if not found:
                return 0
            share = share * found
        if foreign is not None:
            self._note(table, rule, Step(f"{table} {rule.chain}: passed over, -m {foreign.module} is not understood", detail=_text(rule)))
            return 0
        return share

    def _obey(self, table: str, rule: Rule, flow: Flow) -> tuple[list[Flow], list[Flow]]:
        """What a matching rule does to a flow: the ways that stay in its chain, and those that left it."""
        target = rule.target
        if target is None:
            return [flow], []
        chain = self.tables[table].chains.get(target.name)
        if chain is not None:
            self._matched(table, rule, f"goes to {target.name}")
            ends = self._chain(table, chain, flow)
            if target.goto:
                return [], ends
            return [f for f in ends if f.fate is Fate.GOING], [f for f in ends if f.fate is not Fate.GOING]
        if target.name == "RETURN":
            return [], [flow]
        act = _TARGETS.get(target.name)
        if act is None:
            self._note(table, rule, Step(f"{table} {rule.chain}: passed over, {target.name} is not understood", detail=_text(rule)))
            return [flow], []
        done, said = act(target, flow)
        self._matched(table, rule, said)
        return ([done], []) if done.fate is Fate.GOING else ([], [done])

    def remembered(self, name: str) -> bool:
        """Whether a list of the recent match holds the sender.

        A list is known by its name only; whose it is tells the rule that enters senders into it: the one
        that translates to the endpoint.
        """
        return self.packet.remembers in _recorded(self.tables["nat"]).get(name, ())

    def _matched(self, table: str, rule: Rule, said: str) -> None:
        self._note(table, rule, Step(f"{table} {rule.chain}: {said}", rule.comment, _text(rule)))

    def _note(self, table: str, key: Rule | str, step: Step) -> None:
        self.met.setdefault((table, key), step)

    def _told(self, flows: Iterable[Flow]) -> Story:
        """One story of all the ways; where foreign rules make them end differently, the likeliest end."""
        shares: dict[Outcome, Fraction] = {}
        choices: dict[tuple[str, bool], Fraction] = {}
        for flow in flows:
            outcome = _OUTCOMES.get(flow.fate, Outcome.ARRIVES if flow.translated else Outcome.UNTOUCHED)
            shares[outcome] = shares.get(outcome, Fraction(0)) + flow.share
            if outcome is Outcome.ARRIVES:
                key = (_joined(flow.destination, flow.port), flow.masqueraded)
                choices[key] = choices.get(key, Fraction(0)) + flow.share
        outcome = max(shares, key=lambda end: shares[end])
        arrived = (Choice(endpoint, float(share), seen) for (endpoint, seen), share in choices.items())
        return Story(
            self.packet, outcome, tuple(arrived) if outcome is Outcome.ARRIVES else (), tuple(self.met.values())
        )


_OUTCOMES: Final = {Fate.DROPPED: Outcome.DROPPED, Fate.REJECTED: Outcome.REJECTED}


def _part(flow: Flow, share: Fraction | int) -> Flow:
    return msgspec.structs.replace(flow, share=flow.share * share)


_text = lru_cache(maxsize=8192)(str)
