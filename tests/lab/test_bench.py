"""The floor is worth something only if it is the daemon's own payloads that are given by hand."""

from pathlib import Path

import pytest

from benchmarks.cluster import churn, cluster
from benchmarks.daemon import fresh
from benchmarks.floor import Dictation, Hand
from benchmarks.proxy import GROUP, GROUPS, ROUNDS, Bench, above
from kubeproxy.wire.restore import Restore

SERVICES, ENDPOINTS = 3, 10


def texts(restores: list[Restore]) -> list[str]:
    return [b"".join(restore.payload).decode() for restore in restores]


@pytest.mark.parametrize("flavour", ["nft", "legacy"])
def test_a_change_is_dictated_as_the_daemon_would_write_it(flavour: str) -> None:
    with fresh(flavour) as ns:
        hand = Hand(ns)
        dictation = Dictation(hand)
        first = dictation.payloads(cluster(SERVICES, ENDPOINTS))
        assert hand.give(first).cpu > 0
        (change,) = churn(SERVICES, ENDPOINTS, 1)
        (payload,) = texts(dictation.payloads([change]))
        # One chain comes, one goes, and the Service chooses anew.
        assert payload.count("\n:KUBE-SEP-") == 2 and payload.count("\n:KUBE-SVC-") == 1
        assert payload.count("\n-X KUBE-SEP-") == 1 and payload.count("10.142.0.0:8080") == 2
        assert ":KUBE-SERVICES " not in payload


def test_start_and_changes_are_measured(tmp_path: Path) -> None:
    """With a cluster that is hardly one; that both ways lead to the same rules is checked on the way."""
    bench = Bench("nft", SERVICES, tmp_path)
    ours, floor = bench.start()
    assert 0 < floor.wall < ours.wall and 0 < floor.cpu < ours.cpu < 10 and 10 < ours.resident < 80
    changes = bench.change(ours)
    assert (len(changes.cpus), len(changes.walls)) == (ROUNDS * GROUPS, ROUNDS * GROUPS * GROUP)
    assert all(0 < floor < 1 for _, floor in changes.cpus) and all(0 < wall < 5 for wall, _ in changes.walls)
    assert above(changes.walls)[1] > 0


def test_what_is_above_the_floor_is_compared_pair_by_pair() -> None:
    """A slow moment of the machine meets both of a pair."""
    assert above([(1.25, 1.0), (5.5, 5.0), (1.5, 1.25), (9.0, 1.0)]) == (1.5, 1.125)
