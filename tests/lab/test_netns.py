"""The namespaces other tests stand in: apart from each other, and gone afterwards."""

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.netns import connect, namespace

KILLED_RUN = """
import os, signal, subprocess
from tests.lab.netns import namespace
with namespace() as ns:
    sleeper = ns.popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(sleeper.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


SWEEPING_RUN = "from tests.lab.netns import namespace\nwith namespace(): pass"

WAITING_RUN = """
import subprocess, sys
from tests.lab.netns import namespace
with namespace() as ns:
    sleeper = ns.popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("it stands", flush=True)
    sys.stdin.read()
    print("it still stood" if sleeper.poll() is None else "it was ended", flush=True)
"""


def where() -> str:
    return str(Path("/proc/thread-self/ns/net").readlink())


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_one_does_the_other_does_not_see():
    """A rule in one namespace is not in the next, and not in the host's."""
    with namespace() as left, namespace() as right:
        left.run(["iptables", "-t", "nat", "-N", "KUBE-TEST-NETNS"])
        assert ":KUBE-TEST-NETNS" in left.run(["iptables-save", "-t", "nat"]).stdout
        assert ":KUBE-TEST-NETNS" not in right.run(["iptables-save", "-t", "nat"]).stdout


def test_connected_ones_reach_each_other():
    with namespace() as left, namespace() as right:
        connect(left, "eth0", right, "eth0")
        left.run(["ip", "addr", "add", "192.0.2.1/24", "dev", "eth0"])
        right.run(["ip", "addr", "add", "192.0.2.2/24", "dev", "eth0"])
        with right.call(listener) as server, left.call(caller, server.getsockname()):
            _, (address, _) = server.accept()
    assert address == "192.0.2.1"


def listener():
    import socket

    return socket.create_server(("192.0.2.2", 0))


def caller(where):
    import socket

    return socket.create_connection(where, timeout=5)


def test_a_thread_comes_back_where_it_was():
    here = where()
    with namespace() as ns, pytest.raises(ZeroDivisionError), ns.enter():
        assert where() != here
        raise ZeroDivisionError
    assert where() == here


def test_nothing_survives_it_not_even_a_grandchild():
    """A program that detached itself from its parent is still found by its mark."""
    with namespace() as ns:
        pid = int(ns.run(["setsid", "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"]).stdout)
        assert alive(pid)
    assert not alive(pid)


def test_a_killed_run_is_swept_by_the_next():
    """The namespace goes by itself; the process left in it goes when somebody makes the next one."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_RUN], capture_output=True, text=True, cwd=Path.cwd()
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    pid = int(killed.stdout)
    subprocess.run([sys.executable, "-c", SWEEPING_RUN], check=True)
    assert not alive(pid)


def test_a_run_in_a_container_is_left_alone():
    """From outside its processes are seen, but who started them has another number here."""
    inside = "mount -t proc proc /proc && exec " + shlex.join([sys.executable, "-c", WAITING_RUN])
    words = ["unshare", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c", inside]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as container:
        assert container.stdin and container.stdout
        assert container.stdout.readline() == "it stands\n"
        subprocess.run([sys.executable, "-c", SWEEPING_RUN], check=True)
        container.stdin.close()
        assert container.stdout.read() == "it still stood\n"
