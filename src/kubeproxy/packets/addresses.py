"""Addresses: who answers where, so that a question about one packet does not visit every Service."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from kubeproxy.model.identity import Family, PortName
from kubeproxy.routes.route import FrontendKind, PortRoutes, Route

_Place: TypeAlias = tuple[str, str, int]


class Answer(Struct, frozen=True):
    """A Route, and the ServicePort it belongs to."""

    route: Route
    decided: PortRoutes

    @property
    def name(self) -> PortName:
        return self.decided.name


class Addresses:
    """Every Frontend by its address, protocol and port.

    A node port has no address of its own; both families may use one number, so it is kept under its family.
    """

    def __init__(self, decided: Iterable[PortRoutes] = ()) -> None:
        self._known: dict[PortName, PortRoutes] = {}
        self._answers: dict[_Place, list[Answer]] = {}
        self._lost: dict[_Place, list[PortName]] = {}
        self._at: dict[str, dict[PortName, PortRoutes]] = {}
        self._health: dict[tuple[Family, int], dict[PortName, PortRoutes]] = {}
        for one in decided:
            self.put(one)

    def put(self, decided: PortRoutes) -> None:
        """Add a ServicePort, in place of what was known of it."""
        self.drop(decided.name)
        self._known[decided.name] = decided
        for place, answer in _answers(decided):
            self._answers.setdefault(place, []).append(answer)
            self._at.setdefault(place[0], {})[decided.name] = decided
        for place in _lost(decided):
            self._lost.setdefault(place, []).append(decided.name)
        if port := decided.port.health_check_port:
            self._health.setdefault((decided.name.family, port), {})[decided.name] = decided

    def drop(self, name: PortName) -> None:
        """Forget a ServicePort."""
        decided = self._known.pop(name, None)
        if decided is None:
            return
        for place, answer in _answers(decided):
            self._answers[place].remove(answer)
            self._at[place[0]].pop(name, None)
        for place in _lost(decided):
            self._lost[place].remove(name)
        if port := decided.port.health_check_port:
            del self._health[decided.name.family, port][name]

    def dialled(self, address: str, protocol: str, port: int) -> list[Answer]:
        """Who answers on an address of its own; several only where one Service names an address twice."""
        return self._answers.get((address, protocol, port), [])

    def node_port(self, family: Family, protocol: str, port: int) -> Answer | None:
        return next(iter(self._answers.get((family, protocol, port), ())), None)

    def lost(self, address: str, protocol: str, port: int) -> list[PortName]:
        """Those that claim it too, and came later; a node port is asked for by its family."""
        return self._lost.get((address, protocol, port), [])

    def health_check(self, family: Family, port: int) -> PortRoutes | None:
        """A ServicePort of the Service whose health this port tells."""
        return next(iter(self._health.get((family, port), {}).values()), None)

    def here(self, address: str) -> list[PortRoutes]:
        """Every ServicePort that has this address, on whatever port."""
        return list(self._at.get(address, {}).values())

    def is_cluster_ip(self, address: str) -> bool:
        return any(decided.port.cluster_ip == address for decided in self.here(address))


def _place(kind: FrontendKind, address: str, protocol: str, port: int, family: Family) -> _Place:
    return (family if kind is FrontendKind.NODE_PORT else address, protocol, port)


def _answers(decided: PortRoutes) -> Iterator[tuple[_Place, Answer]]:
    family = decided.name.family
    for route in decided.routes:
        front = route.frontend
        yield _place(front.kind, front.address, front.protocol, front.port, family), Answer(route, decided)


def _lost(decided: PortRoutes) -> Iterator[_Place]:
    family = decided.name.family
    for lost in decided.lost:
        front = lost.frontend
        yield _place(front.kind, front.address, front.protocol, front.port, family)
