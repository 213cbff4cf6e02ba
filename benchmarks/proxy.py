"""The daemon as a whole: how long it takes to start, what a change costs, how large it is.

Each of its starts and changes is followed by the same payload given by hand to the restore program in another
namespace, so that whatever else the machine does meets both; ours is the floor's median and the median of
what was more than it. Run it as `python -m benchmarks.proxy`.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
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
GROUPS, GROUP = 3, 5
#: each in namespaces of its own: where tables happen to lie in memory makes a difference of a few percent
ROUNDS = 2


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


class Changes(Struct):
    """Of changes, ours and by hand: seconds of CPU (means of groups), and seconds that each sync took."""

    cpus: list[tuple[float, float]] = []
    walls: list[tuple[float, float]] = []
    #: seconds of CPU per second in which nothing happens: taken off already
    idle: list[float] = []
    resident: list[float] = []


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

    def change(self, begun: Ours) -> Changes:
        """One endpoint of one Service becomes another one; then nothing, until everything is at rest."""
        found = Changes()
        for _ in range(ROUNDS):
            recording = self.home / "changes.jsonl"
            with fresh(self.flavour) as other, fresh(self.flavour) as ns:
                hand = Hand(other)
                floor = hand.give(self.first)
                pause = 0.3 + floor.cpu * (0.75 if self.flavour == "legacy" else 0.1)
                first = 1.5 * begun.wall + 4
                record(recording, self.services, ENDPOINTS, GROUPS * GROUP, first=first, pause=pause)
                with measured(ns, self.home, f"--play={recording}") as running:
                    self._follow(running, hand, pause, found)
                assert saved(ns, self.flavour) == saved(other, self.flavour), "not the same rules"
        return found

    def _follow(self, running: Measured, hand: Hand, pause: float, found: Changes) -> None:
        started(running)
        found.idle.append(running.idle(2.0))
        if running.count(complete=False):
            raise RuntimeError("a change came before the start was over; try a quieter machine")
        for start in range(0, len(self.changes), GROUP):
            before, by_hand = running.cpu(), Cost()
            for number in range(start, start + GROUP):
                synced = running.synced(number + 1, complete=False)[-1]
                cost = hand.give(self.changes[number])
                found.walls.append((_milliseconds(synced.line) / 1000, cost.wall))
                by_hand += cost
            spent = (running.cpu() - before) / GROUP - found.idle[-1] * pause
            found.cpus.append((spent, by_hand.cpu / GROUP))
        found.resident.append(running.resident())


def above(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The floor's median and the median of what was more than it, together; and the floor's median."""
    floor = median(least for _, least in pairs)
    return floor + median(ours - least for ours, least in pairs), floor


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
    ours, floor = above([(ours.wall, cost.wall) for ours, cost in starts])
    yield Figure("start to last rule", ours, "s", floor, want.stock_start, want.start, want.above_floor)
    ours, floor = above([(ours.cpu, cost.cpu) for ours, cost in starts])
    yield Figure("start, CPU", ours, "s", floor)
    changes = bench.change(starts[0][0])
    ours, floor = (seconds * 1e3 for seconds in above(changes.cpus))
    yield Figure("one change, CPU", ours, "ms", floor, want.stock_change, want.change, True)
    ours, floor = (seconds * 1e3 for seconds in above(changes.walls))
    yield Figure("one change, sync", ours, "ms", floor, want.stock_latency)
    yield Figure("idle, CPU", median(changes.idle) * 1e3, "ms/s")
    resident = max(ours.resident for ours, _ in starts)
    yield Figure("resident after start", resident, "MB", None, want.stock_resident, want.resident)
    resident = max(changes.resident)
    yield Figure("resident after the changes", resident, "MB", None, None, want.resident)
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
