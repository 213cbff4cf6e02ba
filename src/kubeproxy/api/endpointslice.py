"""discovery.k8s.io/v1 EndpointSlice.

The API server writes `null` for an empty list here; `decode` reads that as the default, as Go does.
"""

from kubeproxy.api.meta import ObjectMeta, Wire


class Conditions(Wire, frozen=True, gc=False):
    """Three answers of which none may be given; who reads them decides what silence means."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForZone(Wire, frozen=True, gc=False):
    name: str


class ForNode(Wire, frozen=True, gc=False):
    name: str


class Hints(Wire, frozen=True, gc=False):
    forZones: tuple[ForZone, ...] = ()
    forNodes: tuple[ForNode, ...] = ()


class SliceEndpoint(Wire, frozen=True, gc=False):
    addresses: tuple[str, ...] = ()
    conditions: Conditions = Conditions()
    nodeName: str | None = None
    zone: str | None = None
    hints: Hints | None = None


class SlicePort(Wire, frozen=True, gc=False):
    name: str | None = None
    port: int | None = None
    protocol: str | None = None


class EndpointSlice(Wire, frozen=True, gc=False):
    metadata: ObjectMeta
    addressType: str
    endpoints: tuple[SliceEndpoint, ...] = ()
    ports: tuple[SlicePort, ...] = ()
