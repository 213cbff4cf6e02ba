"""The daemon as a whole: how long it takes to start, what a change costs, how large it is.

Each of its starts and changes is followed by the same payload given by hand to the restore program in another
namespace, so that whatever else the machine does meets both; ours is the floor's median and the median of
what was more than it. Run it as `python -m benchmarks.proxy`.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median

from msgspec import Struct

from benchmarks.cluster import churn, cluster, record
from benchmarks.daemon import Measured, fresh, measured
from benchmarks.figures import Figure, size_wanted, tell
from benchmarks.floor import Cost, Dictation, Hand
from benchmarks.sources import write
from kubeproxy.wire.restore import Restore
from tests.lab.netns import Namespace

ENDPOINTS = 10
STARTS = 3
#: changes are summed up in groups, because the kernel tells CPU time in hundredths of a second
GROUPS, GROUP = 5, 5


class Demand(Struct, frozen=True):
    """What is demanded of ours, and what the original needs (seconds, milliseconds of CPU, megabytes)."""

    start: float | None = None
    above_floor: bool = False
    change: float | None = 20.0
    resident: float | None = None
    stock_start: float | None = None
    stock_change: float | None = None
    stock_latency: float | None = None
    stock_resident: float | None = None


DEMANDS = {
    ("nft", 100): Demand(resident=50.0, stock_start=0.63, stock_resident=63.0),
    ("nft", 1000): Demand(None, False, 20.0, None, 4.2, 82.0, 121.0, 90.0),
    ("nft", 5000): Demand(8.0, False, 20.0, 80.0, 193.0, 550.0, 690.0, 175.0),
    ("legacy", 5000): Demand(1.0, True, 20.0, 80.0, 2.0, 660.0, 740.0, 198.0),
}


class Ours(Struct, frozen=True):
    """A start: seconds until it had synced, seconds of CPU, megabytes."""

    wall: float
    cpu: float
    resident: float


class Change(Struct, frozen=True):
    """Of one change: seconds of CPU, and seconds its sync took, ours and by hand; and what is not of it."""

    ours: Cost
    floor: Cost
    #: seconds of CPU per second in which nothing happens: already taken off
    idle: float
    resident: float


def started(running: Measured) -> Ours:
    synced = running.synced(2, complete=True)
    running.quiet()
    return Ours(max(said.at for said in synced), running.cpu(), running.resident())


class Bench:
    """One flavour and one size."""

    def __init__(self, flavour: str, services: int, home: Path) -> None:
        self.flavour, self.services, self.home = flavour, services, home
        with fresh(flavour) as ns:
            dictation = Dictation(Hand(ns))
        self.first = dictation.payloads(cluster(services, ENDPOINTS))
        self.changes: list[list[Restore]] = [
            dictation.payloads([change]) for change in churn(services, ENDPOINTS, GROUPS * GROUP)
        ]

    def start(self) -> tuple[Ours, Cost]:
        """On an empty node."""
        recording = self.home / f"{self.services}.jsonl"
        if not recording.exists():
            record(recording, self.services, ENDPOINTS)
        with fresh(self.flavour) as ns, measured(ns, self.home, f"--play={recording}") as running:
            ours = started(running)
        with fresh(self.flavour) as ns:
            return ours, Hand(ns).give(self.first)

    def from_directory(self) -> Ours:
        """The same cluster as manifests, whose objects stay in memory."""
        directory = self.home / "manifests"
        directory.mkdir()
        write(directory, self.services, ENDPOINTS, "json")
        with fresh(self.flavour) as ns, measured(ns, self.home, f"--manifests={directory}") as running:
            ours = started(running)
        shutil.rmtree(directory)
        return ours

    def change(self, begun: Ours) -> Change:
        """One endpoint of one Service becomes another one; then nothing, until everything is at rest."""
        recording = self.home / "changes.jsonl"
        with fresh(self.flavour) as other, fresh(self.flavour) as ns:
            hand = Hand(other)
            floor = hand.give(self.first)
            pause = 0.3 + (floor.cpu if self.flavour == "legacy" else floor.cpu / 10)
            record(recording, self.services, ENDPOINTS, GROUPS * GROUP, first=2 * begun.wall + 4, pause=pause)
            with measured(ns, self.home, f"--play={recording}") as running:
                started(running)
                idle = running.idle(2.0)
                if running.count(complete=False):
                    raise RuntimeError("a change came before the start was over; try a quieter machine")
                found = self._follow(running, hand, idle * pause)
                assert saved(ns, self.flavour) == saved(other, self.flavour), "not the same rules"
                return Change(*found, idle, running.resident())

    def _follow(self, running: Measured, hand: Hand, aside: float) -> tuple[Cost, Cost]:
        spent, floors, latencies = [running.cpu()], [], []
        for number, restores in enumerate(self.changes, 1):
            synced = running.synced(number, complete=False)[-1]
            floors.append(hand.give(restores))
            latencies.append(_milliseconds(synced.line) / 1000)
            if number % GROUP == 0:
                spent.append(running.cpu())
        groups = [floors[start : start + GROUP] for start in range(0, len(floors), GROUP)]
        floor = [sum(cost.cpu for cost in group) / GROUP for group in groups]
        ours = [(after - before) / GROUP - aside for before, after in pairwise(spent)]
        walls = [cost.wall for cost in floors]
        return Cost(above(latencies, walls), above(ours, floor)), Cost(median(walls), median(floor))


def above(ours: Sequence[float], floor: Sequence[float]) -> float:
    """The floor's median, and the median of what was more than it."""
    return median(floor) + median(mine - least for mine, least in zip(ours, floor, strict=True))


def saved(ns: Namespace, flavour: str) -> list[str]:
    """All rules, so that both ways can be seen to have led to the same."""
    lines = ns.run([f"iptables-{flavour}-save"]).stdout.splitlines()
    return sorted(line.partition(" [")[0] for line in lines if not line.startswith("#"))


def _milliseconds(line: str) -> float:
    return float(line.partition("milliseconds=")[2].split()[0].strip('"'))


def figures(flavour: str, services: int, home: Path) -> Iterator[Figure]:
    want = DEMANDS.get((flavour, services), Demand())
    bench = Bench(flavour, services, home)
    starts = [bench.start() for _ in range(STARTS if flavour == "nft" else STARTS + 2)]
    resident = max(ours.resident for ours, _ in starts)
    walls = [ours.wall for ours, _ in starts], [cost.wall for _, cost in starts]
    cpus = [ours.cpu for ours, _ in starts], [cost.cpu for _, cost in starts]
    wall, cpu, floor = above(*walls), above(*cpus), Cost(median(walls[1]), median(cpus[1]))
    yield Figure("start to last rule", wall, "s", floor.wall, want.stock_start, want.start, want.above_floor)
    yield Figure("start, CPU", cpu, "s", floor.cpu)
    change = bench.change(starts[0][0])
    ours, least = change.ours, change.floor
    yield Figure(
        "one change, CPU", ours.cpu * 1e3, "ms", least.cpu * 1e3, want.stock_change, want.change, True
    )
    yield Figure("one change, sync", ours.wall * 1e3, "ms", least.wall * 1e3, want.stock_latency)
    yield Figure("idle, CPU", change.idle * 1e3, "ms/s")
    yield Figure("resident after start", resident, "MB", None, want.stock_resident, want.resident)
    yield Figure("resident after the changes", change.resident, "MB", None, None, want.resident)
    if flavour == "nft":
        resident = bench.from_directory().resident
        yield Figure("resident, from a directory of JSON", resident, "MB", None, None, want.resident)


def main() -> int:
    largest, worst = size_wanted(), 0
    with tempfile.TemporaryDirectory() as place:
        for services in sorted({min(100, largest), min(1000, largest), largest}):
            for flavour in ("nft", "legacy") if services >= 1000 else ("nft",):
                title = f"iptables ({flavour}), {services:,} Services x {ENDPOINTS}"
                worst |= tell(title, figures(flavour, services, Path(place)))
    return worst


if __name__ == "__main__":
    sys.exit(main())
