"""One sync: decide, compile, plan, commit. Every `if` about traffic is somewhere else."""

import asyncio
import resource
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.backends.contract import Backend
from kubeproxy.kernel.errors import Busy, KernelError
from kubeproxy.model.identity import PortName
from kubeproxy.model.snapshot import Snapshot
from kubeproxy.routes.decide import decide
from kubeproxy.routes.route import Lost
from kubeproxy.runtime.commit import Committer
from kubeproxy.runtime.lane import Lane
from kubeproxy.wire.op import Operation

AnyLane: TypeAlias = Lane[Any, Any, Any]
AnyBackend: TypeAlias = Backend[Any, Any, Any]


class Kernel(Protocol):
    """What a sync needs of the hands."""

    def commit(self, ops: Sequence[Operation]) -> None: ...

    def read(self, *, ipv6: bool) -> Any: ...


class Report(Struct, frozen=True):
    """What became of a sync."""

    #: everything the kernel holds was read for it
    complete: bool = False
    #: operations that were carried out
    operations: int = 0
    written: tuple[tuple[str, int], ...] = ()
    #: who was withheld, and why
    culprits: tuple[tuple[PortName, str], ...] = ()
    #: how often the kernel refused something, whoever was to blame
    refusals: int = 0
    #: who does not get a Frontend, and who has it: known since this sync
    lost: tuple[tuple[PortName, Lost], ...] = ()
    error: KernelError | None = None
    #: CPU seconds that reading the kernel took
    reading: float = 0.0

    @property
    def ok(self) -> bool:
        return self.error is None


async def sync(
    lane: AnyLane, names: Iterable[PortName], snapshot: Snapshot, kernel: Kernel, now: float
) -> Report:
    """Bring the kernel to what the cluster says, for one family.

    What fails is kept in the lane: names stay pending, and in doubt the next sync reads the kernel.
    """
    lane.settle_doubt()
    decided = decide(snapshot, lane.node, names, lane.routes)
    lost = tuple(lane.newly_lost(decided))
    decided.update({name: lane.routes.get(name) for name in lane.due(now)})
    lane.pending |= set(lane.backend.compile(lane.wanted, decided))
    lane.trying |= decided.keys()
    report = await asyncio.to_thread(_bring, lane, kernel, now)
    return replace(report, lost=lost)


def _bring(lane: AnyLane, kernel: Kernel, now: float) -> Report:
    """In a worker thread: health answers never wait for the kernel."""
    complete, reading = lane.known is None, 0.0
    committer = None
    try:
        if lane.known is None:
            started = _processor_time()
            read = kernel.read(ipv6=lane.ipv6)
            reading = _processor_time() - started
            lane.known, wrong = lane.backend.adopt(read, lane.wanted)
            lane.pending = set(wrong)
        committer = Committer(lane.backend, lane.known, lane.wanted, kernel.commit)
        committer.bring(lane.pending)
    except KernelError as error:
        if not isinstance(error, Busy):
            lane.known = None
        return _report(lane, committer, complete, reading, error)
    lane.brought(committer.culprits, committer.suspects, now)
    return _report(lane, committer, complete, reading, None)


def _processor_time() -> float:
    """Seconds spent by us and by the programs we ran."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _report(
    lane: AnyLane,
    committer: Committer[Any, Any, Any] | None,
    complete: bool,
    reading: float,
    error: KernelError | None,
) -> Report:
    steps = committer.steps if committer else []
    written: dict[str, int] = {}
    for step in steps:
        for table, count in lane.backend.written_counts(step).items():
            written[table] = written.get(table, 0) + count
    return Report(
        complete=complete,
        operations=sum(len(step.ops) for step in steps),
        written=tuple(written.items()),
        culprits=tuple((name, str(why)) for name, why in committer.culprits.items()) if committer else (),
        refusals=committer.refusals if committer else 0,
        error=error,
        reading=reading,
    )
