"""v1 Endpoints, the older way to say where a Service is served, → EndpointSlices.

In a cluster a controller makes slices of them; a directory of manifests has no controllers.
"""

from collections.abc import Iterator
from typing import Final

from kubeproxy.api.addresses import families_of
from kubeproxy.api.endpointslice import Conditions, EndpointSlice, SliceEndpoint, SlicePort
from kubeproxy.api.meta import ObjectMeta, Wire

SERVICE_NAME: Final = "kubernetes.io/service-name"
SKIP_MIRROR: Final = "endpointslice.kubernetes.io/skip-mirror"
_READY: Final = Conditions(ready=True, serving=True, terminating=False)
_NOT_READY: Final = Conditions(ready=False, serving=False, terminating=False)


class EndpointAddress(Wire, frozen=True, gc=False):
    ip: str
    nodeName: str | None = None


class EndpointPort(Wire, frozen=True, gc=False, kw_only=True):
    name: str = ""
    port: int
    protocol: str = "TCP"


class EndpointSubset(Wire, frozen=True, gc=False):
    addresses: tuple[EndpointAddress, ...] = ()
    notReadyAddresses: tuple[EndpointAddress, ...] = ()
    ports: tuple[EndpointPort, ...] = ()


class Endpoints(Wire, frozen=True, gc=False):
    metadata: ObjectMeta
    subsets: tuple[EndpointSubset, ...] = ()


def slices_of(endpoints: Endpoints) -> Iterator[EndpointSlice]:
    """One slice a subset and family: every address of a subset has all of its ports, as in a slice."""
    meta = endpoints.metadata
    labels = {**meta.labels, SERVICE_NAME: meta.name}
    for index, subset in enumerate(endpoints.subsets):
        ports = tuple(SlicePort(port.name, port.port, port.protocol or "TCP") for port in subset.ports)
        for family in ("IPv4", "IPv6"):
            members = tuple(_members(subset, family))
            if members:
                # With a dot, which people and controllers hardly put there: so it takes nobody's place.
                name = f"{meta.name}.endpoints-{index}-{family.lower()}"
                yield EndpointSlice(ObjectMeta(name, meta.namespace, labels), family, members, ports)


def _members(subset: EndpointSubset, family: str) -> Iterator[SliceEndpoint]:
    for conditions, addresses in ((_READY, subset.addresses), (_NOT_READY, subset.notReadyAddresses)):
        for address in addresses:
            if families_of((address.ip,)) == (family,):
                yield SliceEndpoint((address.ip,), conditions, address.nodeName)
