"""Everything that was read → the objects a proxy is sent, as if an API server stood between."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from kubeproxy.api.addresses import Network, parse_cidr
from kubeproxy.api.change import KubeObject, ref_of
from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.meta import Ref
from kubeproxy.api.service import Service
from kubeproxy.api.servicecidr import ServiceCIDR
from kubeproxy.sources.admit import Entry
from kubeproxy.sources.allocate import Given, Numbered
from kubeproxy.sources.clusterips import cluster_ips
from kubeproxy.sources.endpoints import SERVICE_NAME, Endpoints, slices_of
from kubeproxy.sources.nodeports import node_ports
from kubeproxy.sources.notice import Level, Notice
from kubeproxy.sources.selection import about, idle, left_out

_PRIMARY: Final = "kubernetes"


class Ranges(Struct, frozen=True):
    """Where numbers come from if the directory has no ServiceCIDR; the first network's family is primary."""

    service_cidrs: tuple[str, ...] = ("10.96.0.0/12", "fd00:10:96::/112")
    node_ports: tuple[int, int] = (30000, 32767)


class Assembled(Struct, frozen=True):
    objects: dict[Ref, KubeObject]
    notices: tuple[Notice, ...]


def assemble(entries: Iterable[Entry], ranges: Ranges) -> Assembled:
    """Decides everything that no object can decide alone. Entries come in the order of their files."""
    unique, notices = _unique(entries)
    proxied: list[Entry] = []
    for entry in unique.values():
        reason = left_out(entry)
        if reason is None:
            proxied.append(entry)
        else:
            notices.append(reason)
    everyone = [entry.obj for entry in unique.values() if isinstance(entry.obj, Service)]
    services = {entry.ref: entry for entry in proxied if isinstance(entry.obj, Service)}
    slices = [entry for entry in proxied if isinstance(entry.obj, EndpointSlice)]
    made = list(_mirrored(proxied, slices, notices))
    objects: dict[Ref, KubeObject] = {
        entry.ref: entry.obj for entry in proxied if not isinstance(entry.obj, Service | Endpoints)
    }
    for found in made:
        objects.setdefault(ref_of(found), found)
    objects.update(_numbered(services, everyone, _networks(unique.values(), ranges), ranges, notices))
    notices.extend(idle([e for e in unique.values() if isinstance(e.obj, Service)], slices, made))
    return Assembled(objects, tuple(notices))


def _unique(entries: Iterable[Entry]) -> tuple[dict[Ref, Entry], list[Notice]]:
    """The first entry of each name has it; the others are told who does."""
    unique: dict[Ref, Entry] = {}
    notices: list[Notice] = []
    for entry in entries:
        first = unique.setdefault(entry.ref, entry)
        if first is not entry:
            problem = f"ignored: {first.file}, document {first.document} has the same name and comes first"
            remedy = "remove one of them, or change the name"
            notices.append(about(entry, "metadata.name", entry.ref.name, problem, remedy, Level.ERROR))
    return unique, notices


def _mirrored(
    proxied: Iterable[Entry], slices: Iterable[Entry], notices: list[Notice]
) -> Iterator[EndpointSlice]:
    """Slices made of Endpoints, for Services that nobody wrote a slice for."""
    served = {(entry.ref.namespace, entry.obj.metadata.labels.get(SERVICE_NAME)) for entry in slices}
    for entry in proxied:
        if not isinstance(entry.obj, Endpoints):
            continue
        if (entry.ref.namespace, entry.ref.name) in served:
            problem = "ignored: the Service has EndpointSlices of its own"
            notices.append(about(entry, "metadata.name", entry.ref.name, problem, "remove the Endpoints"))
        else:
            yield from slices_of(entry.obj)


def _networks(entries: Iterable[Entry], ranges: Ranges) -> tuple[Network, ...]:
    """The ranges for cluster IPs, the cluster's own before those that were added to it."""
    found = [entry.obj for entry in entries if isinstance(entry.obj, ServiceCIDR)]
    living = [each for each in found if each.metadata.deletionTimestamp is None]
    living.sort(key=lambda each: (each.metadata.name != _PRIMARY, each.metadata.name))
    texts = [text for each in living for text in each.spec.cidrs] or ranges.service_cidrs
    return tuple(dict.fromkeys(network for text in texts if (network := parse_cidr(text)) is not None))


def _numbered(
    entries: Mapping[Ref, Entry],
    everyone: Sequence[Service],
    networks: Sequence[Network],
    ranges: Ranges,
    notices: list[Notice],
) -> dict[Ref, KubeObject]:
    services = {ref: entry.obj for ref, entry in entries.items() if isinstance(entry.obj, Service)}
    addressed = cluster_ips(services, everyone, networks)
    for ref, numbered in addressed.items():
        if numbered.without:
            del services[ref]
        else:
            services[ref] = numbered.service
        notices.extend(_told(entries[ref], numbered, "so the Service is left out"))
    ported = node_ports(services, everyone, *ranges.node_ports)
    for ref, numbered in ported.items():
        services[ref] = numbered.service
        notices.extend(_told(entries[ref], numbered, "so it has none"))
    return dict(services)


def _told(entry: Entry, numbered: Numbered, consequence: str) -> Iterator[Notice]:
    for given in numbered.given:
        problem = f"not written down: assigned from {given.origin}"
        remedy = f"write {given.field.rpartition('.')[2]}: {given.value} to keep it whatever else is added"
        yield about(entry, given.field, given.value, problem, remedy)
    for lacking in numbered.without:
        yield about(entry, lacking.field, "", *_why_without(lacking, consequence), Level.ERROR)


def _why_without(lacking: Given, consequence: str) -> tuple[str, str]:
    if lacking.origin:
        return (
            f"not written down, and nothing is left of {lacking.origin}, {consequence}",
            "write a free one down",
        )
    family = lacking.family or "any family"
    remedy = "write the address down, or a ServiceCIDR with such a range"
    return f"not written down, and there is no range of {family}, {consequence}", remedy
