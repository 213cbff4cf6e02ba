"""What of the kernel's rules is ours: so that what somebody else does is known for harm, or for none.

Only what was taken from us counts. The kubelet's chains, everybody's own chains and whatever is added to the
built-in ones are none of our business, however often they change.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from kubeproxy.backends.iptables.names import CANARY, FIREWALL, is_service_chain
from kubeproxy.backends.iptables.ruleset import Place, Ruleset
from kubeproxy.backends.iptables.skeleton import FILTER, FIXED_CHAINS, JUMPS, MANGLE, NAT
from kubeproxy.wire.nfnotify import Happened, RulesetChange, Thing
from kubeproxy.wire.nfquery import BaseRule

#: where the canaries sit, the one that is asked after first
CANARIES: Final[tuple[Place, ...]] = ((MANGLE, CANARY), (NAT, CANARY), (FILTER, CANARY))

TABLES: Final = (MANGLE, FILTER, NAT)

_SHARED: Final[Place] = (FILTER, FIREWALL)
_FILLED: Final = frozenset(FIXED_CHAINS)
_NEEDED: Final = _FILLED | set(CANARIES)
#: the built-in chains that lead into ours, and where to
_HOOKS: Final[dict[Place, Counter[str]]] = {}
for _table, _chain, _rule in JUMPS:
    _HOOKS.setdefault((_table, _chain), Counter())[_rule.rpartition(" ")[2]] += 1

#: the kernel keeps two entries for a chain beside its rules: its name, and the end of it
_CHAIN_ENTRIES: Final = 2


def ours(change: RulesetChange) -> bool:
    """Whether something of ours is not what we made it any more."""
    gone = change.happened is Happened.REMOVED
    place = (change.table, change.name)
    match change.thing:
        case Thing.RULE:
            # The kubelet adds its rule to the chain it shares with us when it finds none there.
            return _filled(place) and (gone or place != _SHARED)
        case Thing.CHAIN:
            return gone and (_filled(place) or place in _NEEDED or place in _HOOKS)
        case Thing.TABLE:
            return gone and change.table in TABLES
    return False


def single(change: RulesetChange) -> bool:
    """Whether it is about one Service alone."""
    return change.table == NAT and is_service_chain(change.name)


def hook(change: RulesetChange) -> bool:
    """Whether it may have been one of the jumps into our chains that went."""
    gone = change.happened is Happened.REMOVED and change.thing is Thing.RULE
    return gone and (change.table, change.name) in _HOOKS


def hooked(change: RulesetChange, rules: Sequence[BaseRule]) -> frozenset[int] | None:
    """The handles of our jumps among the rules of the place that changed; None when one is missing."""
    needed = _HOOKS[change.table, change.name]
    found = Counter(rule.target for rule in rules if rule.target in needed)
    if any(found[target] < count for target, count in needed.items()):
        return None
    return frozenset(rule.handle for rule in rules if rule.target in needed)


def entries(wanted: Ruleset) -> dict[str, int]:
    """How many entries of each legacy table come and go with what we want there."""
    rules = wanted.rule_counts()
    return {MANGLE: 0, FILTER: rules[FILTER], NAT: rules[NAT] + _CHAIN_ENTRIES * wanted.own_chains}


def told(changes: Iterable[RulesetChange], most: int = 6) -> tuple[str, ...]:
    """What was done, in words: most of it in one place first."""
    counts = Counter((c.table, c.name, c.thing, c.happened) for c in changes)
    lines = [_words(*key, count) for key, count in counts.most_common(most)]
    rest = len(counts) - len(lines)
    return (*lines, f"and in {rest} other places") if rest > 0 else tuple(lines)


def _words(table: str, name: str, thing: Thing, happened: Happened, count: int) -> str:
    if thing is Thing.RULE:
        return f"{count} rule{'s' if count > 1 else ''} {happened}, table {table}, chain {name}"
    return f"{thing} {name or table} {happened}" + (f", table {table}" if name else "")


def _filled(place: Place) -> bool:
    return place in _FILLED or (place[0] == NAT and is_service_chain(place[1]))
