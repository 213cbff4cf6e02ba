"""Among a thousand Services a change costs one: one decision, one Fragment, and only its own chains are sent."""

from collections.abc import Iterator

import pytest

from kubeproxy.backends.iptables import backend
from kubeproxy.backends.iptables.names import endpoint_hashes, port_hash
from kubeproxy.model.identity import Family, PortName, Protocol
from kubeproxy.routes import decide
from tests.runtime.faults import Faulty
from tests.runtime.rig import Rig
from tests.runtime.shops import closed, pods, shop

#: of a thousand, as many have endpoints as a cluster can have that is not a large one
SERVED = 450


class Spied:
    """A node with many Services, and whose names are worked on from now on."""

    def __init__(self, rig: Rig, kernel: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rig, self.kernel = rig, kernel
        self.decided: list[str] = []
        self.compiled: list[str] = []
        decide_port, fragment_of = decide.decide_port, backend.fragment_of

        def deciding(port, *rest):
            self.decided.append(str(port.name))
            return decide_port(port, *rest)

        def compiling(routes, *rest, **named):
            self.compiled.append(str(routes.name))
            return fragment_of(routes, *rest, **named)

        monkeypatch.setattr(decide, "decide_port", deciding)
        monkeypatch.setattr(backend, "fragment_of", compiling)
        monkeypatch.setattr(kernel, "read", None)

    def sent(self, *changes) -> list[str]:
        """The lines that go to the kernel for it."""
        self.decided, self.compiled, self.kernel.given = [], [], []
        assert all(report.ok for report in self.rig.hear(*changes).values())
        return [line for text in self.kernel.given for line in text.splitlines()]


@pytest.fixture(scope="module")
def loaded() -> Iterator[tuple[Rig, Faulty]]:
    kernel = Faulty()
    with Rig(kernel, portion=100) as rig:
        rig.hear(*(shop(n) for n in range(1000)), *(pods(n) for n in range(SERVED)))
        yield rig, kernel


@pytest.fixture
def spied(loaded, monkeypatch) -> Spied:
    return Spied(*loaded, monkeypatch)


def chains(number: int, *addresses: str) -> set[str]:
    """A Service's chain, and those of these endpoints."""
    name = PortName("shop", f"s{number}", "", Protocol.TCP, Family.IPV4)
    return {
        f"KUBE-SVC-{port_hash(name)}",
        *(f"KUBE-SEP-{letters}" for letters in endpoint_hashes(name, list(addresses))),
    }


def declared(lines: list[str]) -> set[str]:
    return {line.split()[0][1:] for line in lines if line.startswith(":")}


def test_one_changed_slice_is_one_fragment_and_its_chains(spied):
    """The chain that chooses, and the one of the endpoint that came: the other endpoints' stay as they are."""
    lines = spied.sent(pods(77, 3))
    assert (spied.decided, spied.compiled) == (["shop/s77"], ["shop/s77"])
    assert declared(lines) == chains(77, "10.77.77.3:8080")
    assert {line.split()[1] for line in lines if line.startswith("-")} == chains(77, "10.77.77.3:8080")
    assert len(lines) == len(["*nat", "COMMIT"]) + 2 + 4 + 2

    lines = spied.sent(pods(77, 2))
    assert (spied.decided, spied.compiled) == (["shop/s77"], ["shop/s77"])
    assert declared(lines) == chains(77, "10.77.77.3:8080")
    assert [line for line in lines if line.startswith("-X")] == [
        f"-X {(chains(77, '10.77.77.3:8080') - chains(77)).pop()}"
    ]


def test_a_slice_that_changes_nothing_for_packets_sends_nothing(spied):
    assert spied.sent(pods(78, 2)) == []
    assert (spied.decided, spied.compiled) == ([], [])


def test_a_new_service_is_one_fragment_and_the_chain_that_leads_to_it(spied):
    addresses = ("10.77.0.1:8080", "10.77.0.2:8080")
    lines = spied.sent(shop(1000), pods(1000))
    assert (spied.decided, spied.compiled) == (["shop/s1000"], ["shop/s1000"])
    assert declared(lines) == chains(1000, *addresses) | {"KUBE-SERVICES"}

    lines = spied.sent(*closed(1000))
    assert spied.compiled == []
    assert declared(lines) == chains(1000, *addresses) | {"KUBE-SERVICES"}


def test_a_service_whose_last_endpoint_went_changes_table_by_table(spied):
    lines = spied.sent(pods(79, 0))
    assert spied.compiled == ["shop/s79"]
    assert declared(lines) == chains(79, "10.77.79.1:8080", "10.77.79.2:8080") | {"KUBE-SERVICES"}
    assert [line for line in lines if line.startswith("*")] == ["*filter", "*nat"]
    spied.sent(pods(79, 2))
