"""The golden clusters: what the API server held, how the node was set up, and which rules it got."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from kubeproxy.api.change import KubeObject
from kubeproxy.api.decode import decode
from kubeproxy.api.node import Node
from kubeproxy.model.identity import Family
from kubeproxy.routes.nodeview import DetectBy, Detector, NodePortAddresses, NodeView, is_loopback
from kubeproxy.wire.iptdump import Table, parse_tables
from tests.stories.world import World, tracked, world

HERE = Path(__file__).resolve().parent.parent / "golden"
CASES = sorted(path.name for path in HERE.iterdir() if path.is_dir())
CASES_BY_FAMILY = [(case, family) for case in CASES for family in Family]

_KINDS = {
    "services": ("v1", "Service"),
    "endpointslices": ("discovery.k8s.io/v1", "EndpointSlice"),
    "nodes": ("v1", "Node"),
    "servicecidrs": ("networking.k8s.io/v1", "ServiceCIDR"),
}
_ADDRESSES = {
    Family.IPV4: ("127.0.0.1", "192.168.50.11", "192.168.61.11"),
    Family.IPV6: ("::1", "fd00:50::11", "fd00:61::11"),
}


def objects(case: str) -> Iterator[KubeObject]:
    """What the API server holds, other proxies' Services included."""
    for resource, listed in json.loads((HERE / case / "objects.json").read_text()).items():
        version, kind = _KINDS[resource]
        for item in listed["items"]:
            yield decode({"apiVersion": version, "kind": kind, **item})


def dump(case: str, family: Family) -> dict[str, Table]:
    """The rules the original programmed."""
    name = "expected.iptables" if family is Family.IPV4 else "expected.ip6tables"
    return parse_tables((HERE / case / name).read_text().splitlines())


def node_view(case: str, family: Family) -> NodeView:
    own = HERE / case / "config.yaml"
    config = yaml.safe_load((own if own.exists() else HERE / "base-config.yaml").read_text())
    node = next(obj for obj in objects(case) if isinstance(obj, Node) and obj.metadata.name == "node-a")
    ports = _node_ports(config, family)
    return NodeView(
        family=family,
        name="node-a",
        zone=node.metadata.labels.get("topology.kubernetes.io/zone", ""),
        node_ip=next((a.address for a in node.status.addresses if a.address in _ADDRESSES[family]), ""),
        addresses=_ADDRESSES[family],
        detector=_detector(config, node, family),
        masquerade_all=config.get("iptables", {}).get("masqueradeAll", False),
        node_ports=ports,
        loopback_node_ports=family is Family.IPV4
        and any(map(ports.selects, filter(is_loopback, _ADDRESSES[family]))),
    )


def _node_ports(config: dict[str, list[str]], family: Family) -> NodePortAddresses:
    listed = [text for text in config.get("nodePortAddresses", ()) if _of(text, family)]
    return NodePortAddresses(match_all=not listed, networks=tuple(listed))


def _detector(config: dict[str, str], node: Node, family: Family) -> Detector | None:
    networks = (
        node.spec.podCIDRs if config["detectLocalMode"] == "NodeCIDR" else config["clusterCIDR"].split(",")
    )
    mine = [text for text in networks if _of(text, family)]
    return Detector(DetectBy.CIDR, mine[0]) if mine else None


def _of(network: str, family: Family) -> bool:
    return (":" in network) is (family is Family.IPV6)


@cache
def golden(case: str, family: Family) -> World:
    """A golden cluster with the rules of the original."""
    return world(tracked(objects(case)), node_view(case, family), dump(case, family))
