"""Figures as a table: ours, the floor of the same run, the original's, and what is demanded of ours."""

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable

from msgspec import Struct

_WIDTH = 50


class Figure(Struct, frozen=True):
    """One measurement. `at_most` bounds it, or where `above_floor` is set what it is more than the floor."""

    what: str
    ours: float
    unit: str
    floor: float | None = None
    #: the original's, in the same unit
    stock: float | None = None
    at_most: float | None = None
    above_floor: bool = False

    @property
    def judged(self) -> float:
        return self.ours - (self.floor or 0.0) if self.above_floor else self.ours

    @property
    def kept(self) -> bool:
        return self.at_most is None or self.judged <= self.at_most

    def __str__(self) -> str:
        bound, verdict = "", ""
        if self.at_most is not None:
            bound = f"{'floor + ' if self.above_floor else ''}{_plain(self.at_most)}"
            verdict = "PASS" if self.kept else "FAIL"
        cells = (_plain(self.ours), _plain(self.floor), _plain(self.stock), bound, verdict)
        return _row(f"{self.what}, {self.unit}", *cells)


def _plain(value: float | None) -> str:
    """Three figures that mean something; more would only be noise."""
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")


def _row(what: str, ours: str, floor: str, stock: str, bound: str, verdict: str) -> str:
    return f"{what:{_WIDTH}} {ours:>8} {floor:>8} {stock:>8}   {bound:12} {verdict}".rstrip()


def tell(title: str, figures: Iterable[Figure]) -> int:
    """Print each figure as it comes; the exit code: 1 where something could not be measured.

    A bound that is broken is worth that only where CHECK asks for it: the machine may do other things too.
    """
    print(_row(title, "ours", "floor", "stock", "at most", ""), flush=True)
    broken = 0
    try:
        for figure in figures:
            broken += not figure.kept
            print(figure, flush=True)
    except (OSError, AssertionError, RuntimeError) as error:
        print(f"could not be measured: {error}\n", flush=True)
        return 1
    print(flush=True)
    return int(broken > 0 and os.environ.get("CHECK", "") not in ("", "0"))


def scene() -> str:
    """What the figures depend on, besides our code."""
    programs = [name for name in ("iptables-nft", "iptables-legacy") if shutil.which(name)]
    said = [subprocess.check_output([name, "--version"], text=True) for name in programs]
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    things = (
        time.strftime("%Y-%m-%d %H:%M"),
        f"{os.cpu_count()} cores with load {load}",
        f"kernel {platform.release()}",
        f"Python {platform.python_version()}",
        *(line.strip() for line in said),
    )
    return ", ".join(things)


def size_wanted(default: int = 5000) -> int:
    """SIZE of the environment: the largest cluster to measure with."""
    text = os.environ.get("SIZE", "") or str(default)
    if not text.isdigit():
        sys.exit(f"SIZE={text}: write a number of Services, such as 1000")
    return int(text)
