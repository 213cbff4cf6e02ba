"""Two Services, one Frontend: the older one has it, and both can be told why.

Nothing stops two Services from naming one external IP, and a packet can go to one of them only. Who was
there first keeps it, so that nobody can take an address from somebody by naming it too; when that one goes,
the next oldest has it. Services whose age is unknown come last, and among equals the name decides: every
node, and every restart, must come to the same answer.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.model.identity import PortName
from kubeproxy.model.instant import parse_instant
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.routes.frontends import Claim, claims
from kubeproxy.routes.route import Frontend, Lost, PortRoutes

#: a ServicePort that changes: its name, what it claimed so far, what it claims from now on
Move: TypeAlias = tuple[PortName, ServicePort | None, ServicePort | None]

_NOBODY: Final[Sequence[PortName]] = ()


class Contested(Struct, frozen=True, gc=False):
    """A Frontend that younger ServicePorts name as well, and do not get."""

    frontend: Frontend
    rivals: tuple[PortName, ...]


class Claims:
    """Who has which Frontend, and who would like to."""

    __slots__ = ("_holders", "_waiting")

    def __init__(self) -> None:
        self._holders: dict[Claim, PortName] = {}
        #: only where there are rivals, the oldest first
        self._waiting: dict[Claim, list[PortName]] = {}

    def holder(self, claim: Claim) -> PortName | None:
        return self._holders.get(claim)

    def settle(
        self, moves: Iterable[Move], port_of: Callable[[PortName], ServicePort | None]
    ) -> set[PortName]:
        """Let go first, then claim; return whose Frontends are others now, or held by others.

        Names that move themselves may or may not be among them.
        """
        disputed: dict[Claim, PortName] = {}
        gains: list[tuple[PortName, set[Claim]]] = []
        for name, before, now in moves:
            had = claims(before) if before is not None else set()
            has = claims(now) if now is not None else set()
            if before is not None and now is not None and before.created == now.created:
                had, has = had - has, has - had
            for claim in had:
                self._release(claim, name, disputed)
            gains.append((name, has))
        for name, gained in gains:
            for claim in gained:
                self._gain(claim, name, disputed, port_of)
        return self._affected(disputed)

    def without_lost(self, decided: PortRoutes) -> PortRoutes:
        """The same, but for the Frontends that somebody older holds."""
        if not self._waiting:
            return decided
        name, holders = decided.name, self._holders
        lost = tuple(
            Lost(route.frontend, holder)
            for route in decided.routes
            if (holder := holders.get(route.frontend.claim, name)) != name
        )
        if not lost:
            return decided
        gone = {entry.frontend for entry in lost}
        kept = tuple(route for route in decided.routes if route.frontend not in gone)
        return replace(decided, routes=kept, lost=lost)

    def contested(self, decided: PortRoutes) -> tuple[Contested, ...]:
        """What the other side of a conflict is told: who else wants what this one has."""
        found = ((r.frontend, self._waiting.get(r.frontend.claim, _NOBODY)) for r in decided.routes)
        return tuple(Contested(frontend, tuple(rivals)) for frontend, rivals in found if rivals)

    def _release(self, claim: Claim, name: PortName, disputed: dict[Claim, PortName]) -> None:
        waiting = self._waiting.get(claim)
        if waiting is None:
            del self._holders[claim]
            return
        holder = self._holders[claim]
        disputed.setdefault(claim, holder)
        if holder == name:
            self._holders[claim] = waiting.pop(0)
        else:
            waiting.remove(name)
        if not waiting:
            del self._waiting[claim]

    def _gain(
        self,
        claim: Claim,
        name: PortName,
        disputed: dict[Claim, PortName],
        port_of: Callable[[PortName], ServicePort | None],
    ) -> None:
        holder = self._holders.setdefault(claim, name)
        if holder == name:
            return
        disputed.setdefault(claim, holder)
        waiting = self._waiting.setdefault(claim, [])
        if _seniority(name, port_of(name)) < _seniority(holder, port_of(holder)):
            self._holders[claim] = name
            waiting.insert(0, holder)
        else:
            insort(waiting, name, key=lambda rival: _seniority(rival, port_of(rival)))

    def _affected(self, disputed: dict[Claim, PortName]) -> set[PortName]:
        affected: set[PortName] = set()
        for claim, before in disputed.items():
            holder = self._holders.get(claim)
            if holder is not None and holder != before:
                affected.update((holder, *self._waiting.get(claim, _NOBODY)))
        return affected


def _seniority(name: PortName, port: ServicePort | None) -> tuple[float, PortName]:
    """Sorts the oldest first."""
    created = parse_instant(port.created) if port is not None and port.created else None
    return (inf if created is None else created), name
