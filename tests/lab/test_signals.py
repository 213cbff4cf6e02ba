"""Signals, also to a process 1, which has no default actions: what an operator sends is obeyed."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.lab.daemon import CONFIG, Daemon, command, daemon, saved, until
from tests.lab.netns import namespace

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture
def node():
    with namespace("node") as ns:
        yield ns


@pytest.fixture
def manifests(tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_it_dies_of_the_signal_and_leaves_the_rules(number, node, manifests):
    with daemon(node, manifests) as running:
        running.wait_synced()
        before = saved(node)
        assert running.stop(number) == -number
    assert f'"Stopping; the rules stay as they are" signal="{number.name}"' in running.log
    assert saved(node) == before
    assert ":KUBE-SERVICES" in before


def test_quit_tells_where_it_is(node, manifests):
    """For a process that seems to hang: every thread, and every task with what it waits for."""
    with daemon(node, manifests) as running:
        running.wait_synced()
        assert running.stop(signal.SIGQUIT) == 2
    assert "SIGQUIT: quit" in running.log
    assert "thread MainThread" in running.log
    for task in ("proxy", "sync IPv4", "sync IPv6", "Metrics", "Healthz"):
        assert f"\ntask {task}\n" in running.log


def test_others_are_ignored(node, manifests):
    with daemon(node, manifests) as running:
        running.wait_synced()
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            running.child.send_signal(number)
        assert running.ask(10249, "/healthz")[2] == b"ok"
        assert running.stop() == -signal.SIGTERM


def test_nohup_protects(node, manifests, tmp_path):
    """Whoever started us may have wanted a signal ignored."""
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    words = command("--manifests", str(manifests), "--config", str(config))
    running = Daemon(node, node.popen(["nohup", *words], stderr=subprocess.PIPE, text=True))
    try:
        running.wait_synced()
        running.child.send_signal(signal.SIGHUP)
        assert running.ask(10249, "/healthz")[2] == b"ok"
        assert running.stop() == -signal.SIGTERM
        assert 'signal="SIGTERM"' in running.log
    finally:
        running.child.kill()


@pytest.mark.parametrize("number", [*ENDING, signal.SIGQUIT], ids=lambda number: number.name)
def test_process_1_obeys_too(number, node, manifests, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    words = command("--manifests", str(manifests), "--config", str(config))
    parent = node.popen(
        ["unshare", "--pid", "--fork", "--kill-child", *words], stderr=subprocess.PIPE, text=True
    )
    running = Daemon(node, parent)
    try:
        running.wait_synced()
        [child] = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        os.kill(int(child), number)
        status = running.ended()
    finally:
        parent.kill()
    assert status == (2 if number is signal.SIGQUIT else 128 + number)


def test_whoever_asks_twice_does_not_want_to_wait(node, manifests):
    """A sync may wait for a lock that somebody else holds; the first signal lets it end, the second not."""
    with daemon(node, manifests) as running:
        running.wait_synced()
        running.child.send_signal(signal.SIGSTOP)
        running.child.send_signal(signal.SIGTERM)
        running.child.send_signal(signal.SIGINT)
        running.child.send_signal(signal.SIGCONT)
        until(lambda: running.child.poll() is not None, "ended")
        assert running.ended() in (-signal.SIGTERM, -signal.SIGINT)
