"""Every benchmark, one after the other: `python -m benchmarks [NAME ...]`.

Each runs in a process of its own, so that none is measured with another's memory. SIZE=1000 leaves out what
is larger; CHECK=1 makes a broken bound a failure.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from benchmarks.figures import scene

#: what runs only when it is named: this file, the maker of clusters, and what takes too long
ASIDE = frozenset({"__main__", "cluster", "churn"})


def names() -> list[str]:
    files = [path for path in Path(__file__).parent.glob("*.py") if "def main(" in path.read_text()]
    return sorted(path.stem for path in files if path.stem not in ASIDE)


def run(name: str) -> int:
    """One benchmark's exit code; where we may, it goes before everything else this machine does.

    The kernel shares processors out among sessions first, so it gets one of its own.
    """
    child = subprocess.Popen([sys.executable, "-m", f"benchmarks.{name}"], start_new_session=True)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, child.pid, -20)
        Path(f"/proc/{child.pid}/autogroup").write_text("-20")
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        child.wait()
        raise


def main() -> int:
    print(f"{scene()}\n", flush=True)
    return max(abs(run(name)) for name in sys.argv[1:] or names())


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
