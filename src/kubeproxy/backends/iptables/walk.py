"""Follows a Packet through rules, as the kernel would.

It knows hooks, chains, matches and targets, and nothing of Services: that it comes to the same end as the
oracle, who knows nothing of rules, is what proves the rules right. Where chance decides, all ways are
followed, and each keeps its share.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache

from msgspec.structs import replace

from kubeproxy.backends.iptables.conditions import Fate, Flow, Moment, Share, condition
from kubeproxy.packets.packet import Choice, Outcome, Packet, Step, Story
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.wire.iptables import Rule, Target
from kubeproxy.wire.iptdump import Chain, Table


def walk(tables: Mapping[str, Table], packet: Packet, node: NodeView) -> Story:
    """The packet's story, told by the rules of the nat and filter tables alone."""
    return _Walk(tables, packet, node).story()


class _Walk:
    """One packet on its way; the rules it meets are written down as it goes."""

    def __init__(self, tables: Mapping[str, Table], packet: Packet, node: NodeView) -> None:
        self.tables = tables
        self.packet = packet
        self.node = node
        self.met: dict[tuple[str, str, Rule | None], Step] = {}

    @cached_property
    def lists(self) -> dict[str, set[str]]:
        """Whom each list of senders stands for: few packets come to a rule that asks."""
        return _affine(self.tables)

    def story(self) -> Story:
        flows = [Flow(self.packet.destination, self.packet.port, self.packet.interface)]
        if self.packet.from_node:
            flows = self._hook("filter", "OUTPUT", self._hook("nat", "OUTPUT", flows))
        else:
            flows = self._hook("nat", "PREROUTING", flows)
        return self._told(self._hook("nat", "POSTROUTING", self._routed(flows)))

    def _routed(self, flows: Iterable[Flow]) -> list[Flow]:
        """The filter hooks behind the routing decision.

        What this node sends to itself leaves through the loopback device and comes in again, so it meets
        INPUT too. nat is not asked a second time, because the connection is known by then.
        """
        arrived: list[Flow] = []
        for flow in flows:
            if self.node.is_local(flow.destination):
                inside = replace(flow, interface=flow.interface or "lo")
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
            else:
                passed += (self._leave(table, chain, end) for end in self._through(table, chain, flow))
        return passed

    def _leave(self, table: str, chain: Chain, flow: Flow) -> Flow:
        """What a verdict means at the end of a hook: to be accepted is to go on to the next one."""
        if flow.fate is Fate.ACCEPTED:
            return replace(flow, fate=Fate.GOING)
        if flow.fate is Fate.GOING and chain.policy == "DROP":
            self._note(table, chain.name, None, "dropped by its policy")
            return replace(flow, fate=Fate.DROPPED)
        return flow

    def _through(self, table: str, chain: Chain, flow: Flow) -> list[Flow]:
        """Every way through a chain: those with a verdict, and those still going, which return."""
        here, left = [flow], list[Flow]()
        for rule in chain.rules:
            staying: list[Flow] = []
            for one in here:
                share = self._share(table, rule, one)
                if share < 1:
                    staying.append(_part(one, 1 - share))
                if share > 0:
                    stayed, gone = self._obey(table, rule, _part(one, share))
                    staying += stayed
                    left += gone
            here = staying
            if not here:
                break
        return left + here

    def _share(self, table: str, rule: Rule, flow: Flow) -> Share:
        """How much of a flow a rule matches: nothing, all, or what the dice say."""
        moment = Moment(self.packet, self.node, flow, rule, lambda: self.lists)
        share: Share = 1
        foreign = ""
        for match in rule.matches:
            test = condition(match)
            if test is None:
                foreign = match.module or match.option
                continue
            found = test(match.value, moment)
            share *= 1 - found if match.negated else found
            if not share:
                return 0
        if foreign:
            self._note(table, rule.chain, rule, f"passed over, as nobody here understands {foreign}")
            return 0
        return share

    def _obey(self, table: str, rule: Rule, flow: Flow) -> tuple[list[Flow], list[Flow]]:
        """What a matching rule does to a flow: the ways that stay in its chain, and those that left it."""
        target = rule.target
        if target is None:
            return [flow], []
        if target.name in self.tables[table].chains:
            return self._jump(table, rule, target, flow)
        done = _done(target, flow)
        if done is None:
            self._note(table, rule.chain, rule, f"passed over, as nobody here understands {target.name}")
            return [flow], []
        self._note(table, rule.chain, rule, str(target).removeprefix("-j "))
        stays = done.fate is Fate.GOING and target.name != "RETURN"
        return ([done], []) if stays else ([], [done])

    def _jump(self, table: str, rule: Rule, target: Target, flow: Flow) -> tuple[list[Flow], list[Flow]]:
        """Into another chain, and back unless a verdict falls there or the rule said not to come back."""
        self._note(table, rule.chain, rule, f"to {target.name}")
        ends = self._through(table, self.tables[table].chains[target.name], flow)
        if target.goto:
            return [], ends
        return [end for end in ends if end.fate is Fate.GOING], [
            end for end in ends if end.fate is not Fate.GOING
        ]

    def _note(self, table: str, chain: str, rule: Rule | None, said: str) -> None:
        key = table, chain, rule
        if key not in self.met:
            comment, text = (rule.comment, _text(rule)) if rule else ("", "")
            self.met[key] = Step(f"{table} {chain}: {said}", comment, text)

    def _told(self, flows: Iterable[Flow]) -> Story:
        """One story of all the ways: some arrive, or the likeliest end."""
        shares = dict.fromkeys(Outcome, Fraction(0))
        choices: dict[tuple[str, bool], Fraction] = {}
        for flow in flows:
            outcome = _outcome(flow)
            shares[outcome] += flow.share
            if outcome is Outcome.ARRIVES:
                key = _joined(flow.destination, flow.port), flow.masqueraded
                choices[key] = choices.get(key, Fraction(0)) + flow.share
        outcome = Outcome.ARRIVES if choices else max(shares, key=lambda end: shares[end])
        arrived = tuple(Choice(endpoint, float(share), seen) for (endpoint, seen), share in choices.items())
        return Story(self.packet, outcome, arrived, tuple(self.met.values()))


def _outcome(flow: Flow) -> Outcome:
    if flow.fate is Fate.DROPPED:
        return Outcome.DROPPED
    if flow.fate is Fate.REJECTED:
        return Outcome.REJECTED
    return Outcome.ARRIVES if flow.translated else Outcome.UNTOUCHED


def _done(target: Target, flow: Flow) -> Flow | None:
    """The flow after a target that is no chain; None for a target nobody here understands."""
    match target.name, target.options:
        case "RETURN" | "LOG" | "NFLOG", _:
            return flow
        case "ACCEPT", _:
            return replace(flow, fate=Fate.ACCEPTED)
        case "DROP", _:
            return replace(flow, fate=Fate.DROPPED)
        case "REJECT", _:
            return replace(flow, fate=Fate.REJECTED)
        case "MASQUERADE" | "SNAT", _:
            return replace(flow, masqueraded=True, fate=Fate.ACCEPTED)
        case "MARK", ("--set-xmark", change):
            value, mask = (int(part, 16) for part in change.split("/"))
            return replace(flow, mark=flow.mark & ~mask ^ value)
        case "DNAT", ("--to-destination", to, *_):
            return _translated(flow, to)
    return None


def _translated(flow: Flow, to: str) -> Flow | None:
    """The flow on its way to another destination; a range of them is nothing we write."""
    address, port = _parted(to)
    if "-" in to:
        return None
    return replace(flow, destination=address, port=port or flow.port, translated=True, fate=Fate.ACCEPTED)


def _parted(to: str) -> tuple[str, int]:
    """Address and port of a destination, which may leave out the port."""
    if to.startswith("["):
        address, _, port = to[1:].partition("]:")
        return address.rstrip("]"), int(port or 0)
    if to.count(":") > 1:
        return to, 0
    address, _, port = to.partition(":")
    return address, int(port or 0)


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _part(flow: Flow, share: Share) -> Flow:
    return flow if share == 1 else replace(flow, share=flow.share * share)


def _affine(tables: Mapping[str, Table]) -> dict[str, set[str]]:
    """Whom the lists of the recent match stand for.

    A list holds senders and is known by its name only. What it stands for tells the rule that writes a
    sender down: the same that translates to the endpoint.
    """
    lists: dict[str, set[str]] = {}
    for chain in tables["nat"].chains.values() if "nat" in tables else ():
        for rule in chain.rules:
            said = {match.option: match.value for match in rule.matches if match.module == "recent"}
            if "--set" in said and rule.target is not None and rule.target.name == "DNAT":
                lists.setdefault(said["--name"], set()).add(rule.target.options[1])
    return lists


_text = lru_cache(maxsize=8192)(str)
