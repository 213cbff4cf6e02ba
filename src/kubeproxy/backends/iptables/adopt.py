"""What the kernel already holds → Known: a restart keeps what is right and writes only the rest."""

from collections.abc import Collection

from kubeproxy.backends.iptables.compile import Names, Shared, shared_rules
from kubeproxy.backends.iptables.names import is_service_chain
from kubeproxy.backends.iptables.phrases import phrases_of
from kubeproxy.backends.iptables.ruleset import Fragment, Known, Ruleset, own_text, partly_held
from kubeproxy.backends.iptables.skeleton import FILTER, JUMPS, MANGLE, NAT
from kubeproxy.model.identity import PortName
from kubeproxy.wire.iptsave import as_saved
from kubeproxy.wire.restore import SavedTables, digest

TABLES = (MANGLE, FILTER, NAT)


def adopt(saved: SavedTables, wanted: Ruleset) -> Known:
    """Compare everything that was read with everything that should be there."""
    known = Known()
    known.existing = set(saved.chains)
    known.jumps = _jumps(saved, wanted)
    ipv6 = wanted.dialect.ipv6
    for place, rules in wanted.fixed().items():
        if saved.chains.get(place) == _saved_digest(place[1], [as_saved(rule, ipv6=ipv6) for rule in rules]):
            known.fixed[place] = rules
    _adopt_shared(saved, wanted, known)
    wanted_chains = _adopt_fragments(saved, wanted, known)
    known.stale = {
        chain for table, chain in saved.chains if table == NAT and is_service_chain(chain)
    } - wanted_chains
    return known


def _saved_digest(chain: str, rules: Collection[str]) -> int:
    return digest([f"-A {chain} {rule}".encode() for rule in rules])


def _jumps(saved: SavedTables, wanted: Ruleset) -> set[int]:
    found = set()
    for number, (table, chain, rule) in enumerate(JUMPS):
        line = f"-A {chain} {as_saved(rule, ipv6=wanted.dialect.ipv6)}".encode()
        if line in saved.builtin.get((table, chain), ()):
            found.add(number)
    return found


def _adopt_shared(saved: SavedTables, wanted: Ruleset, known: Known) -> None:
    phrases = phrases_of(wanted.dialect, saved=True)
    rules: dict[Shared, list[str]] = {part: [] for part in Shared if part.place in saved.chains}
    for name in sorted(wanted.fragments) if rules else ():
        routes = wanted.fragments[name].routes
        for part, rule in shared_rules(routes, Names(routes), phrases):
            if part in rules:
                rules[part].append(rule)
    for part, texts in rules.items():
        tail: tuple[str, ...] = ()
        if part is Shared.NAT_SERVICES:
            tail = tuple(as_saved(rule, ipv6=wanted.dialect.ipv6) for rule in wanted.tail())
        if saved.chains[part.place] == _saved_digest(part.place[1], [*texts, *tail]):
            known.shared[part] = wanted.shared[part].version
            if part is Shared.NAT_SERVICES:
                known.tail = wanted.tail()


def _adopt_fragments(saved: SavedTables, wanted: Ruleset, known: Known) -> set[str]:
    """Hold what stands there; return the names of all chains that should."""
    standing = {chain for table, chain in saved.chains if table == NAT and is_service_chain(chain)}
    chains: set[str] = set()
    for name, fragment in wanted.fragments.items():
        if fragment.own.chains and not standing:
            continue
        needed = fragment.names()
        chains.update(needed)
        if needed and standing.isdisjoint(needed):
            continue
        right = _right_chains(saved, fragment, wanted)
        if right.issuperset(needed):
            known.held[name] = fragment
            continue
        there = {c: value if c in right else 0 for c, value in fragment.chains().items() if c in standing}
        known.held[name] = partly_held(fragment, there)
        known.partial.add(name)
    return chains


def _right_chains(saved: SavedTables, fragment: Fragment, wanted: Ruleset) -> set[str]:
    """The chains of a Fragment that stand there as they should."""
    return {
        chain
        for chain, rules in own_text(fragment, wanted.dialect, saved=True)
        if saved.chains.get((NAT, chain)) == _saved_digest(chain, rules)
    }


def pending(known: Known, wanted: Ruleset) -> set[PortName]:
    """The names whose state in the kernel is not what it should be."""
    names = {name for name, fragment in wanted.fragments.items() if known.held.get(name) is not fragment}
    return names | {name for name in known.held if name not in wanted.fragments}
