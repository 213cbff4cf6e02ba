"""Known × Ruleset × changed names → Plan: only what differs is written."""

from collections.abc import Collection, Iterator, Sequence

from kubeproxy.backends.contract import Plan, Step
from kubeproxy.backends.iptables.compile import Shared
from kubeproxy.backends.iptables.ruleset import Fragment, Known, Place, Ruleset, Settled
from kubeproxy.backends.iptables.skeleton import bare_chains
from kubeproxy.backends.iptables.text import Payload, Writing, counts, pieces
from kubeproxy.model.identity import PortName
from kubeproxy.wire.restore import Restore

#: Services in one portion of a large load. The program compares every chain of a payload with every
#: other, so the time grows with the square of this; below it, starting the program costs more.
PORTION = 100

Change = tuple[PortName, Fragment, frozenset[str]]


class Difference:
    """What some names need: chains to write, and chains nobody needs any more."""

    def __init__(self, known: Known, wanted: Ruleset, touched: Collection[PortName]) -> None:
        self.writes: list[Change] = []
        self.same: list[tuple[PortName, Fragment]] = []
        self.forgotten: list[PortName] = []
        self.left: set[str] = set()
        for name in sorted(touched):
            self._compare(name, known.held.get(name), wanted.fragments.get(name))

    def _compare(self, name: PortName, held: Fragment | None, fragment: Fragment | None) -> None:
        if held is fragment:
            return
        before = held.chains() if held is not None else {}
        if fragment is None:
            self.forgotten.append(name)
            self.left.update(before)
            return
        after = fragment.chains()
        chosen = frozenset(chain for chain, digest in after.items() if before.get(chain) != digest)
        self.left.update(before.keys() - after.keys())
        if chosen:
            self.writes.append((name, fragment, chosen))
        else:
            self.same.append((name, fragment))


def plan(known: Known, wanted: Ruleset, touched: Collection[PortName], *, portion: int | None) -> Plan:
    """In portions where the program needs it (`portion` Services at a time), else all at once."""
    return Plan(_steps(known, wanted, Difference(known, wanted, touched), portion))


def _steps(known: Known, wanted: Ruleset, difference: Difference, portion: int | None) -> Iterator[Step]:
    writes: Sequence[Change] = difference.writes
    if portion is not None and len(writes) > portion:
        # A chain must exist before anything leads into it, so what the portions jump to comes first.
        fixed = _fixed(known, wanted)
        if fixed:
            yield _step(Writing(fixed=fixed), wanted, ())
        for start in range(0, len(writes), portion):
            chains = writes[start : start + portion]
            yield _step(Writing(chains=chains), wanted, (), left=difference.left)
        writes = ()
    written = {chain for _, _, chosen in difference.writes for chain in chosen}
    stale = (known.stale | difference.left) - written
    writing = Writing(
        chains=writes,
        shared=_shared(known, wanted),
        fixed=_fixed(known, wanted),
        create=_missing(known, wanted),
        delete=sorted(stale),
        jumps=known.missing_jumps(),
    )
    names = (*(name for name, _ in difference.same), *difference.forgotten)
    yield _step(writing, wanted, names, same=difference.same, forgotten=difference.forgotten, opens=True)


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
        written=frozenset(chain for _, _, chosen in writing.chains for chain in chosen),
        left=frozenset(left),
        deleted=frozenset(writing.delete),
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
