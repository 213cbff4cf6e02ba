"""A directory of manifests, decided about: what the tools look at when no proxy runs."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from kubeproxy.api.change import Upsert
from kubeproxy.api.node import Node
from kubeproxy.api.service import Service
from kubeproxy.config.invocation import Invocation
from kubeproxy.config.node import candidate_ips, node_name
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.model.identity import Family, ServiceName
from kubeproxy.model.service import service_name
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.decide import Routes, decide
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.runtime.nodewatch import node_view
from kubeproxy.sources.assemble import Ranges
from kubeproxy.sources.manifests import ManifestsSource
from kubeproxy.sources.notice import Level, Notice
from kubeproxy.wire.netlink import AF_INET, AF_INET6
from kubeproxy.wire.rtnetlink import LocalAddress, Scope


class Picture(Struct):
    """One cluster, seen from one node."""

    tracker: Tracker
    views: dict[Family, NodeView]
    routes: dict[Family, Routes]
    #: every Service that is written down, served or not
    services: dict[ServiceName, Service]
    nodes: dict[str, Node]
    #: what the source had to say of the objects
    notices: tuple[Notice, ...]


def picture(invocation: Invocation, config: KubeProxyConfig) -> Picture:
    """Read, fold and decide everything; what could not be used is said on stderr."""
    given = invocation.service_cidrs
    source = ManifestsSource(Path(invocation.manifests), ranges=Ranges(given) if given else Ranges())
    reading = source.read()
    for notice in reading.notices:
        if notice.level is not Level.INFO:
            print(notice, file=sys.stderr)
    tracker = Tracker(allow_external_ips=config.featureGates.get("AllowServiceExternalIPs", True))
    for complaint in tracker.fold(reading.changes).complaints:
        print(complaint, file=sys.stderr)
    name = node_name(config.hostnameOverride, socket.gethostname())
    node = tracker.node(name)
    views = {family: node_view(config, name, family, node, list(_addresses(node))) for family in Family}
    routes = {family: Routes() for family in Family}
    for family, view in views.items():
        decide(tracker.snapshot, view, list(tracker.snapshot.names(family)), routes[family])
    objects = [change.obj for change in reading.changes if isinstance(change, Upsert)]
    services: dict[ServiceName, Service] = {}
    # What is delivered has its assigned numbers, so it comes before what is merely written.
    for service in (*(obj for obj in objects if isinstance(obj, Service)), *source.services()):
        services.setdefault(service_name(service), service)
    nodes = {obj.metadata.name: obj for obj in objects if isinstance(obj, Node)}
    return Picture(tracker, views, routes, services, nodes, reading.notices)


def _addresses(node: Node | None) -> Iterator[LocalAddress]:
    """The Node object's addresses and loopback: the answer must not depend on where the question is asked."""
    listed = candidate_ips(node.status.addresses) if node is not None else ()
    for index, address in enumerate(("127.0.0.1", "::1", *listed), start=1):
        family = AF_INET6 if ":" in address else AF_INET
        yield LocalAddress(family, address, 128 if family == AF_INET6 else 32, index, "", Scope.UNIVERSE)
