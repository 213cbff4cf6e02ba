"""Somebody flushes under the running daemon: afterwards the node is as a fresh one, and connections live on."""

from collections.abc import Iterator

import pytest

from kubeproxy.kernel.processes import Flavour
from tests.lab.faulted import Node, faulted, shops
from tests.lab.test_drift import DELETED_CHAIN, EMPTY

REPAIRED = "Repaired what somebody changed"
EMPTIED_CHAINS = "*nat\n:KUBE-MARK-MASQ - [0:0]\nCOMMIT\n*filter\n:KUBE-FORWARD - [0:0]\nCOMMIT\n"


@pytest.fixture(scope="module", params=list(Flavour))
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with faulted(request.param, tmp_path_factory.mktemp("node")) as node:
        node.write(shops())
        node.start()
        node.open_streams()
        node.converges()
        yield node


@pytest.mark.parametrize(
    "program, arguments, payload",
    [
        ("iptables-{}", ["-t", "nat", "-F"], ""),
        ("ip6tables-{}", ["-t", "nat", "-F"], ""),
        ("iptables-{}-restore", ["--noflush"], DELETED_CHAIN),
        ("ip6tables-{}-restore", ["--noflush"], EMPTIED_CHAINS),
        ("iptables-{}-restore", [], EMPTY),
        ("ip6tables-{}-restore", [], EMPTY),
    ],
    ids=["rules", "rules, IPv6", "a chain", "two chains, IPv6", "everything", "everything, IPv6"],
)
def test_connections_that_were_open_live_through_it(node, program, arguments, payload):
    done = node.count(REPAIRED)
    node.stage.run("node-a", [program.format(node.flavour), "-w", "30", *arguments], payload)
    node.said(REPAIRED, done + 1)
    node.converges()
    node.streams_live()
