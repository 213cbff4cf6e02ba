"""Known × Ruleset × changed names → Plan: only what differs is written."""

from collections.abc import Collection, Iterator, Sequence

from kubeproxy.backends.contract import Plan, Step
from kubeproxy.backends.iptables.compile import Shared
from kubeproxy.backends.iptables.names import HASH_LENGTH, Kind
from kubeproxy.backends.iptables.ruleset import (
    Change,
    Fragment,
    Known,
    Place,
    Ruleset,
    Settled,
    written_chains,
)
from kubeproxy.backends.iptables.skeleton import FILTER, MANGLE, NAT, bare_chains
from kubeproxy.backends.iptables.text import Payload, Writing, counts, pieces
from kubeproxy.model.identity import PortName
from kubeproxy.wire.restore import Restore

#: Services in one portion of a large load. The program compares every chain of a payload with every
#: other, so the time grows with the square of this; below it, starting the program costs more.
PORTION = 100
#: chains that a Service of an ordinary size has: one with more takes the room of several in a portion
ORDINARY = 12

#: a chain can only go when nothing leads into it any more, so those that lead into others go first
_LEADING = {
    kind.value: number
    for number, kind in enumerate((Kind.FIREWALL, Kind.EXTERNAL, Kind.LOCAL, Kind.CLUSTER, Kind.ENDPOINT))
}


class Difference:
    """What some names need: chains to write, and chains nobody needs any more."""

    def __init__(self, known: Known, wanted: Ruleset, touched: Collection[PortName]) -> None:
        self.writes: list[Change] = []
        self.same: list[tuple[PortName, Fragment]] = []
        self.forgotten: list[PortName] = []
        #: by name, the chains that have no use once its others are written
        self.replaced: dict[PortName, set[str]] = {}
        #: chains that others lead into until the shared ones are written
        self.left: set[str] = set()
        for name in sorted(touched):
            self._compare(name, known.held.get(name), wanted.fragments.get(name))

    def _compare(self, name: PortName, held: Fragment | None, fragment: Fragment | None) -> None:
        if held is fragment:
            return
        if fragment is None:
            self.forgotten.append(name)
            self.left.update(held.names() if held is not None else ())
            return
        chosen, gone = _chosen(held, fragment)
        if chosen is None or chosen:
            self.writes.append((name, fragment, chosen))
            self.replaced[name] = gone
        else:
            self.same.append((name, fragment))
            self.left.update(gone)


def _chosen(held: Fragment | None, fragment: Fragment) -> tuple[frozenset[str] | None, set[str]]:
    """The chains to write, None for all, and those that are not needed any more."""
    if held is None:
        return None if fragment.own.chains else frozenset(), set()
    before, after = held.chains(), fragment.chains()
    changed = frozenset(chain for chain, digest in after.items() if before.get(chain) != digest)
    return changed, before.keys() - after.keys()


def plan(known: Known, wanted: Ruleset, touched: Collection[PortName], *, portion: int | None) -> Plan:
    """In portions where the program needs it (`portion` Services at a time), else all at once."""
    return Plan(_steps(known, wanted, Difference(known, wanted, touched), portion))


def _steps(known: Known, wanted: Ruleset, difference: Difference, portion: int | None) -> Iterator[Step]:
    writes, *more = _portions(difference.writes, portion)
    if more:
        # A chain must exist before anything leads into it, so what the portions jump to comes first.
        fixed = _fixed(known, wanted)
        if fixed:
            yield _step(Writing(fixed=fixed), wanted, ())
        for each in (writes, *more):
            yield _step(Writing(chains=each), wanted, (), left=_replaced(difference, each))
        writes = []
    left = difference.left | _replaced(difference, writes)
    stale = known.stale | left
    if stale:
        stale.difference_update(written_chains(writes))
    delete, *others = _deletions(stale - known.stuck, portion)
    clearing = Writing(delete=delete, empty=sorted(stale & known.stuck))
    yield from _opening(known, wanted, difference, writes, clearing, left)
    for chains in others:
        yield _step(Writing(delete=chains), wanted, ())


def _opening(
    known: Known,
    wanted: Ruleset,
    difference: Difference,
    writes: Sequence[Change],
    clearing: Writing,
    left: Collection[str],
) -> Iterator[Step]:
    """What leads to the chains of Services, from wherever packets come."""
    writing = Writing(
        chains=writes,
        shared=_shared(known, wanted),
        fixed=_fixed(known, wanted),
        create=_missing(known, wanted),
        delete=clearing.delete,
        empty=clearing.empty,
        jumps=known.missing_jumps(),
    )
    if writing.jumps_in(FILTER) and writing.touches(NAT):
        # A jump that is made twice stands there twice. So a payload that makes some must not be refused for
        # the sake of another table, when theirs was committed already.
        yield _step(writing.within(MANGLE, FILTER), wanted, (), opens=True)
        writing = writing.within(NAT)
    names = (*(name for name, _ in difference.same), *difference.forgotten)
    same, forgotten = difference.same, difference.forgotten
    yield _step(writing, wanted, names, same=same, forgotten=forgotten, left=left, opens=True)


def _portions(writes: Sequence[Change], portion: int | None) -> Iterator[list[Change]]:
    """At least one, though it may be empty: so many Services, or fewer where they are large ones."""
    batch: list[Change] = []
    chains = 0
    for change in writes:
        _, fragment, chosen = change
        size = fragment.own.chains if chosen is None else len(chosen)
        if batch and portion and (len(batch) == portion or chains + size > portion * ORDINARY):
            yield batch
            batch, chains = [], 0
        batch.append(change)
        chains += size
    yield batch


def _replaced(difference: Difference, writes: Sequence[Change]) -> set[str]:
    return set().union(*(difference.replaced[name] for name, _, _ in writes))


def _deletions(chains: Collection[str], portion: int | None) -> list[list[str]]:
    """At least one portion, though it may be empty; what leads into others is deleted before them."""
    ordered = sorted(chains, key=lambda chain: (_LEADING.get(chain[:-HASH_LENGTH], 0), chain))
    size = portion * ORDINARY if portion else max(1, len(ordered))
    return [ordered[start : start + size] for start in range(0, max(1, len(ordered)), size)]


def _step(
    writing: Writing,
    wanted: Ruleset,
    names: tuple[PortName, ...],
    *,
    same: Sequence[tuple[PortName, Fragment]] = (),
    forgotten: Sequence[PortName] = (),
    left: Collection[str] = (),
    opens: bool = False,
) -> Step:
    held = tuple((name, fragment) for name, fragment, _ in writing.chains)
    settled = Settled(
        held=(*held, *same),
        forgotten=tuple(forgotten),
        written=tuple(writing.chains),
        left=frozenset(left),
        deleted=frozenset([*writing.delete, *writing.empty]),
        shared=tuple((part, wanted.shared[part].version) for part in writing.shared),
        tail=wanted.tail() if Shared.NAT_SERVICES in writing.shared else None,
        fixed=tuple(writing.fixed),
        existing=frozenset([*writing.create, *(place for place, _ in writing.fixed)]),
        jumps=frozenset(writing.jumps),
        counts=tuple(counts(writing, wanted).items()),
    )
    ops = (Restore(wanted.dialect.ipv6, Payload(lambda: pieces(writing, wanted))),) if writing else ()
    return Step(ops, (*(name for name, _ in held), *names), settled, opens)


def _shared(known: Known, wanted: Ruleset) -> list[Shared]:
    """Shared chains whose text is not what stands in the kernel."""
    return [
        part
        for part, contributions in wanted.shared.items()
        if known.shared.get(part) != contributions.version
        or (part is Shared.NAT_SERVICES and known.tail != wanted.tail())
    ]


def _fixed(known: Known, wanted: Ruleset) -> list[tuple[Place, tuple[str, ...]]]:
    return [(place, rules) for place, rules in wanted.fixed().items() if known.fixed.get(place) != rules]


def _missing(known: Known, wanted: Ruleset) -> list[Place]:
    return [place for place in bare_chains(wanted.dialect) if place not in known.existing]
