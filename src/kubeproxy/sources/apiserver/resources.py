"""The four lists a proxy follows: where they are, what of them is wanted, and how to ask."""

from typing import Final

from msgspec import Struct

from kubeproxy.api.change import CLUSTER_SCOPED
from kubeproxy.config.duration import format_duration

Query = tuple[tuple[str, str], ...]

#: objects in one page of a list
PAGE: Final = 500
_SECOND: Final = 1_000_000_000


class Resource(Struct, frozen=True):
    """`optional`: a proxy does its work without it, so a server that lacks it or withholds it is no reason
    to wait."""

    kind: str
    name: str
    group: str = ""
    selectors: Query = ()
    optional: bool = False

    @property
    def path(self) -> str:
        prefix = f"/apis/{self.group}/v1" if self.group else "/api/v1"
        return f"{prefix}/{self.name}"

    @property
    def namespaced(self) -> bool:
        return self.kind not in CLUSTER_SCOPED

    @property
    def full_name(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


def resources(node: str) -> tuple[Resource, ...]:
    """The Node first: what else is wanted depends on it."""
    return (
        Resource("Node", "nodes", selectors=(("fieldSelector", f"metadata.name={node}"),)),
        Resource(
            "Service",
            "services",
            selectors=(
                ("labelSelector", "!service.kubernetes.io/service-proxy-name"),
                ("fieldSelector", "spec.clusterIP!=None"),
            ),
        ),
        Resource(
            "EndpointSlice",
            "endpointslices",
            "discovery.k8s.io",
            selectors=(("labelSelector", "!service.kubernetes.io/headless"),),
        ),
        Resource("ServiceCIDR", "servicecidrs", "networking.k8s.io", optional=True),
    )


def streamed_list(resource: Resource, version: str, seconds: int) -> Query:
    """A watch that begins with everything there is, and tells where that ends."""
    return (
        *watched(resource, version, seconds),
        ("resourceVersionMatch", "NotOlderThan"),
        ("sendInitialEvents", "true"),
    )


def watched(resource: Resource, version: str, seconds: int) -> Query:
    """A watch from a version on."""
    from_there = (("resourceVersion", version),) if version else ()
    return (
        *resource.selectors,
        ("allowWatchBookmarks", "true"),
        *from_there,
        ("timeout", format_duration(seconds * _SECOND)),
        ("timeoutSeconds", str(seconds)),
        ("watch", "true"),
    )


def listed(resource: Resource, version: str, page: str) -> Query:
    """A page of the list; `page` is where the page before left off."""
    begins = (("continue", page),) if page else ((("resourceVersion", version),) if version else ())
    return (*resource.selectors, ("limit", str(PAGE)), *begins)


def listed_whole(resource: Resource, version: str) -> Query:
    """All of the list at once, for when its pages went out of date while they were read."""
    return (*resource.selectors, *((("resourceVersion", version),) if version else ()))
