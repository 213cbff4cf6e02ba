"""Payloads for iptables-restore, made piece by piece while they are sent.

Every piece knows whose it is, so that a line the program refuses leads to a Service.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from kubeproxy.backends.iptables.compile import Chain, Shared
from kubeproxy.backends.iptables.ruleset import Change, Fragment, Place, Ruleset, own_text
from kubeproxy.backends.iptables.skeleton import FILTER, JUMPS, MANGLE, NAT, bare_chains
from kubeproxy.model.identity import PortName

#: starts the line that deletes a chain
DELETE = "-X "

#: a piece of text and the ServicePort it is for
Piece = tuple[PortName | None, str]


class Payload(Struct, frozen=True):
    """The bytes of one restore; iterating makes them anew, so a refused one can be read again."""

    make: Callable[[], Iterator[Piece]]

    def __iter__(self) -> Iterator[bytes]:
        return (text.encode() for _, text in self.make())

    def whose(self, line: int) -> PortName | None:
        """The ServicePort that a line (counted from 1) was written for."""
        seen = 0
        for name, text in self.make():
            seen += text.count("\n")
            if seen >= line:
                return name
        return None

    def line(self, number: int) -> str:
        """One line of it, counted from 1; empty behind its end."""
        seen = 0
        for _, text in self.make():
            count = text.count("\n")
            if seen + count >= number:
                return text.split("\n")[number - seen - 1]
            seen += count
        return ""


class Writing(Struct):
    """Everything one payload brings to the kernel."""

    #: own chains to write: the Fragment and which of its chains
    chains: Sequence[Change] = ()
    shared: Sequence[Shared] = ()
    fixed: Sequence[tuple[Place, tuple[str, ...]]] = ()
    #: chains to create, empty, where they do not exist
    create: Sequence[Place] = ()
    delete: Sequence[str] = ()
    #: chains that would be deleted, if nobody else led into them
    empty: Sequence[str] = ()
    jumps: Sequence[int] = ()

    def __bool__(self) -> bool:
        return bool(
            self.chains or self.shared or self.fixed or self.create or self.delete or self.empty or self.jumps
        )

    def touches(self, table: str) -> bool:
        return bool(self.within(table))

    def jumps_in(self, table: str) -> bool:
        return any(JUMPS[number][0] == table for number in self.jumps)

    def within(self, *tables: str) -> "Writing":
        """Only what is for these tables."""
        return Writing(
            chains=self.chains if NAT in tables else (),
            shared=[part for part in self.shared if part.place[0] in tables],
            fixed=[(place, rules) for place, rules in self.fixed if place[0] in tables],
            create=[place for place in self.create if place[0] in tables],
            delete=self.delete if NAT in tables else (),
            empty=self.empty if NAT in tables else (),
            jumps=[number for number in self.jumps if JUMPS[number][0] in tables],
        )


def pieces(writing: Writing, wanted: Ruleset) -> Iterator[Piece]:
    """A payload: filter before nat, as the one commits before the other; in each, chains before rules."""
    for table in (MANGLE, FILTER, NAT):
        body = _table(table, writing, wanted)
        first = next(body, None)
        if first is not None:
            yield None, f"*{table}\n"
            yield first
            yield from body
            yield None, "COMMIT\n"


def _table(table: str, writing: Writing, wanted: Ruleset) -> Iterator[Piece]:
    yield from _declarations(table, writing)
    for (place, chain), rules in writing.fixed:
        if place == table:
            yield None, lines(chain, rules)
    if table == NAT:
        for name, fragment, chosen in writing.chains:
            yield name, "".join(_chosen(fragment, wanted, chosen))
    for part in writing.shared:
        if part.place[0] == table:
            yield from _shared(part, wanted)
    if table == NAT:
        yield None, "".join([f"{DELETE}{chain}\n" for chain in writing.delete])
    if table == NAT and Shared.NAT_SERVICES in writing.shared:
        yield None, lines(Shared.NAT_SERVICES.place[1], wanted.tail())
    for place, chain, rule in (JUMPS[number] for number in writing.jumps):
        if place == table:
            yield None, f"-I {chain} {rule}\n"


def _declarations(table: str, writing: Writing) -> Iterator[Piece]:
    """Naming a chain creates it, or empties it if it is there."""
    fixed = [chain for (place, chain), _ in writing.fixed if place == table]
    made = [chain for place, chain in writing.create if place == table]
    shared = [part.place[1] for part in writing.shared if part.place[0] == table]
    chains = [*fixed, *made, *shared]
    if chains:
        yield None, _declare(chains)
    if table == NAT:
        for name, fragment, chosen in writing.chains:
            names = fragment.names()
            yield name, _declare(names if chosen is None else [each for each in names if each in chosen])
        if writing.delete or writing.empty:
            yield None, _declare([*writing.delete, *writing.empty])


def _declare(chains: Iterable[str]) -> str:
    return "".join([f":{chain} - [0:0]\n" for chain in chains])


def _chosen(fragment: Fragment, wanted: Ruleset, chosen: frozenset[str] | None) -> Iterator[str]:
    chains: list[Chain] = own_text(fragment, wanted.dialect)
    return (lines(chain, rules) for chain, rules in chains if chosen is None or chain in chosen)


def _shared(part: Shared, wanted: Ruleset) -> Iterator[Piece]:
    chain = part.place[1]
    return ((name, lines(chain, rules)) for name, rules in wanted.shared[part])


def lines(chain: str, rules: Iterable[str]) -> str:
    return "".join([f"-A {chain} {rule}\n" for rule in rules])


def counts(writing: Writing, wanted: Ruleset) -> dict[str, int]:
    """How many rules a payload holds in each table, jumps from built-in chains left out."""
    found = {FILTER: 0, NAT: 0}
    for (table, _), rules in writing.fixed:
        found[table] += len(rules)
    for part in writing.shared:
        found[part.place[0]] += wanted.shared[part].count
    if Shared.NAT_SERVICES in writing.shared:
        found[NAT] += len(wanted.tail())
    for _, fragment, chosen in writing.chains:
        found[NAT] += fragment.own.rules if chosen is None else _rules_of(fragment, wanted, chosen)
    return found


def _rules_of(fragment: Fragment, wanted: Ruleset, chosen: frozenset[str]) -> int:
    return sum(len(rules) for chain, rules in own_text(fragment, wanted.dialect) if chain in chosen)


def whole(wanted: Ruleset) -> Iterator[Piece]:
    """Everything we should hold, as one payload for an empty kernel: what `render` shows."""
    writing = Writing(
        chains=[(name, fragment, None) for name, fragment in sorted(wanted.fragments.items())],
        shared=list(Shared),
        fixed=list(wanted.fixed().items()),
        create=bare_chains(wanted.dialect),
        jumps=range(len(JUMPS)),
    )
    return pieces(writing, wanted)
