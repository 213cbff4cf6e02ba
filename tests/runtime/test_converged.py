"""A thousand changes, one by one, leave in a kernel in memory what a fresh start with the end of the story leaves."""

from contextlib import nullcontext

import pytest

from kubeproxy.kernel.memory import Memory
from kubeproxy.kernel.processes import Flavour
from tests.runtime.convergence import converges, survives

#: a portion of two Services, so that even this little cluster is loaded in portions
CASES = [(Flavour.NFT, 2), (Flavour.LEGACY, None)]


@pytest.mark.parametrize(("flavour", "portion"), CASES)
def test_a_thousand_changes_leave_what_a_fresh_start_leaves(flavour, portion):
    assert converges(20261, 1000, lambda: nullcontext(Memory(flavour)), portion=portion) > 1000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("flavour", "portion"), CASES)
def test_other_stories_end_the_same(flavour, portion, seed):
    assert converges(seed, 1000, lambda: nullcontext(Memory(flavour)), portion=portion) > 1000


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("portion", [2, None])
def test_a_kernel_that_fails_in_every_way_ends_the_same(seed, portion):
    """Refused, busy, killed before, in the middle and afterwards; Services refused by name; rules taken by others."""
    assert survives(seed, 500, portion=portion) > 200


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 40))
@pytest.mark.parametrize("portion", [2, None])
def test_other_ways_to_fail_end_the_same(seed, portion):
    assert survives(seed, 500, portion=portion) > 200
