"""Killed at any moment of a load, locked out in the middle, watched from outside: real packets notice nothing."""

import fcntl
import time
from random import Random

import pytest

from kubeproxy.cli.stage.questions import Dial, Fate
from kubeproxy.kernel.processes import Flavour
from tests.lab.faulted import STREAMS, VIP, Node, changed, faulted, grown, shops

SERVICES = 150
TRACKED = """
table inet others {
  chain forward { type filter hook forward priority 0; ct state established accept; }
}
"""


def live(node: Node) -> None:
    node.converges()
    node.streams_live()


def die(node: Node, rng: Random) -> None:
    """Started, and killed somewhere between reading the manifests and the last rule."""
    node.start()
    time.sleep(rng.uniform(0.3, 1.2))
    node.kill()


def rounds(folder, flavour: Flavour, seed: int, count: int) -> None:
    rng = Random(seed)
    print(f"seed {seed}")
    with faulted(flavour, folder) as node:
        node.write(shops(SERVICES))
        for _ in range(count):
            die(node, rng)
        node.start()
        node.open_streams()
        live(node)
        for _ in range(count):
            node.kill()
            node.write(changed(shops(SERVICES), *(grown(rng.randrange(SERVICES)) for _ in range(SERVICES))))
            die(node, rng)
            node.start()
            live(node)


@pytest.mark.parametrize("flavour", list(Flavour))
def test_killed_at_random_moments_it_ends_as_a_fresh_one(tmp_path, flavour):
    rounds(tmp_path, flavour, 20263, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("flavour", list(Flavour))
def test_killed_at_many_more_moments(tmp_path, flavour, seed):
    rounds(tmp_path, flavour, seed, 10)


def test_it_waits_for_the_lock_and_tries_again_when_that_takes_too_long(tmp_path):
    """Legacy tables have one lock for everybody who writes; nft tables have none."""
    with faulted(Flavour.LEGACY, tmp_path) as node, (tmp_path / "lock").open() as lock:
        node.write(shops())
        node.start()
        node.open_streams()
        live(node)
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = node.dump()
        node.write(changed(shops(), grown(3, 0), grown(4)))
        node.said("holding the xtables lock")
        assert node.dump() == before
        fcntl.flock(lock, fcntl.LOCK_UN)
        live(node)


@pytest.mark.parametrize("flavour", list(Flavour))
def test_during_a_load_a_service_is_as_nobody_programmed_it_or_whole(tmp_path, flavour):
    """Who is not served by this node passes it and meets somebody else; nobody is refused or left without answer."""
    with faulted(flavour, tmp_path) as node:
        # A connection that nobody tracks is taken for a new one when tracking begins in the middle of it.
        node.stage.run("node-a", ["nft", "-f", "-"], given=TRACKED)
        node.write(shops(SERVICES))
        node.start()
        watch(node)
        node.stage.run("node-a", [f"iptables-{flavour}", "-t", "nat", "-F"])
        watch(node)


def watch(node: Node) -> None:
    """Somebody dials all the time until the Service answers, and a while longer.

    It is a pod, because all it gets comes back through its node: half a conversation would be invalid there.
    """
    dials = [STREAMS["a pod"], Dial("caller", VIP, 80)]
    heard: list[list[str]] = [[], []]
    served = 0
    while served < 50:
        for answers, answer in zip(heard, node.stage.dial(dials), strict=True):
            assert answer.outcome is Fate.ARRIVED, (answer, answers)
            answers.append(answer.name)
        served += all(answers[-1] == "here" for answers in heard)
    for answers in heard:
        assert answers == sorted(answers, reverse=True), answers
        assert set(answers) == {"world", "here"}
