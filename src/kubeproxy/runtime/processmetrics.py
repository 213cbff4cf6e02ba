"""What this process costs, as the kernel and the interpreter count it; asked when somebody looks."""

import gc
import os
import platform
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kubeproxy.runtime.metrics import Metric, Observed, Sample

_SELF: Final = Path("/proc/self")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = resource.getpagesize()
#: where a field of /proc/self/stat stands, counted after the name of the program
_USER, _SYSTEM, _START, _VIRTUAL, _RESIDENT = 11, 12, 19, 20, 21
#: what "no limit" reads as in a number of 64 bits
_UNLIMITED: Final = 2.0**64


def started_metric(stability: str = "") -> Observed:
    """When the process began, which does not change and is asked for once."""
    moment = process_started()
    text = f"{stability}Start time of the process since unix epoch in seconds."
    return Observed("process_start_time_seconds", text, "gauge", lambda: moment)


def process_started() -> float:
    """Seconds since 1970, in the resolution of the kernel's ticks."""
    boot = next(
        int(line.split()[1])
        for line in Path("/proc/stat").read_text().splitlines()
        if line.startswith("btime ")
    )
    return boot + _stat()[_START] / _TICKS


def process_metrics() -> list[Metric]:
    rows: tuple[tuple[str, str, str, Callable[[], float | None]], ...] = (
        ("cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.", _cpu),
        ("max_fds", "gauge", "Maximum number of open file descriptors.", _most_descriptors),
        (
            "network_receive_bytes_total",
            "counter",
            "Number of bytes received by the process over the network.",
            lambda: _octets("InOctets"),
        ),
        (
            "network_transmit_bytes_total",
            "counter",
            "Number of bytes sent by the process over the network.",
            lambda: _octets("OutOctets"),
        ),
        ("open_fds", "gauge", "Number of open file descriptors.", _descriptors),
        ("resident_memory_bytes", "gauge", "Resident memory size in bytes.", _resident),
        ("virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", lambda: float(_stat()[_VIRTUAL])),
        (
            "virtual_memory_max_bytes",
            "gauge",
            "Maximum amount of virtual memory available in bytes.",
            _most_memory,
        ),
    )
    metrics: list[Metric] = [Observed(f"process_{name}", text, kind, ask) for name, kind, text, ask in rows]
    return [*metrics, started_metric(), *_interpreter()]


def _interpreter() -> list[Metric]:
    version = sys.version_info
    about = {
        "implementation": platform.python_implementation(),
        "major": str(version.major),
        "minor": str(version.minor),
        "patchlevel": str(version.micro),
        "version": platform.python_version(),
    }
    collector = (
        ("collected", "objects_collected_total", "Objects collected during gc"),
        ("uncollectable", "objects_uncollectable_total", "Uncollectable objects found during GC"),
        ("collections", "collections_total", "Number of times this generation was collected"),
    )
    counts = [Generations(f"python_gc_{name}", text, key) for key, name, text in collector]
    return [Constant("python_info", "Python platform information", (about,)), *counts]


class Constant(Metric):
    """Numbers that hold from the start to the end, a line for each set of labels; 1 unless told."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: tuple[dict[str, str], ...],
        *,
        kind: str = "gauge",
        value: float = 1,
    ) -> None:
        super().__init__(name, text)
        self.kind = kind
        self._samples = [Sample("", tuple(sorted(one.items())), value) for one in labels]

    def samples(self) -> Iterator[Sample]:
        return iter(self._samples)


class Generations(Metric):
    """What the garbage collector counts, by generation."""

    kind = "counter"

    def __init__(self, name: str, text: str, key: str) -> None:
        super().__init__(name, text)
        self._key = key

    def samples(self) -> Iterator[Sample]:
        for generation, counts in enumerate(gc.get_stats()):
            yield Sample("", (("generation", str(generation)),), float(counts[self._key]))


def _stat() -> list[int]:
    # The name of the program stands in brackets and may hold anything.
    fields = (_SELF / "stat").read_text().rpartition(")")[2].split()
    return [int(field) if field.lstrip("-").isdigit() else 0 for field in fields]


def _cpu() -> float:
    stat = _stat()
    return (stat[_USER] + stat[_SYSTEM]) / _TICKS


def _resident() -> float:
    return float(_stat()[_RESIDENT] * _PAGE)


def _descriptors() -> float:
    return float(sum(1 for _ in (_SELF / "fd").iterdir()) - 1)


def _most_descriptors() -> float:
    return _limit(resource.RLIMIT_NOFILE)


def _most_memory() -> float:
    return _limit(resource.RLIMIT_AS)


def _limit(which: int) -> float:
    soft = resource.getrlimit(which)[0]
    return _UNLIMITED if soft == resource.RLIM_INFINITY else float(soft)


def _octets(name: str) -> float | None:
    """All that IP counted in our network namespace: a process has no count of its own."""
    lines = [line.split() for line in (_SELF / "net" / "netstat").read_text().splitlines()]
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        if names[0] == "IpExt:" and name in names:
            return float(values[names.index(name)])
    return None
