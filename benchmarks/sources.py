"""What it costs to read a cluster: from a recording, and from a directory of YAML or JSON.

Run it as `python -m benchmarks.sources`.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import yaml

from benchmarks.cluster import cluster, record
from benchmarks.figures import Figure, size_wanted, tell
from kubeproxy.api.change import Upsert, kind_of
from kubeproxy.api.decode import VERSIONS
from kubeproxy.sources.manifests import ManifestsSource
from kubeproxy.sources.recording import RecordingSource

PER_FILE = 100
ENDPOINTS = 10


def write(directory: Path, services: int, endpoints: int, suffix: str) -> None:
    """The objects as manifests, a hundred a file."""
    objects = []
    for change in cluster(services, endpoints):
        if isinstance(change, Upsert):
            kind = kind_of(change.obj)
            objects.append({"apiVersion": VERSIONS[kind][0], "kind": kind, **msgspec.to_builtins(change.obj)})
    for start in range(0, len(objects), PER_FILE):
        portion = objects[start : start + PER_FILE]
        path = directory / f"part-{start:06}.{suffix}"
        if suffix == "json":
            path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": portion}))
        else:
            path.write_text("---\n".join(yaml.dump(each, Dumper=yaml.CSafeDumper) for each in portion))


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def figures(services: int, endpoints: int) -> Iterator[Figure]:
    """Milliseconds of CPU."""
    for name, cost in measure(services, endpoints):
        yield Figure(name, cost * 1e3, "ms")


def measure(services: int, endpoints: int) -> Iterator[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        recording = home / "cluster.jsonl"
        record(recording, services, endpoints)
        yield "recording read", seconds(RecordingSource(recording).read)
        for suffix in ("json", "yaml"):
            directory = home / suffix
            directory.mkdir()
            write(directory, services, endpoints, suffix)
            source = ManifestsSource(directory)
            yield f"{suffix} read", seconds(source.read)
            yield f"{suffix} read again, nothing changed", seconds(source.read)
            for path in directory.iterdir():
                path.touch()
            yield f"{suffix} read again, all touched", seconds(source.read)
            first = next(iter(sorted(directory.iterdir())))
            first.write_bytes(first.read_bytes().replace(b"172.30.1.1", b"172.30.1.2", 1))
            yield f"{suffix} read again, one file changed", seconds(source.read)


def main() -> int:
    services = size_wanted()
    title = f"reading {services:,} Services x {ENDPOINTS}, CPU"
    return tell(title, figures(services, ENDPOINTS))


if __name__ == "__main__":
    sys.exit(main())
