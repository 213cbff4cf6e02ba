"""Snapshot: what the cluster says right now, to look at and not to change.

It is a view of what the Tracker keeps, not a copy: copying a large cluster for every sync would cost more
than the sync. Folding and deciding take turns, so nobody sees it move.
"""

from collections.abc import Iterable, Iterator

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import Family, PortName, ServiceName
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.model.slices import SliceRecord, merged


class Side:
    """One IP family of the cluster; only the Tracker changes it."""

    __slots__ = ("ports", "services", "slices")

    def __init__(self) -> None:
        self.ports: dict[PortName, ServicePort] = {}
        self.services: dict[ServiceName, tuple[ServicePort, ...]] = {}
        #: by Service, in order of their names, so that nothing depends on who was heard of first
        self.slices: dict[ServiceName, tuple[SliceRecord, ...]] = {}


class Snapshot:
    """Answers by name; nothing here walks over all Services but `names`."""

    __slots__ = ("_sides",)

    def __init__(self, sides: dict[Family, Side]) -> None:
        self._sides = sides

    def port(self, name: PortName) -> ServicePort | None:
        return self._sides[name.family].ports.get(name)

    def endpoints(self, name: PortName) -> tuple[Endpoint, ...]:
        """All its Endpoints, each address:port once, in order of their text, even if no Service has it."""
        records = self._sides[name.family].slices.get(ServiceName(name.namespace, name.service), ())
        port, protocol = name.port, name.protocol
        lists = [
            part.endpoints
            for record in records
            for part in record.ports
            if part.name == port and part.protocol is protocol
        ]
        if len(lists) == 1:
            return lists[0]
        return merged(endpoint for part in lists for endpoint in part) if lists else ()

    def names(self, family: Family) -> Iterable[PortName]:
        """Every ServicePort there is."""
        return self._sides[family].ports.keys()

    def ports_of(self, service: ServiceName, family: Family) -> tuple[ServicePort, ...]:
        return self._sides[family].services.get(service, ())

    def served_names(self, service: ServiceName, family: Family) -> Iterator[PortName]:
        """The port names its slices know, whether or not the Service has them."""
        seen = dict.fromkeys(
            (part.name, part.protocol)
            for record in self._sides[family].slices.get(service, ())
            for part in record.ports
        )
        for port, protocol in seen:
            yield PortName(service.namespace, service.name, port, protocol, family)
