"""The real kernel answers as tests/kernel/refused.py says, and holds afterwards what the one in memory holds."""

from collections.abc import Iterable

import pytest

from kubeproxy.kernel.hands import TABLES, Hands
from kubeproxy.kernel.memory import Memory
from kubeproxy.kernel.processes import Flavour, Programs
from tests.kernel.refused import CASES, IPV6, agrees, answer, prepare
from tests.lab.netns import namespace


def said(lines: Iterable[bytes]) -> list[bytes]:
    """A dump without its remarks, which name the version and the time."""
    return [line for line in lines if not line.startswith(b"#")]


@pytest.fixture(params=list(Flavour))
def flavour(request):
    return request.param


@pytest.fixture
def real(flavour):
    with namespace() as ns, ns.enter():
        yield Hands(Programs(flavour, f"-{flavour}"))


@pytest.mark.parametrize("case", [*CASES, IPV6], ids=lambda case: case.name)
def test_real_and_in_memory_say_and_hold_the_same(case, flavour, real):
    memory = Memory(flavour)
    prepare(real)
    prepare(memory)
    ipv6 = case is IPV6
    found = answer(real, case.payload, ipv6=ipv6)
    assert agrees(found, case.said(flavour)), found
    answer(memory, case.payload, ipv6=ipv6)
    assert said(real.programs.save(ipv6, TABLES)) == said(memory.save(ipv6, TABLES))
