"""Every benchmark, one after the other: `python -m benchmarks [NAME ...]`.

Each runs in a process of its own, so that none is measured with another's memory. SIZE=1000 leaves out what
is larger; CHECK=1 makes a broken bound a failure.
"""

import subprocess
import sys
from pathlib import Path

from benchmarks.figures import scene

#: what runs by itself but measures nothing: this file, and the maker of clusters
ASIDE = frozenset({"__main__", "cluster"})


def names() -> list[str]:
    files = [path for path in Path(__file__).parent.glob("*.py") if "def main(" in path.read_text()]
    return sorted(path.stem for path in files if path.stem not in ASIDE)


def main() -> int:
    print(f"{scene()}\n", flush=True)
    worst = 0
    for name in sys.argv[1:] or names():
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
