"""Ledger: what was as it was before, so that changes that undo each other cost nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubeproxy.api.meta import Ref
from kubeproxy.model.changed import FamilyChanges
from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import Family, PortName, Protocol, ServiceName
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.model.slices import SliceRecord
from kubeproxy.model.snapshot import Side


class Ledger:
    """One IP family's changes since the last time somebody took them.

    Kept is what was there before, not what happened: comparing it with what is there now tells what changed,
    however often and in whatever order it did.
    """

    __slots__ = ("services", "slice_events", "slices", "triggers")

    def __init__(self) -> None:
        self.services: dict[ServiceName, tuple[ServicePort, ...]] = {}
        self.slices: dict[Ref, SliceRecord | None] = {}
        self.slice_events = 0
        self.triggers: dict[ServiceName, list[float]] = {}

    def __bool__(self) -> bool:
        return bool(self.services or self.slices or self.triggers)

    def note_service(
        self, name: ServiceName, before: tuple[ServicePort, ...], now: tuple[ServicePort, ...]
    ) -> None:
        if self.services.setdefault(name, before) == now:
            del self.services[name]

    def note_slice(self, ref: Ref, before: SliceRecord | None, now: SliceRecord | None) -> None:
        self.slice_events += 1
        first = self.slices.setdefault(ref, before)
        if first is None or now is None:
            undone = first is now
        else:
            undone = (first.service, first.ports) == (now.service, now.ports)
        if undone:
            del self.slices[ref]

    def trigger(self, service: ServiceName, instant: float) -> None:
        self.triggers.setdefault(service, []).append(instant)

    def forget_triggers(self, service: ServiceName) -> None:
        """A slice that went says nothing about speed; upstream forgets its siblings' times too."""
        self.triggers.pop(service, None)

    def changes(self, family: Family, side: Side, records: Mapping[Ref, SliceRecord]) -> FamilyChanges:
        names: dict[PortName, None] = {}
        for service, before in self.services.items():
            names.update(dict.fromkeys(_changed_ports(before, side.services.get(service, ()))))
        udp: dict[ServiceName, None] = {}
        for ref, was in self.slices.items():
            record = records.get(ref)
            now = record if record is not None and record.family is family else None
            names.update(dict.fromkeys(_changed_names(was, now)))
            udp.update(dict.fromkeys(_with_udp(side, was, now)))
        triggered = tuple(instant for instants in self.triggers.values() for instant in instants)
        return FamilyChanges(tuple(names), tuple(udp), triggered)


def _changed_ports(before: Sequence[ServicePort], now: Sequence[ServicePort]) -> Iterator[PortName]:
    was = {port.name: port for port in before}
    for port in now:
        if was.pop(port.name, None) != port:
            yield port.name
    yield from was


def _changed_names(was: SliceRecord | None, now: SliceRecord | None) -> Iterator[PortName]:
    """The ServicePorts that have other Endpoints; all of them, if the slice moved to another Service."""
    if was is None or now is None or was.service != now.service:
        for record in (was, now):
            yield from () if record is None else (_name(record, *key) for key in _lists(record))
        return
    before, after = _lists(was), _lists(now)
    for key in before | after:
        if before.get(key) != after.get(key):
            yield _name(now, *key)


def _lists(record: SliceRecord) -> dict[tuple[str, Protocol], tuple[Endpoint, ...]]:
    return {(part.name, part.protocol): part.endpoints for part in record.ports}


def _name(record: SliceRecord, port: str, protocol: Protocol) -> PortName:
    return PortName(record.service.namespace, record.service.name, port, protocol, record.family)


def _with_udp(side: Side, *versions: SliceRecord | None) -> Iterator[ServiceName]:
    """The Services of these that have a UDP port, in the slice itself or in another of theirs."""
    for record in versions:
        if record is not None and _any_udp((record, *side.slices.get(record.service, ()))):
            yield record.service


def _any_udp(records: Iterable[SliceRecord]) -> bool:
    return any(part.protocol is Protocol.UDP for record in records for part in record.ports)
