"""The floor: what the daemon's very payloads cost when they are given to the restore program by hand."""

import asyncio
import resource
import subprocess
import time
from collections.abc import Iterable, Sequence

from msgspec import Struct

from benchmarks.cluster import NODE
from benchmarks.daemon import CONFIG
from kubeproxy.api.change import Change
from kubeproxy.config.effective import effective_config
from kubeproxy.config.invocation import parse_flags
from kubeproxy.model.changed import Changed
from kubeproxy.model.identity import Family
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.runtime.lane import Lane
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.machine import LinuxMachine
from kubeproxy.runtime.nodewatch import node_view
from kubeproxy.runtime.setup import iptables_backends
from kubeproxy.runtime.sync import AnyLane, sync
from kubeproxy.wire.op import Operation
from kubeproxy.wire.restore import Restore, SavedTables
from tests.lab.netns import Namespace


class Cost(Struct, frozen=True):
    """Seconds that passed, and seconds of CPU that were spent."""

    wall: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.wall + other.wall, self.cpu + other.cpu)


class Copyist:
    """A kernel that takes everything, and writes down what it was given."""

    def __init__(self) -> None:
        self._restores: list[Restore] = []

    def commit(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            assert isinstance(op, Restore)
            self._restores.append(Restore(op.ipv6, (b"".join(op.payload),), op.counters, op.table))

    def read(self, *, ipv6: bool) -> SavedTables:
        return SavedTables()

    def taken(self) -> list[Restore]:
        restores, self._restores = self._restores, []
        return restores


class Hand:
    """Gives payloads to the restore programs, in a namespace prepared as the daemon would prepare it."""

    def __init__(self, ns: Namespace) -> None:
        log.verbosity = -1
        self.ns = ns
        self.config = effective_config(parse_flags([]), CONFIG)
        self.machine = ns.call(LinuxMachine.found)
        self.backends = ns.call(iptables_backends, self.config, self.machine, tuple(Family))

    def give(self, restores: Iterable[Restore]) -> Cost:
        """What the programs cost, our own part left out."""
        return sum((self._restore(each) for each in restores), Cost())

    def _restore(self, restore: Restore) -> Cost:
        program = self.machine.programs.name(restore.ipv6, "-restore")
        words = [program, "-w", "5", "--noflush", *(["--counters"] if restore.counters else [])]
        with self.ns.enter():
            before, started = _children(), time.monotonic()
            subprocess.run(words, input=b"".join(restore.payload), check=True)
            return Cost(time.monotonic() - started, _children() - before)


class Dictation:
    """The daemon's own way from changes to payloads, without the daemon."""

    def __init__(self, hand: Hand) -> None:
        self._tracker, self._copyist = Tracker(started=time.time()), Copyist()
        self._config = hand.config
        self._addresses = hand.ns.call(hand.machine.addresses)
        self._lanes: list[AnyLane] = [
            Lane(family, each, self._view(family)) for family, each in hand.backends.items()
        ]

    def payloads(self, changes: Iterable[Change]) -> list[Restore]:
        self._tracker.hear(changes)
        asyncio.run(self._sync(self._tracker.take()))
        return self._copyist.taken()

    async def _sync(self, changed: Changed) -> None:
        snapshot = self._tracker.snapshot
        for lane in self._lanes:
            lane.move_to(self._view(lane.family))
            if lane.hear(changed.of(lane.family)) or lane.known is None:
                taken = lane.take(snapshot)
                report = await sync(lane, taken.names, snapshot, self._copyist, 0.0)
                assert report.ok, report

    def _view(self, family: Family) -> NodeView:
        return node_view(self._config, NODE, family, self._tracker.node(NODE), self._addresses)


def _children() -> float:
    """Seconds of CPU of every program that was run and has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
