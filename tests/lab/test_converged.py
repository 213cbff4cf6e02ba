"""However a node came to where it is, the real kernel holds what a fresh start would make."""

import pytest

from kubeproxy.kernel.processes import Flavour
from tests.lab.kernels import real_kernel
from tests.runtime.convergence import converges

#: a portion of two Services, so that even this little cluster is loaded in portions
CASES = [(Flavour.NFT, 2), (Flavour.LEGACY, None)]


@pytest.mark.parametrize(("flavour", "portion"), CASES)
def test_changes_one_by_one_leave_what_a_fresh_start_leaves(flavour, portion):
    assert converges(20262, 300, lambda: real_kernel(flavour), portion=portion) > 300


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("flavour", "portion"), CASES)
def test_a_thousand_of_other_stories(flavour, portion, seed):
    assert converges(seed, 1000, lambda: real_kernel(flavour), portion=portion) > 1000
