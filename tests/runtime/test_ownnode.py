"""The start waits for our Node as long as is sensible, and a Node that changes later is met in kind."""

import asyncio
from typing import Any

import pytest

from kubeproxy.api.meta import ObjectMeta
from kubeproxy.api.node import Node, NodeAddress, NodeSpec, NodeStatus
from kubeproxy.config.complaint import ConfigError
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.runtime.ownnode import OwnNode, wait_for_node
from kubeproxy.sources.notice import Level, Notice

CLUSTER_CIDR = KubeProxyConfig()
NODE_CIDR = KubeProxyConfig(detectLocalMode="NodeCIDR")


def node(*ips: str, cidrs: tuple[str, ...] = (), version: str = "1") -> Node:
    addresses = tuple(NodeAddress("InternalIP", ip) for ip in ips)
    return Node(
        ObjectMeta("node-a", resourceVersion=version), NodeSpec(podCIDRs=cidrs), NodeStatus(addresses)
    )


class Scripted:
    """Says one thing after another whenever somebody waits for more, and then nothing for ever."""

    def __init__(self, *steps: Node | Notice | None) -> None:
        self.node: Node | None = None
        self.node_heard = False
        self.asked = False
        self._steps = list(steps)
        self._said: list[Notice] = []

    def ask_for_node(self) -> None:
        self.asked = True

    async def stirs(self) -> None:
        assert self.asked
        if not self._steps:
            await asyncio.Event().wait()
        step = self._steps.pop(0)
        if isinstance(step, Notice):
            self._said.append(step)
        else:
            self.node, self.node_heard = step, True
        await asyncio.sleep(0)

    def said(self) -> list[Notice]:
        said, self._said = self._said, []
        return said


def waited(source: Scripted, config: KubeProxyConfig = CLUSTER_CIDR) -> Node | None:
    return asyncio.run(wait_for_node(source, "node-a", config, addresses=0.02, networks=0.02))


AWAY = Notice(Level.ERROR, "", 0, None, "server", "https://x", "cannot be reached", "see")


@pytest.mark.parametrize(
    ("steps", "found", "line"),
    [
        ([node("10.0.0.1")], node("10.0.0.1"), "Successfully retrieved NodeIPs"),
        ([AWAY, AWAY, node("10.0.0.1")], node("10.0.0.1"), "cannot be reached"),
        ([None, node(), node("10.0.0.1")], node("10.0.0.1"), "Successfully retrieved NodeIPs"),
        ([None], None, "Timed out waiting for node to exist"),
        ([node()], node(), "Timed out waiting for node to be assigned IPs"),
        ([node("10.0.0.1"), None], node("10.0.0.1"), "Successfully retrieved NodeIPs"),
    ],
)
def test_the_start_waits_for_the_node_and_its_addresses(
    steps: list[Any], found: Node | None, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert waited(Scripted(*steps)) == found
    assert line in capsys.readouterr().err


def test_without_the_server_there_is_no_start_however_long_it_takes() -> None:
    """Nothing may be taken for absent because nobody answered."""

    async def story() -> bool:
        waiting = asyncio.ensure_future(
            wait_for_node(Scripted(AWAY), "node-a", CLUSTER_CIDR, addresses=0.0, networks=0.0)
        )
        done, _ = await asyncio.wait([waiting], timeout=0.1)
        waiting.cancel()
        return bool(done)

    assert not asyncio.run(story())


def test_pod_networks_are_waited_for_where_they_are_needed() -> None:
    ready = node("10.0.0.1", cidrs=("10.244.1.0/24",))
    assert waited(Scripted(node("10.0.0.1"), ready), NODE_CIDR) == ready


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([None], 'timeout waiting for node "node-a" to exist'),
        ([node("10.0.0.1")], 'timeout waiting for PodCIDR allocation on node "node-a"'),
    ],
)
def test_without_them_there_is_no_start(steps: list[Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        waited(Scripted(*steps), NODE_CIDR)
    assert said in str(caught.value)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]


def test_a_node_that_is_deleted_is_believed_as_it_was_last(capsys: pytest.CaptureFixture[str]) -> None:
    first = node("10.0.0.1")
    own = OwnNode(CLUSTER_CIDR, "node-a", first)
    assert own.believed(None) is first  # not heard yet, which is no deletion
    assert lines(capsys) == []
    assert own.believed(first) is first
    assert own.believed(None) is first
    assert own.believed(None) is first
    assert [line.split(" node=")[0] for line in lines(capsys)] == ['"Node is being deleted"']
    back = node("10.0.0.1", version="2")
    assert own.believed(back) is back
    assert lines(capsys) == []


def test_new_addresses_are_taken_up_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    own = OwnNode(CLUSTER_CIDR, "node-a", None)
    later = node("10.0.0.1", "fd00::1")
    assert own.believed(later) is later
    assert own.believed(later) is later
    assert lines(capsys) == [
        '"NodeIPs changed for the node" node="node-a" NodeIPs=["10.0.0.1","fd00::1"] oldNodeIPs=[]'
    ]


def test_other_pod_networks_end_the_process_only_where_they_matter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, after = node("10.0.0.1", cidrs=("10.244.1.0/24",)), node("10.0.0.1", cidrs=("10.244.2.0/24",))
    assert OwnNode(CLUSTER_CIDR, "node-a", before).believed(after) is after
    own = OwnNode(NODE_CIDR, "node-a", before)
    assert own.believed(before) is before
    with pytest.raises(ConfigError):
        own.believed(after)
    assert lines(capsys)[-1].startswith('"PodCIDRs changed for the node" node="node-a"')
