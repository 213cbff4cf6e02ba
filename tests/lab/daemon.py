"""The real daemon in a namespace of its own, for tests: started, waited for, asked, stopped."""

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.lab.netns import Namespace

PATIENCE = 60.0

CONFIG = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
hostnameOverride: node-a
clusterCIDR: 10.77.0.0/16,fd00:10:77::/48
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
iptables: {minSyncPeriod: 1ms}
"""


def until(true: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Ask again and again until the answer is yes; the answer."""
    deadline = time.monotonic() + patience
    while not (answer := true()):
        assert time.monotonic() < deadline, f"still not {what} after {patience:.0f} s"
        time.sleep(0.005)
    return answer


class Daemon:
    """One run of it."""

    def __init__(self, ns: Namespace, child: subprocess.Popen[str]) -> None:
        self.ns, self.child = ns, child
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.child.stderr is not None
        for line in self.child.stderr:
            self.lines.append(line.rstrip("\n"))

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    def said(self, text: str, patience: float = PATIENCE) -> str:
        """The first line with this text, waited for."""

        def look() -> str | None:
            assert self.child.poll() is None or any(text in line for line in self.lines), self.log
            return next((line for line in list(self.lines) if text in line), None)

        return str(until(look, f"said {text!r}:\n{self.log}", patience))

    def ask(self, port: int, path: str, host: str = "127.0.0.1") -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a page."""
        with self.ns.enter():
            connection = http.client.HTTPConnection(host, port, timeout=10)
            connection.connect()
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def metrics(self) -> dict[str, float]:
        lines = self.ask(10249, "/metrics")[2].decode().splitlines()
        return {
            name: float(value)
            for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
        }

    def syncs(self) -> dict[str, float]:
        """How often each family has synced, whatever came of it."""
        try:
            found = self.metrics()
        except OSError:
            assert self.child.poll() is None, self.log
            return {}
        name = "kubeproxy_sync_proxy_rules_last_timestamp_seconds"
        return {key: value for key, value in found.items() if key.startswith(name)}

    def wait_synced(self, families: int = 2) -> None:
        """Until every family has synced successfully at least once."""
        until(lambda: len(self.syncs()) == families, f"synced:\n{self.log}")

    def listens(self, host: str, port: int) -> bool:
        with self.ns.enter():
            sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        with sock:
            sock.settimeout(5)
            return sock.connect_ex((host, port)) == 0

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.child.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Its exit code; from now on the log is whole."""
        status = self.child.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return status


def command(*words: str) -> list[str]:
    """The program under test, as `kube-proxy` would be called."""
    return [sys.executable, "-m", "kubeproxy.cli.main", *words]


@contextlib.contextmanager
def daemon(
    ns: Namespace, manifests: Path, config: str = CONFIG, *words: str, folder: Path | None = None
) -> Iterator[Daemon]:
    """A daemon that runs until the block is left."""
    path = (folder or manifests.parent) / "config.yaml"
    path.write_text(config)
    argv = command("--manifests", str(manifests), "--config", str(path), *words)
    child = ns.popen(argv, stderr=subprocess.PIPE, text=True)
    running = Daemon(ns, child)
    try:
        yield running
    finally:
        if child.poll() is None:
            running.stop(signal.SIGKILL)


def saved(ns: Namespace, program: str = "iptables", tables: Sequence[str] = ()) -> str:
    """What iptables-save prints, without the comment lines."""
    options = [word for table in tables for word in ("-t", table)]
    lines = ns.run([f"{program}-save", *options]).stdout.splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")) + "\n"


def write_json(path: Path, *objects: Any) -> None:
    """Manifests as a file that appears whole."""
    text = "\n---\n".join(json.dumps(one) for one in objects)
    fresh = path.with_suffix(".tmp")
    fresh.write_text(text)
    fresh.rename(path)
