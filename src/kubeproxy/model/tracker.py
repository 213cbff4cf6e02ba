"""Tracker: folds Changes into what is known of the cluster, and names what changed.

It keeps no API object but Nodes: a Service is its ServicePorts, a slice is its Endpoints. The work of a fold
grows with its Changes, never with the cluster.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from kubeproxy.api.addresses import family_of, parse_cidr
from kubeproxy.api.change import Change, Delete, KubeObject, Synced, Upsert, ref_of
from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.meta import Ref
from kubeproxy.api.node import Node
from kubeproxy.api.service import Service
from kubeproxy.api.servicecidr import ServiceCIDR
from kubeproxy.model.changed import Changed, Counts
from kubeproxy.model.complaint import Complaint, Complaints
from kubeproxy.model.identity import Family, ServiceName
from kubeproxy.model.ledger import Ledger
from kubeproxy.model.service import ServiceReading, read_service
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.model.slices import SliceReading, SliceRecord, read_slice
from kubeproxy.model.snapshot import Side, Snapshot

_NO_SERVICE = ServiceReading()
_NO_SLICE = SliceReading()


class Tracker:
    """What the cluster says, kept current.

    `started` is when we began to listen: older changes are not ours to time. Where external IPs are switched
    off, `allow_external_ips` is false.
    """

    def __init__(self, *, started: float = 0.0, allow_external_ips: bool = True) -> None:
        self._started = started
        self._allow_external_ips = allow_external_ips
        self._sides = {family: Side() for family in Family}
        self._ledgers = {family: Ledger() for family in Family}
        self._service_events = 0
        self._slice_events = dict.fromkeys(Family, 0)
        self._records: dict[Ref, SliceRecord] = {}
        self._nodes: dict[str, Node] = {}
        self._cidrs: dict[str, tuple[str, ...]] = {}
        self._synced: set[str] = set()
        self._changed_nodes: dict[str, None] = {}
        self._changed_cidrs = False
        self._complaints: dict[Ref, tuple[Complaint, ...]] = {}
        self._unsaid: list[Complaint] = []
        self.snapshot = Snapshot(self._sides)

    def fold(self, changes: Iterable[Change]) -> Changed:
        """Hear these and take all that changed since the last time somebody took it."""
        self.hear(changes)
        return self.take()

    def hear(self, changes: Iterable[Change]) -> bool:
        """Apply these at once; true when there is something to take."""
        for change in changes:
            if isinstance(change, Upsert):
                self._upsert(change.obj)
            elif isinstance(change, Delete):
                self._delete(change.ref)
            elif isinstance(change, Synced):
                self._synced.add(change.kind)
        return self.pending

    @property
    def pending(self) -> bool:
        return bool(any(self._ledgers.values()) or self._changed_nodes or self._changed_cidrs)

    def take(self) -> Changed:
        """Name what changed since the last time; changes that undid each other are not in it."""
        ledgers = self._ledgers
        ipv4, ipv6 = (ledgers[f].changes(f, self._sides[f], self._records) for f in Family)
        changed = Changed(ipv4, ipv6, tuple(self._changed_nodes), self._changed_cidrs, tuple(self._unsaid))
        self._ledgers = {family: Ledger() for family in Family}
        self._changed_nodes, self._changed_cidrs, self._unsaid = {}, False, []
        return changed

    def synced(self, kinds: Iterable[str]) -> bool:
        """Whether all there was of these kinds at the start has been heard."""
        return self._synced.issuperset(kinds)

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def service_cidrs(self, family: Family) -> tuple[str, ...]:
        """All ranges that cluster IPs come from; a range that two objects name stays until both are gone."""
        return tuple(
            sorted({cidr for cidrs in self._cidrs.values() for cidr in cidrs if _is_of(cidr, family)})
        )

    def counts(self, family: Family) -> Counts:
        ledger = self._ledgers[family]
        return Counts(
            self._service_events, self._slice_events[family], len(ledger.services), ledger.slice_events
        )

    def complaints(self) -> tuple[Complaint, ...]:
        """All that is wrong with the objects as they are now."""
        return tuple(complaint for said in self._complaints.values() for complaint in said)

    def _upsert(self, obj: KubeObject) -> None:
        ref = ref_of(obj)
        if isinstance(obj, EndpointSlice):
            self._set_slice(ref, read_slice(obj))
        elif isinstance(obj, Service):
            self._set_service(ref, read_service(obj, allow_external_ips=self._allow_external_ips))
        elif isinstance(obj, Node):
            self._set_node(ref.name, obj)
        else:
            self._set_cidrs(ref, obj)

    def _delete(self, ref: Ref) -> None:
        if ref.kind == "EndpointSlice":
            self._set_slice(ref, _NO_SLICE)
        elif ref.kind == "Service":
            self._set_service(ref, _NO_SERVICE)
        elif ref.kind == "Node":
            self._set_node(ref.name, None)
        elif ref.kind == "ServiceCIDR":
            self._set_cidrs(ref, None)

    def _set_service(self, ref: Ref, reading: ServiceReading) -> None:
        self._service_events += 1
        self._complain(ref, reading.complaints)
        name = ServiceName(ref.namespace, ref.name)
        for family, side in self._sides.items():
            before, now = side.services.get(name, ()), reading.of(family)
            if before != now:
                now = _with_known(before, now)
                self._ledgers[family].note_service(name, before, now)
                _replace_ports(side, name, before, now)

    def _set_slice(self, ref: Ref, reading: SliceReading) -> None:
        self._complain(ref, reading.complaints)
        before, now = self._records.get(ref), reading.record
        for family in {r.family for r in (before, now) if r is not None}:
            was = before if before is not None and before.family is family else None
            is_now = now if now is not None and now.family is family else None
            self._slice_events[family] += 1
            if was != is_now:
                self._note_slice(ref, family, was, is_now)
        if now is None:
            self._records.pop(ref, None)
        elif now != before:
            self._records[ref] = now

    def _note_slice(
        self, ref: Ref, family: Family, before: SliceRecord | None, now: SliceRecord | None
    ) -> None:
        """The old record goes from where it was: its Service may have been another one."""
        ledger, side = self._ledgers[family], self._sides[family]
        ledger.note_slice(ref, before, now)
        if before is not None:
            _drop_record(side, before)
            if now is None:
                ledger.forget_triggers(before.service)
        if now is not None:
            _add_record(side, now)
            if now.triggered > self._started:
                ledger.trigger(now.service, now.triggered)

    def _set_node(self, name: str, node: Node | None) -> None:
        """A Node's version moves with every heartbeat; that alone is no change."""
        before = self._nodes.pop(name, None)
        if node is not None:
            self._nodes[name] = node
        if (before and _matters(before)) != (node and _matters(node)):
            self._changed_nodes[name] = None

    def _set_cidrs(self, ref: Ref, obj: ServiceCIDR | None) -> None:
        said = Complaints(ref)
        cidrs = []
        for index, text in enumerate(obj.spec.cidrs if obj else ()):
            network = parse_cidr(text)
            if network is None:
                said.add(
                    f"spec.cidrs[{index}]", text, "not a network, so it is left out", "write address/length"
                )
            else:
                cidrs.append(str(network))
        self._complain(ref, said.all())
        if self._cidrs.get(ref.name, ()) != tuple(cidrs):
            self._changed_cidrs = True
        self._cidrs[ref.name] = tuple(cidrs)
        if not cidrs:
            del self._cidrs[ref.name]

    def _complain(self, ref: Ref, complaints: tuple[Complaint, ...]) -> None:
        known = self._complaints.get(ref, ())
        if complaints:
            self._complaints[ref] = complaints
            self._unsaid.extend(complaint for complaint in complaints if complaint not in known)
        elif known:
            del self._complaints[ref]


def _is_of(cidr: str, family: Family) -> bool:
    network = parse_cidr(cidr)
    return network is not None and family_of(network) == family


def _matters(node: Node) -> Node:
    return replace(node, metadata=replace(node.metadata, resourceVersion=""))


def _with_known(before: tuple[ServicePort, ...], now: tuple[ServicePort, ...]) -> tuple[ServicePort, ...]:
    """The same, with the very objects that are known already where they are equal."""
    known = {port: port for port in before}
    return tuple(known.get(port, port) for port in now)


def _replace_ports(
    side: Side, name: ServiceName, before: tuple[ServicePort, ...], now: tuple[ServicePort, ...]
) -> None:
    for port in before:
        del side.ports[port.name]
    for port in now:
        side.ports[port.name] = port
    if now:
        side.services[name] = now
    else:
        side.services.pop(name, None)


def _drop_record(side: Side, record: SliceRecord) -> None:
    kept = tuple(other for other in side.slices[record.service] if other is not record)
    if kept:
        side.slices[record.service] = kept
    else:
        del side.slices[record.service]


def _add_record(side: Side, record: SliceRecord) -> None:
    others = side.slices.get(record.service, ())
    side.slices[record.service] = tuple(sorted((*others, record), key=lambda known: known.name))
