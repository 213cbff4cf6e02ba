"""Many changes in a short time: 50 a second for 20 seconds, at the pace that the proxy has by itself.

Run it as `python -m benchmarks.churn`; it is not part of every run, as it takes a minute or two.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cluster import CHANGES_A_SECOND, record
from benchmarks.daemon import CONFIG, fresh, measured
from benchmarks.figures import Figure, size_wanted, tell
from benchmarks.proxy import ENDPOINTS, started

SECONDS = 20.0
#: of the original: seconds of CPU, and megabytes afterwards
STOCK = {("nft", 1000): (2.6, 107.0), ("nft", 5000): (8.5, 270.0), ("legacy", 5000): (9.3, 267.0)}


def figures(flavour: str, services: int, home: Path) -> Iterator[Figure]:
    recording, first = home / "churn.jsonl", 4.0 + services / 200
    count = int(SECONDS * CHANGES_A_SECOND)
    record(recording, services, ENDPOINTS, count, first=first)
    with fresh(flavour) as ns, measured(ns, home, f"--play={recording}", CALM) as running:
        before = started(running)
        if running.count(complete=False):
            raise RuntimeError("a change came before the start was over; try a quieter machine")
        running.synced(1, complete=False)
        running.quiet(3.0)
        cpu, resident = STOCK.get((flavour, services), (None, None))
        yield Figure("CPU", running.cpu() - before.cpu, "s", stock=cpu)
        yield Figure("syncs", running.count(complete=False), "times")
        yield Figure("resident before", before.resident, "MB")
        yield Figure("resident afterwards", running.resident(), "MB", stock=resident)


#: the configuration without a pace of its own
CALM = CONFIG.replace("iptables: {minSyncPeriod: 1ms}\n", "")


def main() -> int:
    largest, worst = size_wanted(), 0
    with tempfile.TemporaryDirectory() as place:
        for services in sorted({min(1000, largest), largest}):
            for flavour in ("nft", "legacy"):
                title = f"{SECONDS:.0f} s of changes, {flavour}, {services:,} Services x {ENDPOINTS}"
                worst |= tell(title, figures(flavour, services, Path(place)))
    return worst


if __name__ == "__main__":
    sys.exit(main())
