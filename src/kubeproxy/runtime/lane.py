"""Lane: one IP family's way from what changed to what the kernel confirmed, and what it keeps."""

from collections.abc import Container, Mapping
from typing import Generic

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.backends.contract import Backend, KnownT, ReadT_contra, RulesetT
from kubeproxy.kernel.errors import KernelError
from kubeproxy.model.changed import FamilyChanges
from kubeproxy.model.identity import Family, PortName
from kubeproxy.model.snapshot import Snapshot
from kubeproxy.routes.decide import Routes
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import Lost, PortRoutes

#: seconds until somebody who was refused is tried again: the first time, and at most
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0


class Quarantined(Struct, frozen=True):
    """A ServicePort the kernel refused; it is tried again, alone, ever more rarely."""

    problem: str
    tries: int
    next_try: float


class Lane(Generic[RulesetT, KnownT, ReadT_contra]):
    """Everything that belongs to one family; families never wait for each other."""

    def __init__(
        self, family: Family, backend: Backend[RulesetT, KnownT, ReadT_contra], node: NodeView
    ) -> None:
        self.family, self.backend = family, backend
        self.node = self.next_node = node
        self.routes = Routes()
        self.wanted: RulesetT = backend.prepare(node)
        #: None: only reading the kernel can tell
        self.known: KnownT | None = None
        #: asked for while a sync may be at work: it is for the next one to forget what is known
        self._doubted = False
        #: names whose state in the kernel may not be what it should be
        self.pending: set[PortName] = set()
        #: names that were decided anew since the last sync that succeeded, whatever came of it
        self.trying: set[PortName] = set()
        self.changes = FamilyChanges()
        self.quarantine: dict[PortName, Quarantined] = {}
        self.redecide_all = False
        self._restyle = False
        #: what each ServicePort does not get because an older Service has it; said once
        self.lost: dict[PortName, tuple[Lost, ...]] = {}

    @property
    def ipv6(self) -> bool:
        return self.family is Family.IPV6

    def hear(self, changes: FamilyChanges) -> bool:
        """Keep what changed until the next sync; true when there is something to do."""
        self.changes = self.changes.then(changes)
        return bool(changes)

    def move_to(self, node: NodeView) -> bool:
        """The node is another one from the next sync on; true when that changes anything."""
        self.next_node = node
        return node != self.node

    def mark_with(self, bit: int) -> bool:
        """Another bit of the mark from the next sync on; true when it is another one."""
        if changed := self.backend.mark_with(bit):
            self._restyle = True
        return changed

    def _settle_node(self) -> None:
        """At the start of a sync: an address that nothing asks for must not set everything in motion."""
        node, before = self.next_node, self.node
        if node == before and not self._restyle:
            return
        self._restyle = False
        self.redecide_all |= replace(before, addresses=node.addresses) != node
        self.node = node
        self.pending |= set(self.backend.restyle(self.wanted, node))

    def take(self, snapshot: Snapshot) -> FamilyChanges:
        """What changed since the last sync; every name where the node itself is another one now."""
        self._settle_node()
        taken, self.changes = self.changes, FamilyChanges()
        if self.redecide_all:
            self.redecide_all = False
            names = dict.fromkeys([*snapshot.names(self.family), *self.routes, *taken.names])
            taken = replace(taken, names=tuple(names))
        return taken

    def give_back(self, taken: FamilyChanges) -> None:
        """A sync failed: what it took is still to be done."""
        self.changes = taken.then(self.changes)

    def newly_lost(self, decided: Mapping[PortName, PortRoutes | None]) -> list[tuple[PortName, Lost]]:
        """Frontends that these decisions gave to somebody older, and nobody was told of yet."""
        news: list[tuple[PortName, Lost]] = []
        for name, routes in decided.items():
            lost = routes.lost if routes is not None else ()
            known = self.lost.pop(name, ())
            if lost:
                self.lost[name] = lost
                news += [(name, one) for one in lost if one not in known]
        return news

    def doubt(self) -> None:
        """What is known of the kernel may be wrong, from now on and not only until the sync at work ends."""
        self._doubted = True

    def settle_doubt(self) -> None:
        """At the start of a sync."""
        if self._doubted:
            self._doubted, self.known = False, None

    def due(self, now: float) -> list[PortName]:
        """Quarantined names whose time has come."""
        return [name for name, kept in self.quarantine.items() if kept.next_try <= now]

    def next_retry(self) -> float | None:
        return min((kept.next_try for kept in self.quarantine.values()), default=None)

    def brought(
        self, culprits: Mapping[PortName, KernelError], suspects: Container[PortName], now: float
    ) -> None:
        """A sync succeeded: everything that was tried is in the kernel now, or set apart."""
        for name in self.trying - culprits.keys():
            self.quarantine.pop(name, None)
        for name, error in culprits.items():
            self._keep_apart(name, str(error), now, alone=name not in suspects)
        self.pending, self.trying = set(), set()

    def _keep_apart(self, name: PortName, problem: str, now: float, *, alone: bool) -> None:
        """The pause doubles up to five minutes, for who was refused by itself and not for its company."""
        before = self.quarantine.get(name)
        tries = (before.tries if before else 0) + alone
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(max(0, tries - 1), 10))
        self.quarantine[name] = Quarantined(problem, tries, now + pause)
