"""Snapshot × NodeView → Routes, one ServicePort at a time."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from msgspec import Struct

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import PortName
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.model.snapshot import Snapshot
from kubeproxy.routes import masquerade, policy
from kubeproxy.routes.conflicts import Claims
from kubeproxy.routes.frontends import allowed, cluster_frontend, external_frontends
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import FrontendKind, Pool, PortRoutes, Route, Source

_NOBODY: Final = Pool()
_LOAD_BALANCER: Final = FrontendKind.LOAD_BALANCER
# Combining flags costs more than everything else about a Route, so it is done once.
_NO_SHORTCUT: Final = Source.NONE
_OWN: Final = Source.HOST
_OWN_AND_PODS: Final = Source.POD | Source.HOST


class Totals(Struct):
    """Sums over everything decided, kept up to date with each decision."""

    #: of all ServicePorts, usable or not: what makes a cluster a large one
    known_endpoints: int = 0
    #: ServicePorts with endpoints somewhere and none here, although the policy is Local
    internal_without_local: int = 0
    external_without_local: int = 0

    def count(self, decided: PortRoutes, sign: int) -> None:
        self.known_endpoints += sign * decided.known_endpoints
        if decided.usable_anywhere and not decided.local:
            self.internal_without_local += sign * decided.port.internal_local
            self.external_without_local += sign * decided.port.external_local


class Routes(Mapping[PortName, PortRoutes]):
    """Everything decided for one IP family; `decide` keeps it current, everybody else reads it."""

    __slots__ = ("_decided", "claims", "totals")

    def __init__(self) -> None:
        self._decided: dict[PortName, PortRoutes] = {}
        self.claims = Claims()
        self.totals = Totals()

    def __getitem__(self, name: PortName) -> PortRoutes:
        return self._decided[name]

    def __iter__(self) -> Iterator[PortName]:
        return iter(self._decided)

    def __len__(self) -> int:
        return len(self._decided)

    def put(self, decided: PortRoutes) -> bool:
        """Remember it; false if it says what is known already, so that the known object stays."""
        known = self._decided.get(decided.name)
        if known is not None:
            if known == decided:
                return False
            self.totals.count(known, -1)
        self._decided[decided.name] = decided
        self.totals.count(decided, +1)
        return True

    def drop(self, name: PortName) -> bool:
        known = self._decided.pop(name, None)
        if known is None:
            return False
        self.totals.count(known, -1)
        return True


def decide(
    snapshot: Snapshot, node: NodeView, changed: Iterable[PortName], routes: Routes
) -> dict[PortName, PortRoutes | None]:
    """Fold what changed into the Routes of the node's family; return what is another now, None for gone.

    A ServicePort that gives up a Frontend changes others that waited for it: they are in the answer too.
    """
    family = node.family
    names = dict.fromkeys(name for name in changed if name.family is family)
    ports = {name: snapshot.port(name) for name in names}
    moves = (
        (name, known.port if known is not None else None, port)
        for name, port in ports.items()
        if (known := routes.get(name)) is None or known.port is not port
    )
    rivals = routes.claims.settle(moves, snapshot.port)
    delta: dict[PortName, PortRoutes | None] = {}
    for name in chain(names, sorted(rivals.difference(names))):
        port = snapshot.port(name)
        if port is None:
            if routes.drop(name):
                delta[name] = None
            continue
        decided = routes.claims.without_lost(decide_port(port, snapshot.endpoints(name), node))
        if routes.put(decided):
            delta[port.name] = decided
    return delta


def decide_port(port: ServicePort, endpoints: tuple[Endpoint, ...], node: NodeView) -> PortRoutes:
    """All about one ServicePort on this node, as if nobody else claimed its addresses.

    The endpoints are each address:port once, in order of their text, as a Snapshot has them.
    """
    choice = policy.choose(port, endpoints, node)
    sticky = port.affinity_seconds
    cluster = Pool(choice.cluster, sticky) if choice.cluster else _NOBODY
    local = Pool(choice.local, sticky) if choice.local else _NOBODY
    return PortRoutes(
        port=port,
        routes=(
            _cluster_route(port, local if port.internal_local else cluster, choice.usable_anywhere, node),
            *_external_routes(port, cluster, local, choice.usable_anywhere, node),
        ),
        cluster=choice.cluster,
        local=choice.local,
        reachable=choice.reachable,
        usable_anywhere=choice.usable_anywhere,
        known_endpoints=len(endpoints),
        topology=choice.topology,
    )


def _cluster_route(port: ServicePort, pool: Pool, anywhere: bool, node: NodeView) -> Route:
    verdict, because = policy.verdict(anywhere) if not pool.endpoints else (None, None)
    sources, why = masquerade.to_cluster_ip(node)
    return Route(cluster_frontend(port), pool, _NO_SHORTCUT, _NOBODY, sources, why, verdict, because)


def _external_routes(
    port: ServicePort, cluster: Pool, local: Pool, anywhere: bool, node: NodeView
) -> list[Route]:
    """Clients inside may use every endpoint even under Local policy.

    Their packets would otherwise have to leave through the load balancer and come back to another node.
    """
    frontends = external_frontends(port)
    if not frontends:
        return []
    pool, shortcut, inside = cluster, _NO_SHORTCUT, _NOBODY
    if port.external_local:
        pool, shortcut, inside = local, _OWN if node.detector is None else _OWN_AND_PODS, cluster
    verdict, because = policy.verdict(anywhere) if not pool.endpoints else (None, None)
    sources, why = masquerade.from_outside(port)
    ranges = allowed(port, node)
    return [
        Route(
            frontend,
            pool,
            shortcut,
            inside,
            sources,
            why,
            verdict,
            because,
            ranges if frontend.kind is _LOAD_BALANCER else None,
        )
        for frontend in frontends
    ]
