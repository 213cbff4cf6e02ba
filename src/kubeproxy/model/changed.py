"""Changed: the names of what is no longer as it was, so that work can grow with these alone."""

from msgspec import Struct

from kubeproxy.model.complaint import Complaint
from kubeproxy.model.identity import Family, PortName, ServiceName


class FamilyChanges(Struct, frozen=True):
    """What changed in one IP family."""

    #: ServicePorts that came, went, want something else or have other Endpoints
    names: tuple[PortName, ...] = ()
    #: Services whose slices changed and have a UDP port, before or after: their flows may be stale
    udp: tuple[ServiceName, ...] = ()
    #: when the changes happened that slices brought, for the time it takes until packets notice
    triggered: tuple[float, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.udp or self.triggered)

    def then(self, later: "FamilyChanges") -> "FamilyChanges":
        return FamilyChanges(
            tuple(dict.fromkeys(self.names + later.names)),
            tuple(dict.fromkeys(self.udp + later.udp)),
            self.triggered + later.triggered,
        )


class Changed(Struct, frozen=True):
    """What changed since somebody took the last one of these."""

    ipv4: FamilyChanges = FamilyChanges()
    ipv6: FamilyChanges = FamilyChanges()
    nodes: tuple[str, ...] = ()
    service_cidrs: bool = False
    #: what could not be used as written, for the log; said once, until the object says something else wrong
    complaints: tuple[Complaint, ...] = ()

    def of(self, family: Family) -> FamilyChanges:
        return self.ipv4 if family is Family.IPV4 else self.ipv6

    def __bool__(self) -> bool:
        return bool(self.ipv4 or self.ipv6 or self.nodes or self.service_cidrs)

    def then(self, later: "Changed") -> "Changed":
        """Both together: a sync that failed hands on what it did not get done."""
        return Changed(
            self.ipv4.then(later.ipv4),
            self.ipv6.then(later.ipv6),
            tuple(dict.fromkeys(self.nodes + later.nodes)),
            self.service_cidrs or later.service_cidrs,
            self.complaints + later.complaints,
        )


class Counts(Struct, frozen=True):
    """How many events one family was told of, and how much of that nobody took yet."""

    service_events: int
    slice_events: int
    pending_services: int
    #: events, not slices: each one that changed something counts
    pending_slices: int
