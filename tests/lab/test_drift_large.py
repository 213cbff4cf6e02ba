"""A thousand Services flushed at once: all of them are back within two seconds."""

import time
from pathlib import Path

import pytest

from tests.lab.daemon import Daemon, until
from tests.lab.foreign import saved
from tests.lab.test_drift import FLAVOURS, FLUSH_TABLE, act, node, processor_seconds, sorted_jumps

SECONDS = 2.0


def size() -> int:
    """The root of a user namespace may not send as much in one message as a portion of a large load needs."""
    whole = Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
    return 1000 if whole else 30


def repaired(running: Daemon) -> int:
    return sum("Repaired what somebody changed" in line for line in list(running.lines))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_flushed_table_of_a_large_cluster_is_whole_within_two_seconds(tmp_path, flavour):
    """Three tries, as others may use this machine too; what counts is the time from the end of the flush.

    Where no try is quick enough, the processor time of one decides: it is what the repair takes on a quiet
    machine, together with the half second until it begins.
    """
    count = size()
    tries = []
    with node(tmp_path, flavour, count, 10) as (ns, running):
        before = sorted_jumps(saved(ns, flavour)).ours
        for number in range(1, 4):
            used = processor_seconds(running)
            act(ns, flavour, FLUSH_TABLE)
            flushed = time.monotonic()
            # Its metrics are not asked for meanwhile: answering takes processor time as well.
            until(lambda n=number: repaired(running) >= n, f"repaired:\n{running.log}")
            tries.append((time.monotonic() - flushed, processor_seconds(running) - used))
            assert sorted_jumps(saved(ns, flavour)).ours == before, running.log
            if tries[-1][0] <= SECONDS:
                break
        print(f"{flavour}, {count} Services:", *(f"{wall:.2f} s ({cpu:.2f} CPU)" for wall, cpu in tries))
        assert min(wall for wall, _ in tries) <= SECONDS or min(cpu for _, cpu in tries) + 0.5 <= SECONDS, (
            tries
        )
