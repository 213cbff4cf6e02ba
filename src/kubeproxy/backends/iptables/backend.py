"""The iptables dialect, as the loop sees it."""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from kubeproxy.backends.contract import Plan, Step
from kubeproxy.backends.iptables.adopt import adopt, pending
from kubeproxy.backends.iptables.cleanup import cleanup
from kubeproxy.backends.iptables.compile import Shared
from kubeproxy.backends.iptables.dialect import Facts, dialect_for
from kubeproxy.backends.iptables.plan import plan
from kubeproxy.backends.iptables.ruleset import Fragment, Known, Ruleset, Settled, fragment_of
from kubeproxy.backends.iptables.skeleton import FILTER
from kubeproxy.backends.iptables.text import DELETE, Payload
from kubeproxy.model.identity import PortName
from kubeproxy.routes.manners import CLASSIC, Manners
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import PortRoutes
from kubeproxy.wire.restore import Restore, SavedTables


class IPTables:
    """One IP family's iptables."""

    name = "iptables"
    manners: Manners = CLASSIC

    def __init__(
        self,
        *,
        ipv6: bool,
        portion: int | None,
        masquerade_bit: int = 14,
        facts: Facts = Facts(),  # noqa: B008
    ) -> None:
        self.ipv6, self.masquerade_bit, self.facts = ipv6, masquerade_bit, facts
        #: Services in one portion of a large load; None where one payload is best
        self.portion = portion

    def compile(self, wanted: Ruleset, decided: Mapping[PortName, PortRoutes | None]) -> list[PortName]:
        large = wanted.large_after(decided)
        touched = []
        for name, routes in decided.items():
            old = wanted.fragments.get(name)
            if routes is (old.routes if old else None):
                continue
            wanted.put(name, fragment_of(routes, wanted.dialect, large=large) if routes else None)
            touched.append(name)
        return touched

    def prepare(self, node: NodeView) -> Ruleset:
        return Ruleset(dialect_for(node, self.masquerade_bit, self.facts))

    def restyle(self, wanted: Ruleset, node: NodeView) -> list[PortName]:
        """Everything is compiled anew, unless only the addresses of node ports changed."""
        dialect = dialect_for(node, self.masquerade_bit, self.facts)
        old, wanted.dialect = wanted.dialect, dialect
        if replace(old, node_port_addresses=dialect.node_port_addresses) == dialect:
            return []
        for name, fragment in list(wanted.fragments.items()):
            wanted.put(name, fragment_of(fragment.routes, dialect, large=fragment.large))
        return list(wanted.fragments)

    def mark_with(self, bit: int) -> bool:
        changed = bit != self.masquerade_bit
        self.masquerade_bit = bit
        return changed

    def adopt(self, read: SavedTables, wanted: Ruleset) -> tuple[Known, set[PortName]]:
        known = adopt(read, wanted)
        return known, pending(known, wanted)

    def plan(self, known: Known, wanted: Ruleset, touched: Collection[PortName]) -> Plan:
        return plan(known, wanted, touched, portion=self.portion)

    def settle(self, known: Known, step: Step) -> None:
        if isinstance(step.settles, Settled):
            step.settles.fold_into(known)

    def doubt(self, known: Known, step: Step) -> None:
        # filter is committed before nat, so a payload that nat refused has already changed filter.
        for part in Shared:
            if part.place[0] == FILTER:
                known.shared.pop(part, None)
        known.fixed = {place: rules for place, rules in known.fixed.items() if place[0] != FILTER}

    def spare(self, known: Known, step: Step, line: int) -> bool:
        """Somebody's own rule may lead into a chain of ours: it stays then, empty."""
        payloads = [op.payload for op in step.ops if isinstance(op, Restore)]
        texts = [payload.line(line) for payload in payloads if isinstance(payload, Payload)]
        stuck = {text.removeprefix(DELETE) for text in texts if text.startswith(DELETE)}
        known.stuck |= stuck
        return bool(stuck)

    def shrink(self) -> bool:
        if self.portion is None or self.portion == 1:
            return False
        self.portion //= 2
        return True

    def fragment(self, wanted: Ruleset, name: PortName) -> Fragment | None:
        return wanted.fragments.get(name)

    def held(self, known: Known, name: PortName) -> Fragment | None:
        return None if name in known.partial else known.held.get(name)

    def put(self, wanted: Ruleset, name: PortName, fragment: object) -> None:
        if fragment is not wanted.fragments.get(name):
            wanted.put(name, fragment if isinstance(fragment, Fragment) else None)

    def rule_counts(self, wanted: Ruleset) -> dict[str, int]:
        return wanted.rule_counts()

    def written_counts(self, step: Step) -> dict[str, int]:
        return dict(step.settles.counts) if isinstance(step.settles, Settled) else {}

    def blame(self, step: Step, line: int) -> PortName | None:
        payloads = [op.payload for op in step.ops if isinstance(op, Restore)]
        owners = [payload.whose(line) for payload in payloads if isinstance(payload, Payload)]
        return next((owner for owner in owners if owner is not None), None)

    def cleanup(self, read: SavedTables) -> Plan:
        return cleanup(read, ipv6=self.ipv6)
