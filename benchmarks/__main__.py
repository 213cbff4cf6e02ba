"""Every benchmark, one after the other: `python -m benchmarks [NAME ...]`.

Each runs in a process of its own, so that none is measured with another's memory.
"""

import subprocess
import sys
from pathlib import Path

#: what runs by itself but measures nothing: this file, and the maker of clusters
ASIDE = frozenset({"__main__", "cluster"})


def names() -> list[str]:
    files = [path for path in Path(__file__).parent.glob("*.py") if "def main(" in path.read_text()]
    return sorted(path.stem for path in files if path.stem not in ASIDE)


def main() -> int:
    worst = 0
    for name in sys.argv[1:] or names():
        print(f"== {name}", flush=True)
        worst = max(
            worst, subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode
        )
    return worst


if __name__ == "__main__":
    sys.exit(main())
