"""What it costs that there is a proxy at all: the program loaded, an empty node programmed, nothing to serve.

Run it as `python -m benchmarks.empty`.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.daemon import fresh, measured
from benchmarks.figures import Figure, tell
from kubeproxy.api.change import KINDS, Synced
from kubeproxy.sources.recording import Recorder

ROUNDS = 7


def figures(home: Path) -> Iterator[Figure]:
    (manifests := home / "manifests").mkdir()
    with Recorder(home / "nothing.jsonl") as recorder:
        recorder.record((Synced(kind) for kind in KINDS), 0.0)
    for what, source in (
        ("from a recording", f"--play={home / 'nothing.jsonl'}"),
        ("from a directory", f"--manifests={manifests}"),
    ):
        rounds = [start(home, source) for _ in range(ROUNDS + 1)][1:]
        wall, cpu, resident, idle = (median(each) for each in zip(*rounds, strict=True))
        yield Figure(f"{what}: start, CPU", cpu, "s", at_most=0.40)
        yield Figure(f"{what}: start", wall, "s")
        yield Figure(f"{what}: resident", resident, "MB", at_most=50.0)
        yield Figure(f"{what}: idle, CPU", idle * 1e3, "ms/s")


def start(home: Path, source: str) -> tuple[float, float, float, float]:
    """Seconds until both families have synced, seconds of CPU with all children, megabytes, idle CPU."""
    with fresh("nft") as ns, measured(ns, home, source) as running:
        synced = running.synced(2, complete=True)
        running.quiet()
        wall, cpu = max(said.at for said in synced), running.cpu()
        return wall, cpu, running.resident(), running.idle(1.0)


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        return tell("an empty proxy", figures(Path(place)))


if __name__ == "__main__":
    sys.exit(main())
