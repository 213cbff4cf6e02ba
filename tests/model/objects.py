"""Kubernetes objects in one line each, as the API server would hold them."""

from collections.abc import Sequence
from typing import Any

from kubeproxy.api.change import Delete, Upsert
from kubeproxy.api.decode import decode_as
from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.meta import Ref
from kubeproxy.api.node import Node
from kubeproxy.api.service import Service
from kubeproxy.api.servicecidr import ServiceCIDR
from kubeproxy.model.identity import Family, PortName, Protocol

V4, V6 = Family.IPV4, Family.IPV6
HTTP = {"name": "http", "port": 80}


def service(
    name: str = "shop/cart",
    *,
    ip: str | Sequence[str] = "10.0.0.10",
    families: Sequence[str] | None = None,
    ports: Sequence[dict[str, Any]] = (HTTP,),
    created: str | None = None,
    labels: dict[str, str] | None = None,
    ingress: Sequence[dict[str, Any]] = (),
    **spec: Any,
) -> Service:
    """`ip` is one cluster IP or several; the families follow from them unless they are said."""
    namespace, _, own = name.partition("/")
    ips = [ip] if isinstance(ip, str) else list(ip)
    if families is None:
        families = ["IPv6" if ":" in address else "IPv4" for address in ips]
    meta = {"name": own, "namespace": namespace, "creationTimestamp": created, "labels": labels or {}}
    addresses = {"clusterIP": ips[0] if ips else "", "clusterIPs": ips, "ipFamilies": list(families)}
    raw = {
        "metadata": meta,
        "spec": {**addresses, "ports": list(ports), **spec},
        "status": {"loadBalancer": {"ingress": list(ingress)}},
    }
    return decode_as(Service, raw)


def endpoint(
    address: str, state: str = "ok", node: str = "me", zones: str = "", nodes: str = ""
) -> dict[str, Any]:
    """An endpoint in one of the states the case tables speak of."""
    ready, serving, terminating = {
        "ok": (True, True, False),
        "pub": (True, False, True),
        "drain": (False, True, True),
        "dead": (False, False, True),
        "sick": (False, False, False),
        "odd": (False, True, False),
    }[state]
    raw: dict[str, Any] = {
        "addresses": [address],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "nodeName": node,
    }
    if zones or nodes:
        raw["hints"] = {
            "forZones": [{"name": zone} for zone in zones.split(",") if zone],
            "forNodes": [{"name": node} for node in nodes.split(",") if node],
        }
    return raw


def slice_(
    name: str = "shop/cart-1",
    *endpoints: str | dict[str, Any],
    of: str = "cart",
    ports: Sequence[dict[str, Any]] = ({"name": "http", "port": 8080, "protocol": "TCP"},),
    kind: str = "IPv4",
    labels: dict[str, str] | None = None,
    trigger: str | None = None,
    version: str = "",
) -> EndpointSlice:
    namespace, _, own = name.partition("/")
    all_labels = {"kubernetes.io/service-name": of, **(labels or {})}
    annotations = {} if trigger is None else {"endpoints.kubernetes.io/last-change-trigger-time": trigger}
    raw = {
        "metadata": {
            "name": own,
            "namespace": namespace,
            "labels": all_labels,
            "annotations": annotations,
            "resourceVersion": version,
        },
        "addressType": kind,
        "endpoints": [endpoint(e) if isinstance(e, str) else e for e in endpoints],
        "ports": list(ports),
    }
    return decode_as(EndpointSlice, raw)


def node(name: str = "me", *, version: str = "", **labels: str) -> Node:
    meta = {"name": name, "labels": labels, "resourceVersion": version}
    return decode_as(Node, {"metadata": meta})


def service_cidr(name: str, *cidrs: str) -> ServiceCIDR:
    return decode_as(ServiceCIDR, {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}})


def add(obj: Service | EndpointSlice | Node | ServiceCIDR) -> Upsert:
    return Upsert(obj)


def drop(kind: str, name: str) -> Delete:
    namespace, _, own = name.rpartition("/")
    return Delete(Ref(kind, namespace, own))


def port_name(text: str = "shop/cart:http", protocol: str = "TCP", family: Family = V4) -> PortName:
    """ "shop/cart:http", "shop/cart" for a port without a name."""
    owner, _, port = text.partition(":")
    namespace, _, own = owner.partition("/")
    return PortName(namespace, own, port, Protocol(protocol), family)
