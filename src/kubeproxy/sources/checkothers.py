"""What the API server would refuse in an EndpointSlice, Endpoints, a Node or a ServiceCIDR."""

from collections.abc import Iterator
from typing import Final

from kubeproxy.api.addresses import families_of, family_of, parse_cidr
from kubeproxy.api.endpointslice import EndpointSlice, SliceEndpoint
from kubeproxy.api.node import Node
from kubeproxy.api.servicecidr import ServiceCIDR
from kubeproxy.sources import rules
from kubeproxy.sources.endpoints import Endpoints
from kubeproxy.sources.rules import FAMILIES, PROTOCOLS, Name, Wrong

_MOST_ENDPOINTS: Final = 1000
_MOST_ADDRESSES: Final = 100
_IP_TYPES: Final = ("InternalIP", "ExternalIP")


def check_slice(found: EndpointSlice) -> Iterator[Wrong]:
    yield from rules.metadata(found.metadata, Name.SUBDOMAIN)
    yield from rules.one_of("addressType", found.addressType, (*FAMILIES, "FQDN"))
    if len(found.endpoints) > _MOST_ENDPOINTS:
        problem = f"more than {_MOST_ENDPOINTS} endpoints in one slice"
        yield Wrong("endpoints", list(found.endpoints), problem, "divide them among several slices")
    for index, endpoint in enumerate(found.endpoints):
        yield from _endpoint(f"endpoints[{index}]", endpoint, found.addressType)
    for index, entry in enumerate(found.ports):
        field = f"ports[{index}]"
        if entry.name:
            yield from rules.named(f"{field}.name", entry.name, Name.LABEL)
        if entry.port is not None:
            yield from rules.port(f"{field}.port", entry.port)
        if entry.protocol is not None:
            yield from rules.one_of(f"{field}.protocol", entry.protocol, PROTOCOLS)
    yield from rules.distinct("ports", [entry.name or "" for entry in found.ports], ".name")


def _endpoint(field: str, endpoint: SliceEndpoint, family: str) -> Iterator[Wrong]:
    count = len(endpoint.addresses)
    if not count:
        yield Wrong(
            f"{field}.addresses", None, "no address", "add the address of the pod, or remove the endpoint"
        )
    if count > _MOST_ADDRESSES:
        problem = f"more than {_MOST_ADDRESSES} addresses of one endpoint"
        yield Wrong(
            f"{field}.addresses", list(endpoint.addresses), problem, "make an endpoint of each address"
        )
    if family in FAMILIES:
        for index, text in enumerate(endpoint.addresses):
            yield from _endpoint_address(f"{field}.addresses[{index}]", text, family)
    if endpoint.nodeName is not None:
        yield from rules.named(f"{field}.nodeName", endpoint.nodeName, Name.SUBDOMAIN)
    if endpoint.hints is not None:
        for index, zone in enumerate(endpoint.hints.forZones):
            yield from _not_empty(f"{field}.hints.forZones[{index}].name", zone.name)
        for index, node in enumerate(endpoint.hints.forNodes):
            yield from rules.named(f"{field}.hints.forNodes[{index}].name", node.name, Name.SUBDOMAIN)


def _not_empty(field: str, text: str) -> Iterator[Wrong]:
    if not text or not Name.LABEL_VALUE.fits(text):
        yield Wrong(field, text, "not a legal zone name", Name.LABEL_VALUE.remedy)


def _endpoint_address(field: str, text: str, family: str) -> Iterator[Wrong]:
    wrong = tuple(rules.address(field, text))
    yield from wrong
    if not wrong and families_of((text,)) != (family,):
        yield Wrong(field, text, f"addressType is {family}", "put each family in a slice of its own")


def check_endpoints(found: Endpoints) -> Iterator[Wrong]:
    yield from rules.metadata(found.metadata, Name.SUBDOMAIN)
    for index, subset in enumerate(found.subsets):
        field = f"subsets[{index}]"
        for kind, addresses in (
            ("addresses", subset.addresses),
            ("notReadyAddresses", subset.notReadyAddresses),
        ):
            for place, address in enumerate(addresses):
                yield from rules.address(f"{field}.{kind}[{place}].ip", address.ip)
        for place, entry in enumerate(subset.ports):
            if entry.name:
                yield from rules.named(f"{field}.ports[{place}].name", entry.name, Name.LABEL)
            yield from rules.port(f"{field}.ports[{place}].port", entry.port)
            yield from rules.one_of(f"{field}.ports[{place}].protocol", entry.protocol or "TCP", PROTOCOLS)
        yield from rules.distinct(f"{field}.ports", [entry.name for entry in subset.ports], ".name")


def check_node(node: Node) -> Iterator[Wrong]:
    yield from rules.metadata(node.metadata, Name.SUBDOMAIN, scoped=True)
    for index, text in enumerate(node.spec.podCIDRs):
        yield from rules.cidr(f"spec.podCIDRs[{index}]", text)
    if node.spec.podCIDR and node.spec.podCIDRs and node.spec.podCIDR != node.spec.podCIDRs[0]:
        remedy = "make both the same, or leave podCIDR out"
        yield Wrong("spec.podCIDR", node.spec.podCIDR, "not the same as spec.podCIDRs[0]", remedy)
    for index, entry in enumerate(node.status.addresses):
        if entry.type in _IP_TYPES:
            yield from rules.address(f"status.addresses[{index}].address", entry.address, special=True)


def check_servicecidr(found: ServiceCIDR) -> Iterator[Wrong]:
    yield from rules.metadata(found.metadata, Name.SUBDOMAIN, scoped=True)
    if not found.spec.cidrs:
        yield Wrong("spec.cidrs", None, "no network", "add one, such as 10.96.0.0/12")
    for index, text in enumerate(found.spec.cidrs):
        yield from rules.cidr(f"spec.cidrs[{index}]", text)
    families = [family_of(network) for text in found.spec.cidrs if (network := parse_cidr(text)) is not None]
    for index in range(1, len(families)):
        if families[index] in families[:index]:
            problem = f"a second {families[index]} network"
            yield Wrong(
                f"spec.cidrs[{index}]", found.spec.cidrs[index], problem, "make a ServiceCIDR of its own"
            )
