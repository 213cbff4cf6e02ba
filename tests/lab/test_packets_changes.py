"""What happens to packets and open connections while the cluster changes, and while the proxy is away."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from kubeproxy.cli.stage.questions import Answer, Dial, Fate
from tests.lab.cluster import (
    FAMILIES,
    HERE,
    HERE_TOO,
    LAYOUT,
    READY,
    THERE,
    Pod,
    endpoint,
    endpoint_slice,
    nodes,
    service,
)
from tests.lab.proxied import SILENCE, Proxied, proxied

ADDRESSES = {"IPv4": "10.96.4.1", "IPv6": "fd00:10:96::401"}
NODE = {"IPv4": "192.168.50.11", "IPv6": "fd00:50::11"}
NODE_PORT = 30700
BOTH = (HERE, THERE)


def manifests(*pods: Pod) -> list[dict[str, Any]]:
    """One Service, served by these pods."""
    slices = [endpoint_slice("web", f, [endpoint(pod, f, READY) for pod in pods]) for f in FAMILIES]
    return [*nodes(), service("web", list(ADDRESSES.values()), NODE_PORT, type="NodePort"), *slices]


def dial(family: str, protocol: str = "TCP", room: str = "caller") -> Dial:
    return Dial(room, ADDRESSES[family], 80, protocol)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    ready = [Dial("caller", address, NODE_PORT) for address in NODE.values()]
    with proxied(tmp_path_factory.mktemp("changes") / "files", LAYOUT, manifests(*BOTH), ready) as there:
        yield there


@pytest.fixture
def lab(shared: Proxied) -> Proxied:
    """Both pods serve at the start of each test."""
    shared.write(manifests(*BOTH))
    for family in FAMILIES:
        for pod in BOTH:
            shared.stage.until(dial(family), name=pod.name)
    return shared


@pytest.mark.parametrize("family", FAMILIES)
def test_a_connection_outlives_its_endpoints_place_in_the_service(lab: Proxied, family: str) -> None:
    """Who is told to leave may finish; new clients go elsewhere."""
    stream = f"long-{family}"
    lab.stage.open_stream(stream, dial(family))
    server = lab.stage.alive("caller", stream).split()[0]
    other = next(pod for pod in BOTH if pod.name != server)
    farewell = lab.stage.farewell(dial(family), server, lambda: lab.write(manifests(other)))
    assert farewell.gone
    assert set(farewell.afterwards) == {other.name}
    assert lab.stage.alive("caller", stream).startswith(f"{server} at ")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_flow_of_datagrams_moves_on_with_the_service(lab: Proxied, family: str) -> None:
    """UDP has no end: the kernel would send a client's datagrams to the pod that left for ever."""
    flow = replace(dial(family, "UDP"), source_port=34567, timeout=SILENCE)
    [first] = lab.stage.dial([flow])
    assert lab.stage.tally(flow, 50).answered == {first.at: 50}
    other = next(pod for pod in BOTH if pod.name != first.name)
    lab.write(manifests(other))
    assert lab.stage.until(flow, name=other.name).outcome is Fate.ARRIVED
    assert len(lab.stage.tally(flow, 50).answered) == 1


@pytest.mark.parametrize("protocol", ["TCP", "UDP", "SCTP"])
@pytest.mark.parametrize("family", FAMILIES)
def test_without_pods_clients_are_refused_and_with_one_they_are_served(
    lab: Proxied, family: str, protocol: str
) -> None:
    """From both sides of the node, and back again."""
    inside = dial(family, protocol)
    outside = Dial("client", NODE[family], NODE_PORT, protocol)
    lab.write(manifests())
    for one in (inside, outside):
        lab.stage.until(one, Fate.REFUSED)
    lab.write(manifests(HERE_TOO))
    for one in (inside, outside):
        lab.stage.until(one, name=HERE_TOO.name)


def test_a_killed_proxy_is_missed_by_nobody(lab: Proxied) -> None:
    """kill -9, packets go on; the next one finds everything in place and interrupts nothing."""
    lab.stage.open_stream("killed", dial("IPv4"))
    lab.daemon.send_signal(signal.SIGKILL)
    assert lab.stage.stop(lab.daemon) == -signal.SIGKILL
    assert arrived(lab.stage.dial([dial(family) for family in FAMILIES] * 20))
    lab.daemon = lab.start()
    assert arrived(lab.stage.dial([dial(family) for family in FAMILIES] * 20))
    assert lab.stage.alive("caller", "killed")
    lab.write(manifests(HERE_TOO))
    lab.stage.until(dial("IPv4"), name=HERE_TOO.name)


def arrived(answers: list[Answer]) -> bool:
    """Whether all of them did."""
    return {answer.outcome for answer in answers} == {Fate.ARRIVED}
