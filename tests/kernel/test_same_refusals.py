"""The kernel in memory answers as the table says; tests/lab holds the real one to the same table."""

import pytest

from kubeproxy.kernel.hands import TABLES
from kubeproxy.kernel.memory import Memory
from kubeproxy.kernel.processes import Flavour
from tests.kernel.refused import ACCEPTED, CASES, REFUSED, agrees, answer, nat, prepare


def dump(kernel: Memory) -> list[bytes]:
    return list(kernel.save(False, TABLES))


@pytest.fixture(params=list(Flavour))
def kernel(request) -> Memory:
    memory = Memory(request.param)
    memory.flavour = request.param
    prepare(memory)
    return memory


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_answers_as_the_real_one(case, kernel):
    found = answer(kernel, case.payload)
    assert agrees(found, case.said(kernel.flavour)), found


@pytest.mark.parametrize("case", REFUSED[:-1], ids=lambda case: case.name)
def test_what_is_refused_leaves_nothing_behind(case, kernel):
    """A table is taken as a whole or not at all."""
    before = dump(kernel)
    if answer(kernel, case.payload) is not None:
        assert dump(kernel) == before


def test_a_table_that_was_committed_stays_when_the_next_is_refused(kernel):
    answer(kernel, REFUSED[-1].payload)
    assert kernel.chain_exists("filter", "KUBE-NEW", ipv6=False)
    assert not kernel.chain_exists("nat", "KUBE-NEW", ipv6=False)


def test_families_do_not_see_each_other(kernel):
    assert answer(kernel, nat(":KUBE-SIX - [0:0]"), ipv6=True) is None
    assert kernel.chain_exists("nat", "KUBE-SIX", ipv6=True)
    assert not kernel.chain_exists("nat", "KUBE-SIX", ipv6=False)


def test_the_table_has_both_kinds():
    """A table in which everything passes would prove nothing."""
    assert all(case.nft is None and case.legacy is None for case in ACCEPTED)
    assert all(case.legacy is not None for case in REFUSED)
