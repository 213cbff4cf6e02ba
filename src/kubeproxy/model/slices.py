"""EndpointSlice → what is kept of it: the Endpoints behind each of its ports.

There are ten and more Endpoints to a Service, so they are most of what a proxy remembers: texts that many of
them have alike are kept once, and nothing else of the object stays.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from kubeproxy.api.addresses import family_of, parse_ip
from kubeproxy.api.change import ref_of
from kubeproxy.api.endpointslice import Conditions, EndpointSlice, Hints, SliceEndpoint, SlicePort
from kubeproxy.model.complaint import Complaint, Complaints
from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import Family, Protocol, ServiceName
from kubeproxy.model.instant import parse_instant

SERVICE_LABEL: Final = "kubernetes.io/service-name"
#: slices of headless Services, which nobody dials through a proxy
HEADLESS_LABEL: Final = "service.kubernetes.io/headless"
TRIGGER_ANNOTATION: Final = "endpoints.kubernetes.io/last-change-trigger-time"

_FAMILIES: Final = {str(family): family for family in Family}
_PROTOCOLS: Final = {None: Protocol.TCP, "": Protocol.TCP} | {
    str(protocol): protocol for protocol in Protocol
}
_LAST_PORT: Final = 65535
_IPV4: Final = Family.IPV4
# Nearly every address is written as it is used; seeing that is much cheaper than taking it apart.
_PLAIN: Final = re.compile(r"((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\.(?!\Z)|\Z)){4}\Z")
_SILENT: Final = Conditions()


class PortEndpoints(Struct, frozen=True, gc=False):
    """The Endpoints a slice has for one port name and protocol, in order of their text."""

    name: str
    protocol: Protocol
    endpoints: tuple[Endpoint, ...]


class SliceRecord(Struct, frozen=True, gc=False):
    """All that is kept of an EndpointSlice; two slices with equal records are the same to everybody."""

    name: str
    service: ServiceName
    family: Family
    ports: tuple[PortEndpoints, ...]
    #: when the change happened that made the slice what it is, 0 if nobody said
    triggered: float = 0.0


class SliceReading(Struct, frozen=True, gc=False):
    """A record, or None for a slice that is not ours to serve, and what was wrong with it."""

    record: SliceRecord | None = None
    complaints: tuple[Complaint, ...] = ()


def read_slice(obj: EndpointSlice) -> SliceReading:
    meta = obj.metadata
    if HEADLESS_LABEL in meta.labels:
        return SliceReading()
    said = Complaints(ref_of(obj))
    family, service = _FAMILIES.get(obj.addressType), meta.labels.get(SERVICE_LABEL, "")
    if family is None:
        said.add("addressType", obj.addressType, "the slice is left out", "write IPv4 or IPv6")
    if not service:
        said.add(
            f"metadata.labels[{SERVICE_LABEL}]", service, "no Service has this slice", "name the Service"
        )
    for field, text in (("name", meta.name), ("namespace", meta.namespace)):
        if not text:
            said.add(f"metadata.{field}", text, "the slice is left out", f"give it a {field}")
    if family is None or not (service and meta.name and meta.namespace):
        return SliceReading(None, said.all())
    record = SliceRecord(
        name=meta.name,
        service=ServiceName(sys.intern(meta.namespace), sys.intern(service)),
        family=family,
        ports=_ports(obj, family, said),
        triggered=_triggered(obj, said),
    )
    return SliceReading(record, said.all())


def merged(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """Every address:port once, in order of its text.

    A pod that is going may be listed again as one that came: the one that came counts, whichever is first.
    """
    found: dict[str, Endpoint] = {}
    for endpoint in endpoints:
        text = str(endpoint)
        if not endpoint.terminating or text not in found:
            found[text] = endpoint
    return tuple([found[text] for text in sorted(found)])


def _ports(obj: EndpointSlice, family: Family, said: Complaints) -> tuple[PortEndpoints, ...]:
    backends = _backends(obj.endpoints, family, said)
    numbers: dict[tuple[str, Protocol], list[int]] = {}
    for index, port in enumerate(obj.ports):
        key = _key(port, f"ports[{index}]", said)
        if key is not None and port.port is not None:
            numbers.setdefault(key, []).append(port.port)
    return tuple(
        PortEndpoints(
            name,
            protocol,
            merged(
                [
                    Endpoint(address, number, ready, serving, terminating, node, zones, nodes)
                    for number in ports
                    for address, ready, serving, terminating, node, zones, nodes in backends
                ]
            ),
        )
        for (name, protocol), ports in numbers.items()
        if backends
    )


def _key(port: SlicePort, field: str, said: Complaints) -> tuple[str, Protocol] | None:
    """Name and protocol of a port, by which it finds its ServicePort; None if it cannot have one."""
    if port.name is None:
        said.add(f"{field}.name", None, "a port without a name is left out", 'write the name, or ""')
        return None
    if port.port is None or not 0 < port.port <= _LAST_PORT:
        said.add(f"{field}.port", port.port, "the port is left out", f"write 1 to {_LAST_PORT}")
        return None
    protocol = _PROTOCOLS.get(port.protocol)
    if protocol is None:
        said.add(f"{field}.protocol", port.protocol, "the port is left out", f"write {', '.join(Protocol)}")
        return None
    return sys.intern(port.name), protocol


_Backend = tuple[str, bool, bool, bool, str, tuple[str, ...], tuple[str, ...]]


def _backends(endpoints: Sequence[SliceEndpoint], family: Family, said: Complaints) -> list[_Backend]:
    """The fields of an Endpoint but for its port.

    Only the first address counts. Silence about a condition means the best: ready, serving, not terminating.
    """
    backends = []
    for index, endpoint in enumerate(endpoints):
        address = _address(endpoint, index, family, said)
        if not address:
            continue
        told = endpoint.conditions or _SILENT
        zones, nodes = _hints(endpoint.hints) if endpoint.hints else ((), ())
        node = sys.intern(endpoint.nodeName) if endpoint.nodeName else ""
        ready, serving = told.ready is not False, told.serving is not False
        backends.append((address, ready, serving, told.terminating is True, node, zones, nodes))
    return backends


def _address(endpoint: SliceEndpoint, index: int, family: Family, said: Complaints) -> str:
    if not endpoint.addresses:
        field = f"endpoints[{index}].addresses"
        said.add(field, None, "an endpoint without an address is left out", "write its address")
        return ""
    text = endpoint.addresses[0]
    if family is _IPV4 and _PLAIN.match(text):
        return text
    address = parse_ip(text)
    if address is None or family_of(address) != family:
        field = f"endpoints[{index}].addresses[0]"
        said.add(field, text, f"not an {family} address, so the endpoint is left out", "correct the address")
        return ""
    return str(address)


def _hints(hints: Hints) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return _shared(tuple([z.name for z in hints.forZones])), _shared(tuple([n.name for n in hints.forNodes]))


@lru_cache(maxsize=4096)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """Equal names are kept once: a cluster has a handful of zones and very many endpoints."""
    return tuple(map(sys.intern, names))


def _triggered(obj: EndpointSlice, said: Complaints) -> float:
    text = obj.metadata.annotations.get(TRIGGER_ANNOTATION)
    if text is None:
        return 0.0
    instant = parse_instant(text)
    if instant is None:
        field = f"metadata.annotations[{TRIGGER_ANNOTATION}]"
        said.add(field, text, "not a time, so nothing is measured", "write it as 2006-01-02T15:04:05Z")
        return 0.0
    return max(instant, 0.0)
