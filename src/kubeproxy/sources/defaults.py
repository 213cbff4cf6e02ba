"""What the API server fills in when an object is written; what needs a look at others is in `allocate`."""

from functools import lru_cache
from sys import intern
from typing import Final

from msgspec.structs import replace

from kubeproxy.api.addresses import families_of
from kubeproxy.api.endpointslice import Conditions, EndpointSlice, SliceEndpoint, SlicePort
from kubeproxy.api.meta import ObjectMeta
from kubeproxy.api.node import Node
from kubeproxy.api.service import (
    ClientIPConfig,
    Service,
    ServicePortSpec,
    ServiceSpec,
    ServiceStatus,
    SessionAffinityConfig,
)
from kubeproxy.sources.checkservice import externally_accessible

AFFINITY_SECONDS: Final = 10800
_NAMESPACE: Final = "default"


def in_namespace(meta: ObjectMeta) -> ObjectMeta:
    """As kubectl without -n."""
    return meta if meta.namespace else replace(meta, namespace=_NAMESPACE)


def fill_service(service: Service) -> Service:
    """The Service as the API server would return it, but for what must differ from everybody else's."""
    spec = _fill_ips(_fill_words(service.spec))
    return Service(in_namespace(service.metadata), spec, _fill_status(service.status))


def _fill_words(spec: ServiceSpec) -> ServiceSpec:
    spec = replace(
        spec,
        type=spec.type or "ClusterIP",
        sessionAffinity=spec.sessionAffinity or "None",
        ports=tuple(_fill_port(port) for port in spec.ports),
        ipFamilyPolicy=spec.ipFamilyPolicy or None,
    )
    balanced, proxied = spec.type == "LoadBalancer", spec.type != "ExternalName"
    allocates = spec.allocateLoadBalancerNodePorts
    return replace(
        spec,
        sessionAffinityConfig=_fill_affinity(spec),
        internalTrafficPolicy=spec.internalTrafficPolicy or ("Cluster" if proxied else None),
        externalTrafficPolicy=spec.externalTrafficPolicy
        or ("Cluster" if externally_accessible(spec) else None),
        allocateLoadBalancerNodePorts=True if balanced and allocates is None else allocates,
    )


def _fill_port(port: ServicePortSpec) -> ServicePortSpec:
    return replace(port, protocol=port.protocol or "TCP", targetPort=port.targetPort or port.port)


def _fill_affinity(spec: ServiceSpec) -> SessionAffinityConfig | None:
    if spec.sessionAffinity != "ClientIP":
        return None
    given = spec.sessionAffinityConfig.clientIP if spec.sessionAffinityConfig is not None else None
    if given is not None and given.timeoutSeconds is not None:
        return spec.sessionAffinityConfig
    return SessionAffinityConfig(ClientIPConfig(AFFINITY_SECONDS))


def _fill_ips(spec: ServiceSpec) -> ServiceSpec:
    """clusterIP and clusterIPs say the same; families follow from addresses, and two mean dual-stack.

    Addresses that are wrong are left for the checks to name.
    """
    ips = spec.clusterIPs or ((spec.clusterIP,) if spec.clusterIP else ())
    first = spec.clusterIP or (ips[0] if ips else "")
    if not ips or first == "None" or spec.type == "ExternalName":
        return replace(spec, clusterIP=first, clusterIPs=ips)
    families, found = spec.ipFamilies, families_of(ips)
    if len(set(found)) == len(ips):
        families += found[len(families) :]
    dual = len(families) > 1 or len(ips) > 1
    policy = spec.ipFamilyPolicy or ("RequireDualStack" if dual else "SingleStack")
    return replace(spec, clusterIP=first, clusterIPs=ips, ipFamilies=families, ipFamilyPolicy=policy)


def _fill_status(status: ServiceStatus) -> ServiceStatus:
    ingress = tuple(
        replace(entry, ipMode="VIP") if entry.ip and entry.ipMode is None else entry
        for entry in status.loadBalancer.ingress
    )
    return replace(status, loadBalancer=replace(status.loadBalancer, ingress=ingress)) if ingress else status


def fill_slice(found: EndpointSlice) -> EndpointSlice:
    ports = tuple(SlicePort(port.name or "", port.port, port.protocol or "TCP") for port in found.ports)
    endpoints = tuple([_thrifty(endpoint) for endpoint in found.endpoints])
    return replace(found, metadata=in_namespace(found.metadata), ports=ports, endpoints=endpoints)


def _thrifty(endpoint: SliceEndpoint) -> SliceEndpoint:
    """The same, with what many endpoints have alike kept once: objects of a directory stay in memory."""
    return replace(
        endpoint,
        conditions=_once(endpoint.conditions),
        nodeName=intern(endpoint.nodeName) if endpoint.nodeName else endpoint.nodeName,
        zone=intern(endpoint.zone) if endpoint.zone else endpoint.zone,
    )


@lru_cache(maxsize=64)
def _once(conditions: Conditions) -> Conditions:
    return conditions


def fill_node(node: Node) -> Node:
    """podCIDR and the first of podCIDRs say the same. A Node has no namespace, whatever was written."""
    ranges = node.spec.podCIDRs or ((node.spec.podCIDR,) if node.spec.podCIDR else ())
    spec = replace(node.spec, podCIDRs=ranges, podCIDR=node.spec.podCIDR or (ranges[0] if ranges else ""))
    return Node(replace(node.metadata, namespace=""), spec, node.status)
