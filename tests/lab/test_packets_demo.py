"""The demo as a user runs it: it plays, it can be kept, and whatever ends it, nothing stays."""

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from kubeproxy.cli import privilege
from kubeproxy.cli.demo import FOLDER, sweep
from kubeproxy.cli.demo_proxy import KUBE_PROXY

DEMO = [*KUBE_PROXY, "demo"]
#: far longer than it takes
PATIENCE = 120


def run(*before: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Plays the demo to its end."""
    return subprocess.run(
        [*before, *DEMO],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
    )


def test_it_plays() -> None:
    """Every row as the oracle tells it, a pod that leaves, and a packet explained."""
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^(\d+) of \1 went where they should", done.stdout, re.M), done.stdout
    gone = re.search(
        r"last new connection to it was made (\d+) ms after|No new connection reached it", done.stdout
    )
    assert gone, done.stdout
    assert "loadBalancerSourceRanges" in done.stdout.partition("$ kube-proxy explain")[2]


def test_it_plays_in_a_user_namespace_or_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user becomes root of a namespace, and of nothing else; in a chroot nobody may."""
    tried = subprocess.run([*privilege.USER_NAMESPACE, "true"], capture_output=True, text=True)
    if tried.returncode == 0:
        done = run(*privilege.USER_NAMESPACE, environ={privilege.INSIDE: "1"})
        assert done.returncode == 0, done.stdout + done.stderr
        return
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(privilege.NoPrivilegeError) as refused:
        privilege.enter(DEMO)
    assert "allows no user namespaces to ordinary users" in str(refused.value)
    assert tried.stderr.strip() in str(refused.value)
    assert "sudo" in str(refused.value)


def test_without_the_privilege_it_says_what_to_do() -> None:
    """Root without CAP_SYS_ADMIN, as in a container."""
    done = run("setpriv", "--bounding-set=-sys_admin", "--")
    assert done.returncode == 1
    assert "SYS_ADMIN and NET_ADMIN" in done.stderr
    assert "Traceback" not in done.stderr


class Kept(NamedTuple):
    """A demo that stays up: its process, its folder, and what runs in it."""

    process: "subprocess.Popen[str]"
    folder: Path
    pids: list[int]

    def on(self, room: str, *argv: str) -> str:
        """Runs a command in a room, the way the demo says."""
        done = subprocess.run(
            [self.folder / "bin" / "on", room, *argv], capture_output=True, text=True, check=True
        )
        return done.stdout


@contextmanager
def kept() -> Iterator[Kept]:
    """A demo with KEEP=1 and no terminal."""
    environ = {**os.environ, "KEEP": "1"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        DEMO, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=environ
    )
    try:
        assert process.stdout
        said = []
        for line in process.stdout:
            said.append(line)
            if found := re.match(r"  (\S+)/bin/on node-a bash", line):
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
                yield Kept(process, Path(found[1]), [int(pid) for pid in children.split()])
                break
        else:
            pytest.fail("".join(said) + (process.stderr.read() if process.stderr else ""))
    finally:
        process.kill()
        process.communicate()


def alive(pid: int) -> bool:
    """Whether a process still runs; one that waits for its parent to notice has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_dead(pids: list[int]) -> bool:
    """Whether all end by themselves before long: the kernel kills them when their parent is gone."""
    deadline = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < deadline:
        os.sched_yield()
    return not any(map(alive, pids))


def test_one_can_look_around_in_a_kept_one_until_it_is_interrupted() -> None:
    """`on`, `curl` and `explain` work; Ctrl-C takes everything down."""
    with kept() as demo:
        assert len(demo.pids) > 10
        assert re.match(
            r"web-\d at 10\.244\.\d\.\d+:8080 sees ", demo.on("client", "curl", "-s", "198.51.100.10")
        )
        assert re.match(r"web-\d at ", demo.on("node-a", "curl", "-s", "10.96.10.1"))
        assert "KUBE-SVC-TCOU7JCQXEZGVUNU" in demo.on("node-a", "iptables", "-t", "nat", "-S")
        assert "10.244.1.53" in demo.on("node-a", "explain", "10.96.0.10:53/UDP")
        demo.process.send_signal(signal.SIGINT)
        assert demo.process.wait(PATIENCE) == 130
        assert not demo.folder.exists()
        assert all_dead(demo.pids)


def test_the_five_services_of_every_tutorial_are_there_under_their_known_names() -> None:
    """Whoever read a tutorial finds these chains."""
    known = (
        "NPX46M4PTMTKRN6Y",
        "TCOU7JCQXEZGVUNU",
        "ERIFXISQEP7F7OF4",
        "K7J76NXP7AUZVFGS",
        "M6VBOK5OXJCDOXDA",
    )
    with kept() as demo:
        rules = demo.on("node-a", "iptables", "-t", "nat", "-S")
        assert [name for name in known if f"-N KUBE-SVC-{name}\n" not in rules] == []


def test_what_a_killed_one_leaves_is_removed_by_the_next() -> None:
    """No process survives, and so no namespace; its folder is swept up."""
    with kept() as demo:
        demo.process.kill()
        demo.process.wait()
        assert all_dead(demo.pids)
        assert demo.folder.exists()
        assert demo.folder.name.startswith(f"{FOLDER}{demo.process.pid}.")
        sweep(Path(tempfile.gettempdir()))
        assert not demo.folder.exists()


def test_sweeping_leaves_those_that_still_run() -> None:
    """Two people may try the demo at the same time."""
    with tempfile.TemporaryDirectory() as place:
        mine, other = Path(place, f"{FOLDER}{os.getpid()}.x"), Path(place, "somebody.else")
        mine.mkdir()
        other.mkdir()
        sweep(Path(place))
        assert mine.exists()
        assert other.exists()
