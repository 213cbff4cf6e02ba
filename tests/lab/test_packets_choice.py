"""The choice among endpoints is fair, and a client with affinity keeps its endpoint: on real connections."""

from collections.abc import Iterator

import pytest

from kubeproxy.cli.stage.layout import DEMO, bare
from kubeproxy.cli.stage.questions import Dial, Fate
from kubeproxy.cli.stage.stage import Tally
from tests.lab import cluster
from tests.lab.cluster import CHOICES, FAMILIES, choice_address
from tests.lab.proxied import Proxied, proxied

CONNECTIONS = 5000
#: chi-square that a fair choice exceeds once in 100,000 times, by the number of endpoints
CRITICAL = {2: 19.51, 3: 23.03, 7: 33.11, 10: 39.34}
STICKY, STICKY_PORT = {"IPv4": "10.96.3.1", "IPv6": "fd00:10:96::301"}, 30500
NODE = {"IPv4": "192.168.50.11", "IPv6": "fd00:50::11"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    sticky = cluster.service(
        "sticky", list(STICKY.values()), STICKY_PORT, type="NodePort", sessionAffinity="ClientIP"
    )
    slices = [cluster.endpoint_slice("sticky", family, cluster.many(family, 10)) for family in FAMILIES]
    manifests = [*cluster.nodes(), *cluster.choices(), sticky, *slices]
    ready = [Dial("caller", NODE[family], STICKY_PORT) for family in FAMILIES]
    with proxied(tmp_path_factory.mktemp("choice") / "files", cluster.LAYOUT, manifests, ready) as there:
        yield there


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", CHOICES)
def test_every_endpoint_gets_its_share(lab: Proxied, count: int, family: str) -> None:
    """5,000 connections among 2, 3, 7 and 10 endpoints: chi-square says whether the shares are chance."""
    dial = Dial("caller", choice_address(count, family), cluster.PORT)
    tally = lab.stage.tally(dial, CONNECTIONS)
    expected = {choice.endpoint for choice in lab.oracle.story(dial).choices}
    value = chi_square(tally, count)
    print(f"\n{family}: {CONNECTIONS} connections among {count} endpoints: chi-square {value:.1f}", end="")
    assert len(expected) == count
    assert set(tally.answered) == expected
    assert value < CRITICAL[count], tally


def chi_square(tally: Tally, count: int) -> float:
    """How far the shares are from equal ones."""
    fair = CONNECTIONS / count
    return sum((seen - fair) ** 2 / fair for seen in tally.answered.values())


def test_chi_square_would_notice() -> None:
    """A choice that prefers one endpoint by a tenth does not pass."""
    unfair = Tally({"a": 2750, "b": 2250}, 0.0)
    assert chi_square(unfair, 2) > CRITICAL[2]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("room", ["caller", "client", "node-a"])
def test_a_client_keeps_its_endpoint_whichever_way_it_comes(lab: Proxied, room: str, family: str) -> None:
    """ClientIP affinity is of the Service: over the node port and over the cluster IP it is the same endpoint."""
    node_port = Dial(room, NODE[family], STICKY_PORT)
    first = lab.stage.tally(node_port, 30)
    assert len(first.answered) == 1, first
    [kept] = first.answered
    told = {choice.endpoint for choice in lab.oracle.story(node_port, remembers=kept).choices}
    assert told == {kept}
    again = lab.stage.tally(Dial(room, STICKY[family], cluster.PORT), 30)
    assert set(again.answered) == {kept}


@pytest.mark.parametrize("family", FAMILIES)
def test_clients_are_spread_although_each_is_kept(lab: Proxied, family: str) -> None:
    """Seven clients of ten endpoints would hardly all be given the same one."""
    dials = [
        Dial(room, NODE[family], STICKY_PORT) for room in ("here", "here-too", "caller", "node-a", "node-b")
    ]
    outside = [bare(a) for a in DEMO.client if (":" in a) == (family == "IPv6")]
    dials += [Dial("client", NODE[family], STICKY_PORT, source=source) for source in outside]
    answers = lab.stage.dial(dials)
    assert {answer.outcome for answer in answers} == {Fate.ARRIVED}
    assert len({answer.at for answer in answers}) > 1
