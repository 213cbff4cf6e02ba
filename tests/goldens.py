"""The captured clusters, ready to be decided about: what a kube-apiserver held, and the node they were captured on."""

import json
from collections.abc import Iterator
from pathlib import Path

from kubeproxy.api.change import Change, Synced, Upsert
from kubeproxy.api.decode import decode_as
from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.node import Node
from kubeproxy.api.service import Service
from kubeproxy.api.servicecidr import ServiceCIDR
from kubeproxy.config.decode import decode_config
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.model.identity import Family
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.decide import Routes, decide
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.runtime.nodewatch import node_view
from kubeproxy.wire.netlink import AF_INET, AF_INET6
from kubeproxy.wire.rtnetlink import LocalAddress, Scope

FOLDER = Path(__file__).parent / "golden"
CASES = sorted(path.parent.name for path in FOLDER.glob("*/manifests.yaml"))
NODE = "node-a"
KINDS = {"services": Service, "endpointslices": EndpointSlice, "nodes": Node, "servicecidrs": ServiceCIDR}

_INTERFACES = {
    "lo": ("127.0.0.1/8", "::1/128"),
    "eth0": ("192.168.50.11/24", "fd00:50::11/64"),
    "eth1": ("192.168.61.11/24", "fd00:61::11/64"),
}


def addresses() -> Iterator[LocalAddress]:
    for index, (name, texts) in enumerate(_INTERFACES.items(), start=1):
        for text in texts:
            address, length = text.split("/")
            family = AF_INET6 if ":" in address else AF_INET
            yield LocalAddress(family, address, int(length), index, name, Scope.UNIVERSE)


def changes(case: str) -> list[Change]:
    lists = json.loads((FOLDER / case / "objects.json").read_text())
    found: list[Change] = [
        Upsert(decode_as(KINDS[kind], item)) for kind, listed in lists.items() for item in listed["items"]
    ]
    return found + [Synced(kind) for kind in ("Service", "EndpointSlice", "Node", "ServiceCIDR")]


def config(case: str) -> KubeProxyConfig:
    own = FOLDER / case / "config.yaml"
    path = own if own.exists() else FOLDER / "base-config.yaml"
    return decode_config(path.read_text() + "\nmode: iptables\n", path.name).config


def node(case: str, tracker: Tracker, family: Family) -> NodeView:
    return node_view(config(case), NODE, family, tracker.node(NODE), addresses())


def decided(case: str, family: Family) -> tuple[Routes, NodeView]:
    tracker = Tracker()
    tracker.fold(changes(case))
    view, routes = node(case, tracker, family), Routes()
    decide(tracker.snapshot, view, tracker.snapshot.names(family), routes)
    return routes, view
