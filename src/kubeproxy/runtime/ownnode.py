"""Our own Node, where an API server tells of it: waited for at the start, and judged when it changes.

A directory of manifests is believed as it stands. An API server loses a Node for a moment when somebody
deletes it and the kubelet registers it again, and that takes no address away from this machine.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from kubeproxy.api.node import Node
from kubeproxy.config.complaint import Complaint, ConfigError, Form
from kubeproxy.config.node import candidate_ips
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.nodewatch import pod_cidrs
from kubeproxy.runtime.reporting import say_notice
from kubeproxy.sources.notice import Notice

#: how long the Node may take to get its addresses, and its pod networks where these are needed, in seconds
ADDRESSES: Final = 30.0
POD_CIDRS: Final = 300.0


class NodeSource(Protocol):
    """A source that can be asked for our Node before anything else."""

    @property
    def node(self) -> Node | None: ...

    @property
    def node_heard(self) -> bool: ...

    def ask_for_node(self) -> None: ...

    async def stirs(self) -> None: ...

    def said(self) -> Iterable[Notice]: ...


async def wait_for_node(
    source: NodeSource,
    name: str,
    config: KubeProxyConfig,
    *,
    addresses: float = ADDRESSES,
    networks: float = POD_CIDRS,
) -> Node | None:
    """Our Node as the server has it; without the server there is no start, without the Node there is."""
    source.ask_for_node()
    await _until(source, lambda: source.node_heard, None)
    if await _until(source, lambda: _ips(source.node), addresses):
        log.info("Successfully retrieved NodeIPs", NodeIPs=_ips(source.node))
    else:
        lack = "exist" if source.node is None else "be assigned IPs"
        remedy = "see whether the Node has this name, else set --hostname-override; loopback is assumed"
        log.error(f"Timed out waiting for node to {lack}", node=name, remedy=remedy)
    if config.detectLocalMode == "NodeCIDR":
        await _until(source, lambda: pod_cidrs(source.node), networks)
        _require_networks(source.node, name)
    return source.node


async def _until(source: NodeSource, true: Callable[[], object], seconds: float | None) -> bool:
    """Whether it came true in time; what the source has to say is said meanwhile."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                for notice in source.said():
                    say_notice(notice)
                if true():
                    return True
                await source.stirs()
    except TimeoutError:
        return False


def _require_networks(node: Node | None, name: str) -> None:
    if pod_cidrs(node):
        return
    said = f'timeout waiting for PodCIDR allocation on node "{name}"'
    if node is None:
        said = f'timeout waiting for node "{name}" to exist'
    remedy = "have the controller manager allocate node CIDRs, or choose another detectLocalMode"
    raise ConfigError(Complaint("detectLocalMode", "NodeCIDR", said, remedy, form=Form.PLAIN))


class OwnNode:
    """What to believe of our Node: what was heard last, as long as there is nothing newer."""

    def __init__(self, config: KubeProxyConfig, name: str, node: Node | None) -> None:
        self._config, self._name = config, name
        self._believed = node
        self._there = False
        self._ips, self._networks = _ips(node), pod_cidrs(node)

    def believed(self, heard: Node | None) -> Node | None:
        """The Node to work with, given the one there is; ConfigError when that ends this process."""
        if heard is not None:
            self._believed, self._there = heard, True
            self._compare(heard)
        elif self._there:
            self._there = False
            log.info("Node is being deleted", node=self._name, kept="its addresses and labels as last seen")
        return self._believed

    def _compare(self, node: Node) -> None:
        before, now = self._networks, pod_cidrs(node)
        if self._config.detectLocalMode == "NodeCIDR" and now != before:
            log.info("PodCIDRs changed for the node", node=self._name, podCIDRs=now, oldPodCIDRs=before)
            said = "the node's pod networks are others, and detectLocalMode NodeCIDR begins with them"
            remedy = "nothing is to be done where something starts the proxy again"
            raise ConfigError(Complaint("detectLocalMode", "NodeCIDR", said, remedy, form=Form.PLAIN))
        ips = _ips(node)
        if ips != self._ips:
            log.info("NodeIPs changed for the node", node=self._name, NodeIPs=ips, oldNodeIPs=self._ips)
            self._ips = ips


def _ips(node: Node | None) -> tuple[str, ...]:
    return candidate_ips(node.status.addresses) if node is not None else ()
