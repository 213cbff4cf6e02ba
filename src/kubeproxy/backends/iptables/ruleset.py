"""Fragment, Ruleset, Known: what we want in the kernel, and what it confirmed.

Ruleset and Known live as long as the proxy and are folded in place by the names that changed: to copy
ten thousand entries for one changed Service would cost more than the change.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from struct import Struct as Layout
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.backends.iptables.compile import (
    Chain,
    Names,
    Shared,
    Size,
    chain_names,
    own_chains,
    own_size,
    shared_rules,
)
from kubeproxy.backends.iptables.dialect import Dialect
from kubeproxy.backends.iptables.names import Kind
from kubeproxy.backends.iptables.phrases import phrases_of
from kubeproxy.backends.iptables.skeleton import FILTER, JUMPS, NAT, fixed_rules, tail
from kubeproxy.model.identity import PortName
from kubeproxy.routes.route import PortRoutes

Place = tuple[str, str]

#: more endpoints than this, and the rules of endpoints go without comments
LARGE_CLUSTER = 1000

_CHAIN = Layout("=B16sq")
_KINDS = tuple(Kind)
_NUMBERS = {kind.value: number for number, kind in enumerate(_KINDS)}


def digest(lines: Iterable[str]) -> int:
    """Stands for a chain's text within this process, at eight bytes a chain."""
    return hash("\n".join(lines))


class Fragment(Struct, frozen=True):
    """What one ServicePort claims in the kernel.

    The text of its own chains is made when it is sent, and their digests when they are to be compared: of
    most Services that happens once, or never.
    """

    routes: PortRoutes
    large: bool
    dialect: Dialect
    #: rules it adds to shared chains
    shared: tuple[tuple[Shared, str], ...]
    own: Size
    #: of a Fragment that stands there only in part: the chains that do, and digests of what they hold
    standing: bytes | None = None

    def names(self) -> list[str]:
        """Its own chains, in their order."""
        return chain_names(self.routes) if self.standing is None else list(self.chains())

    def chains(self) -> dict[str, int]:
        """Each of its own chains, and the digest of its rules."""
        if self.standing is None:
            return {name: digest(rules) for name, rules in own_text(self, self.dialect)}
        return {
            f"{_KINDS[kind].value}{letters.decode()}": digest
            for kind, letters, digest in _CHAIN.iter_unpack(self.standing)
        }


def pack(chains: dict[str, int]) -> bytes:
    return b"".join(
        [_CHAIN.pack(_NUMBERS[name[:-16]], name[-16:].encode(), digest) for name, digest in chains.items()]
    )


def fragment_of(routes: PortRoutes, dialect: Dialect, *, large: bool) -> Fragment:
    shared = shared_rules(routes, Names(routes), phrases_of(dialect))
    return Fragment(routes, large, dialect, tuple(shared), own_size(routes))


def own_text(fragment: Fragment, dialect: Dialect, *, saved: bool = False) -> list[Chain]:
    """The rules of its own chains, made again: cheaper than keeping them."""
    routes = fragment.routes
    return own_chains(routes, Names(routes), phrases_of(dialect, saved=saved), large=fragment.large)


#: a Fragment to write, and which of its chains; None: all of them
Change: TypeAlias = tuple[PortName, Fragment, frozenset[str] | None]


def written_chains(changes: Iterable[Change]) -> Iterator[str]:
    for _, fragment, chosen in changes:
        yield from fragment.names() if chosen is None else chosen


class Contributions:
    """The rules of one shared chain, by who added them, in the order of their names."""

    def __init__(self) -> None:
        self.rules_of: dict[PortName, tuple[str, ...]] = {}
        self.order: list[PortName] = []
        #: changes whenever the text does
        self.version = 0
        self.count = 0

    def put(self, name: PortName, rules: tuple[str, ...]) -> None:
        old = self.rules_of.get(name, ())
        if rules == old:
            return
        self.version += 1
        self.count += len(rules) - len(old)
        if not old:
            insort(self.order, name)
        elif not rules:
            del self.order[bisect_left(self.order, name)]
        if rules:
            self.rules_of[name] = rules
        else:
            del self.rules_of[name]

    def __iter__(self) -> Iterator[tuple[PortName, tuple[str, ...]]]:
        return ((name, self.rules_of[name]) for name in self.order)


class Ruleset:
    """All we should hold in the kernel, for one IP family."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.fragments: dict[PortName, Fragment] = {}
        self.shared = {shared: Contributions() for shared in Shared}
        self.known_endpoints = 0
        self.own_rules = 0
        self.own_chains = 0

    def large_after(self, decided: Mapping[PortName, PortRoutes | None]) -> bool:
        """Whether the cluster is a large one once these decisions are in."""
        total = self.known_endpoints
        for name, routes in decided.items():
            old = self.fragments.get(name)
            total += (routes.known_endpoints if routes else 0) - (old.routes.known_endpoints if old else 0)
        return total > LARGE_CLUSTER

    def put(self, name: PortName, fragment: Fragment | None) -> None:
        """Another Fragment for a name, or none any more."""
        old = self.fragments.pop(name, None)
        if fragment is not None:
            self.fragments[name] = fragment
        for sign, either in ((1, fragment), (-1, old)):
            if either is not None:
                self.own_rules += sign * either.own.rules
                self.own_chains += sign * either.own.chains
                self.known_endpoints += sign * either.routes.known_endpoints
        rules: dict[Shared, tuple[str, ...]] = (
            dict.fromkeys((part for part, _ in old.shared), ()) if old else {}
        )
        for part, rule in fragment.shared if fragment else ():
            rules[part] = (*rules.get(part, ()), rule)
        for part, texts in rules.items():
            self.shared[part].put(name, texts)

    def rule_counts(self) -> dict[str, int]:
        """How many rules each table should hold, without the jumps from built-in chains."""
        counts = {FILTER: 0, NAT: self.own_rules + len(self.tail())}
        for part, contributions in self.shared.items():
            counts[part.place[0]] += contributions.count
        for (table, _), rules in self.fixed().items():
            counts[table] += len(rules)
        return counts

    def fixed(self) -> dict[Place, tuple[str, ...]]:
        return fixed_rules(self.dialect)

    def tail(self) -> tuple[str, ...]:
        return tuple(tail(self.dialect))


class Known:
    """What the kernel confirmed last."""

    def __init__(self) -> None:
        #: by name, the Fragment whose own chains stand there
        self.held: dict[PortName, Fragment] = {}
        #: names of which the kernel holds only some chains, or wrong ones: found there when we came
        self.partial: set[PortName] = set()
        #: the version of each shared chain's text that stands there; absent when not known
        self.shared: dict[Shared, int] = {}
        self.tail: tuple[str, ...] | None = None
        self.fixed: dict[Place, tuple[str, ...]] = {}
        #: chains of ours that exist, whatever they hold
        self.existing: set[Place] = set()
        self.jumps: set[int] = set()
        #: chains of Services that nothing wants any more
        self.stale: set[str] = set()
        #: those of them that cannot be deleted, as rules of others lead into them
        self.stuck: set[str] = set()

    @property
    def hooked(self) -> bool:
        """Something leads from the built-in chains into ours."""
        return bool(self.jumps)

    def missing_jumps(self) -> list[int]:
        return [number for number in range(len(JUMPS)) if number not in self.jumps]


class Settled(Struct, frozen=True):
    """What is known once a step has passed."""

    held: tuple[tuple[PortName, Fragment], ...] = ()
    forgotten: tuple[PortName, ...] = ()
    #: what was written of them, to be named only where it matters
    written: tuple[Change, ...] = ()
    #: chains the names above no longer need: gone with this step, or left for a later one
    left: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    shared: tuple[tuple[Shared, int], ...] = ()
    tail: tuple[str, ...] | None = None
    fixed: tuple[tuple[Place, tuple[str, ...]], ...] = ()
    existing: frozenset[Place] = frozenset()
    jumps: frozenset[int] = frozenset()
    #: rules in the payload, by table
    counts: tuple[tuple[str, int], ...] = ()

    def fold_into(self, known: Known) -> None:
        known.held.update(self.held)
        for name in self.forgotten:
            known.held.pop(name, None)
        known.partial.difference_update(self.forgotten, (name for name, _ in self.held))
        if known.stale:
            known.stale.difference_update(written_chains(self.written))
        known.stale |= self.left
        known.stale -= self.deleted
        known.shared.update(self.shared)
        known.fixed.update(self.fixed)
        known.existing |= self.existing
        known.jumps |= self.jumps
        if self.tail is not None:
            known.tail = self.tail


def partly_held(fragment: Fragment, digests: dict[str, int]) -> Fragment:
    """A Fragment of which the kernel holds only some chains, or others than it should."""
    return replace(fragment, standing=pack(digests))
