"""The daemon under measurement, from outside: when it has synced, what it used, and what it holds."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from benchmarks.cluster import NODE
from tests.lab.netns import Namespace, namespace

PROGRAM = Path(__file__).parent.parent / ".venv" / "bin" / "kube-proxy"
PATIENCE = 180.0
CONFIG = f"""\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
hostnameOverride: {NODE}
clusterCIDR: 10.244.0.0/16
conntrack: {{maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}}
iptables: {{minSyncPeriod: 1ms}}
"""

_SYNCED = '"Synced the rules"'
_TICK = os.sysconf("SC_CLK_TCK")


class Said(Struct, frozen=True):
    """A line of its log, and the seconds after which it came."""

    at: float
    line: str


class Measured:
    """One run of it. Time is counted from the moment it is started."""

    def __init__(self, ns: Namespace, arguments: list[str]) -> None:
        # Bytecode is kept as it is wherever this is installed; only the first start of all has to make it.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        self.started = time.monotonic()
        self.child = ns.popen(
            [str(PROGRAM), *arguments, "-v=2"], stderr=subprocess.PIPE, text=True, env=environment
        )
        self._said: list[Said] = []
        self._more = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.child.stderr is not None
        for line in self.child.stderr:
            with self._more:
                self._said.append(Said(time.monotonic() - self.started, line.rstrip()))
                self._more.notify_all()

    @property
    def log(self) -> str:
        return "\n".join(said.line for said in self._said)

    def synced(self, count: int, *, complete: bool) -> list[Said]:
        """The first lines of so many syncs, waited for: complete ones, or those of changes."""
        deadline = time.monotonic() + PATIENCE
        with self._more:
            while len(found := self._syncs(complete)) < count:
                status = self.child.poll()
                if status is not None or time.monotonic() > deadline:
                    which = "complete ones" if complete else "of changes, unless two came together"
                    words = f"no {count} syncs, {which}; exit status {status}"
                    raise RuntimeError(f"{words}\n{self.log[-4000:]}")
                self._more.wait(0.5)
            return found[:count]

    def count(self, *, complete: bool) -> int:
        with self._more:
            return len(self._syncs(complete))

    def _syncs(self, complete: bool) -> list[Said]:
        wanted = f"complete={str(complete).lower()}"
        return [said for said in self._said if _SYNCED in said.line and wanted in said.line]

    def cpu(self) -> float:
        """Seconds so far, of all its threads and of the programs it ran and has waited for."""
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICK

    def idle(self, seconds: float = 4.0) -> float:
        """Seconds of CPU per second in which nothing happens."""
        before = self._threads()
        time.sleep(seconds)
        return (self._threads() - before) / seconds

    def _threads(self) -> float:
        """Like `cpu`, without the programs, but exactly."""
        tasks = Path(f"/proc/{self.child.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def resident(self) -> float:
        """Megabytes."""
        lines = Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def quiet(self, seconds: float = 0.3) -> None:
        """Wait until it has come to rest for so long: what follows a sync is not in the log."""
        before = -1.0
        while (now := self.cpu()) - before > max(0.015, 0.01 * seconds):
            before = now
            time.sleep(seconds)

    def stop(self) -> None:
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(30)


@contextlib.contextmanager
def fresh(flavour: str) -> Iterator[Namespace]:
    """A namespace in which the kubelet, as it were, has chosen the flavour."""
    with namespace(f"bench-{flavour}") as ns:
        ns.run([f"iptables-{flavour}", "-t", "mangle", "-N", "KUBE-IPTABLES-HINT"])
        try:
            yield ns
        finally:
            # Much quicker than leaving it to the kernel, which would do it while the next one is measured.
            ns.run(["nft", "flush", "ruleset"], check=False)


@contextlib.contextmanager
def measured(ns: Namespace, home: Path, source: str, settings: str = CONFIG) -> Iterator[Measured]:
    """The daemon in a namespace, until the block is left."""
    config = home / "config.yaml"
    config.write_text(settings)
    running = Measured(ns, [source, f"--config={config}"])
    try:
        yield running
    finally:
        if running.child.poll() is None:
            running.stop()
