"""A node whose restore programs misbehave on demand, with a client outside and a pod to talk to through it.

The programs are scripts, first in the daemon's PATH; they do what files in a folder say, and else call the real
ones. The daemon can be killed at any moment, and connections stay open meanwhile.
"""

import contextlib
import functools
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any, TypeVar

import yaml

from kubeproxy.cli.demo_proxy import KUBE_PROXY
from kubeproxy.cli.stage.layout import Pod, cluster
from kubeproxy.cli.stage.questions import Dial
from kubeproxy.cli.stage.stage import Stage
from kubeproxy.kernel.hands import TABLES
from kubeproxy.kernel.processes import Flavour
from tests.lab.daemon import until, write_json
from tests.lab.netns import Namespace
from tests.lab.proxied import CONFIG
from tests.lab.shops import addresses, endpoint_slice, service

T = TypeVar("T")

HERE = Pod("here", "node-a", ("10.244.1.11", "fd00:10:244:1::11"))
CALLER = Pod("caller", "node-a", ("10.244.1.50", "fd00:10:244:1::50"))
LAYOUT = cluster((HERE, CALLER))
VIP, VIP6 = "198.51.100.10", "fd00:198::10"
STREAMS = {
    "outside": Dial("client", VIP, 80),
    "outside, IPv6": Dial("client", VIP6, 80),
    "a pod": Dial("caller", "10.96.9.9", 80),
}

#: $1... are the program's own arguments; the payload is kept, so that it can be looked at before it is sent
SCRIPT = """\
#!/bin/sh
control={control}
input="$control/payload.$$"
cat > "$input"
fate=
mv "$control/once" "$control/taken.$$" 2>/dev/null && fate=$(cat "$control/taken.$$")
echo "$fate" >> "$control/calls"
case "$fate" in
failed) echo "iptables-restore: Memory allocation problem" >&2; rm "$input"; exit 1 ;;
busy) echo "Another app is currently holding the xtables lock; still 5s" >&2; rm "$input"; exit 4 ;;
killed) rm "$input"; kill -9 $$ ;;
half) sed '/^COMMIT/q' "$input" | {real} "$@"; rm "$input"; kill -9 $$ ;;
after) {real} "$@" < "$input"; rm "$input"; kill -9 $$ ;;
slow) touch "$control/sleeps"; until [ -e "$control/go" ]; do sleep 0.02; done ;;
esac
if [ -e "$control/refuse" ] && line=$(grep -n -m 1 -F -f "$control/refuse" "$input"); then
  line=${{line%%:*}}
  # The tables before the refused one are committed by then.
  before=$(head -n "$line" "$input" | grep -n '^COMMIT' | tail -n 1 | cut -d : -f 1)
  head -n "${{before:-0}}" "$input" | {real} "$@"
  [ -e "$control/nameless" ] && line=$((line + $(tail -n +"$line" "$input" | grep -n -m 1 '^COMMIT' | cut -d : -f 1) - 1))
  rm "$input"
  echo "iptables-restore: line $line failed" >&2
  exit 1
fi
exec 3< "$input"
rm "$input"
exec {real} "$@" <&3
"""


class Node:
    """The daemon on node-a, and everything that can befall it."""

    def __init__(self, stage: Stage, folder: Path, flavour: Flavour) -> None:
        self.stage, self.folder, self.flavour = stage, folder, flavour
        self.control, self.manifests, self.log = folder / "control", folder / "manifests", folder / "log"
        for made in (self.control, self.manifests, folder / "bin"):
            made.mkdir(parents=True)
        _write_programs(folder / "bin", self.control, flavour)
        (folder / "config.yaml").write_text(yaml.safe_dump({**CONFIG, "iptables": {"minSyncPeriod": "1ms"}}))
        self.process: subprocess.Popen[str] | None = None
        self.objects: list[dict[str, Any]] = []

    def write(self, objects: Iterable[dict[str, Any]]) -> None:
        """These are the manifests from now on."""
        self.objects = list(objects)
        write_json(self.manifests / "shops.yaml", *self.objects)

    def start(self, *words: str) -> None:
        options = ["--manifests", str(self.manifests), "--config", str(self.folder / "config.yaml")]
        environ = {"PATH": f"{self.folder / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin"}
        environ["XTABLES_LOCKFILE"] = str(self.folder / "lock")
        with self.log.open("a") as log:
            argv = [*KUBE_PROXY, *options, "--proxy-mode", "iptables", "--v", "2", *words]
            self.process = self.stage.start("node-a", argv, log, environ)

    def kill(self) -> None:
        """`kill -9`: nothing is said good-bye to."""
        assert self.process
        self.stage.processes.remove(self.process)
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    def once(self, fate: str) -> None:
        """What becomes of the next restore."""
        fresh = self.control / "fresh"
        fresh.write_text(fate)
        fresh.rename(self.control / "once")

    def refuse(self, *texts: str, lines: bool = True) -> None:
        """Payloads with one of these texts are refused from now on."""
        (self.control / "nameless").unlink(missing_ok=True)
        (self.control / "refuse").unlink(missing_ok=True)
        if not lines:
            (self.control / "nameless").touch()
        if texts:
            (self.control / "refuse").write_text("\n".join(texts) + "\n")

    @property
    def calls(self) -> int:
        """How often a restore program was run."""
        path = self.control / "calls"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def count(self, text: str) -> int:
        """How many lines of the log have it."""
        return self.log.read_text().count(text) if self.log.exists() else 0

    def said(self, text: str, times: int = 1) -> str:
        """The latest line of the log with this text, once there are so many."""
        until(lambda: self.count(text) >= times, f"said {text!r} {times} times")
        return next(line for line in reversed(self.log.read_text().splitlines()) if text in line)

    def dump(self) -> list[str]:
        return dump(self.stage, self.flavour)

    def packets(self) -> dict[str, int]:
        """How many packets each rule of a Service has seen."""
        said = self.stage.run("node-a", [f"iptables-{self.flavour}-save", "-c", "-t", "nat"])
        counted = [line[1:].partition("] ") for line in said.splitlines() if "] -A KUBE-S" in line]
        return {rule: int(counts.partition(":")[0]) for counts, _, rule in counted}

    def converges(self, objects: Iterable[dict[str, Any]] | None = None, patience: float = 30.0) -> None:
        """Until the kernel holds what a node would that was started now, with these manifests or its own."""
        wanted = fresh(json.dumps(list(objects or self.objects)), self.flavour)
        try:
            until(lambda: self.dump() == wanted, "converged", patience)
        except AssertionError as error:
            found = "\n".join(unified_diff(self.dump(), wanted, "converged", "fresh", lineterm="", n=0))
            raise AssertionError(f"{error}:\n{found}\n{self.log.read_text()[-3000:]}") from None

    def inside(self, function: Callable[[], T]) -> T:
        """Its result, asked in the node's namespace."""
        with Path(f"/proc/{self.stage.pid('node-a')}/ns/net").open() as held:
            return Namespace("node-a", held.fileno()).call(function)

    def open_streams(self) -> None:
        """Connections through Services; the first ones wait until the Services answer."""
        for name, dial in STREAMS.items():
            self.stage.until(dial, name="here")
            self.stage.open_stream(name, dial)

    def streams_live(self) -> None:
        for name, dial in STREAMS.items():
            assert "here at" in self.stage.alive(dial.room, name)


@contextlib.contextmanager
def faulted(flavour: Flavour, folder: Path) -> Iterator[Node]:
    """A node with misbehaving programs, and no daemon yet."""
    with Stage(LAYOUT) as stage:
        node = Node(stage, folder, flavour)
        (folder / "lock").touch()
        yield node


def shops(count: int = 12, endpoints: int = 2) -> list[dict[str, Any]]:
    """Services nobody answers for, and one that leads to the pod, from everywhere."""
    made = [one for n in range(count) for one in (service(n), endpoint_slice(n, addresses(n, endpoints)))]
    return [*made, *_talking()]


def grown(number: int, endpoints: int = 3) -> dict[str, Any]:
    """The slice of a Service that has other endpoints now."""
    return endpoint_slice(number, addresses(number + 1000, endpoints))


def changed(objects: list[dict[str, Any]], *others: dict[str, Any]) -> list[dict[str, Any]]:
    """The same with these in place of those of their name."""
    named = {(one["kind"], one["metadata"]["name"]): one for one in (*objects, *others)}
    return list(named.values())


def _talking() -> list[dict[str, Any]]:
    offered = service(
        999,
        type="LoadBalancer",
        clusterIP="10.96.9.9",
        clusterIPs=["10.96.9.9", "fd00:10:96::99"],
        ipFamilies=["IPv4", "IPv6"],
        ipFamilyPolicy="RequireDualStack",
    )
    offered["status"] = {"loadBalancer": {"ingress": [{"ip": VIP}, {"ip": VIP6}]}}
    offered["spec"]["ports"][0]["nodePort"] = 30999
    four = endpoint_slice(999, [HERE.addresses[0]])
    six = endpoint_slice(999, [HERE.addresses[1]]) | {"addressType": "IPv6"}
    six["metadata"] = four["metadata"] | {"name": "s999-6"}
    return [offered, four, six]


def dump(stage: Stage, flavour: Flavour) -> list[str]:
    """Both families' tables as the save programs print them, without counters of packets and remarks."""
    lines = []
    for family in ("", "6"):
        for table in TABLES:
            said = stage.run("node-a", [f"ip{family}tables-{flavour}-save", "-t", table])
            lines += [line.partition(" [")[0] for line in said.splitlines() if not line.startswith("#")]
    return lines


@functools.cache
def fresh(objects: str, flavour: Flavour) -> list[str]:
    """What a node holds that was started with these manifests, and nothing went wrong."""
    with (
        tempfile.TemporaryDirectory(prefix="kube-proxy-fresh.") as folder,
        faulted(flavour, Path(folder)) as node,
    ):
        node.write(json.loads(objects))
        node.start()
        node.said("Synced the rules", times=2)
        return node.dump()


def _write_programs(folder: Path, control: Path, flavour: Flavour) -> None:
    for family in ("", "6"):
        for infix in ("", "-nft", "-legacy"):
            name = f"ip{family}tables{infix}-restore"
            real = shutil.which(name if infix else f"ip{family}tables-{flavour}-restore")
            if real is not None:
                (folder / name).write_text(SCRIPT.format(control=control, real=real))
                (folder / name).chmod(0o755)
        # Whatever `iptables` is by default on this machine, here it is this flavour.
        plain = shutil.which(f"ip{family}tables-{flavour}")
        assert plain
        (folder / f"ip{family}tables").symlink_to(plain)
