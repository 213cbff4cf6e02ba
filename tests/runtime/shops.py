"""As many plain Services as a test wants, in a row: names, addresses and ports tell their number."""

from collections.abc import Iterator
from typing import Any

from kubeproxy.api.change import Change, Delete, Upsert
from kubeproxy.api.decode import decode
from kubeproxy.api.meta import Ref


def shop(number: int, protocol: str = "TCP", **spec: Any) -> Change:
    """Service shop/s7 has 10.96.0.7:80."""
    address = f"10.96.{number // 250}.{number % 250 + 1}"
    port = {"port": 80, "protocol": protocol}
    given = {"clusterIP": address, "clusterIPs": [address], "ipFamilies": ["IPv4"], "ports": [port], **spec}
    metadata = {"name": f"s{number}", "namespace": "shop"}
    return Upsert(decode({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": given}))


def pods(number: int, count: int = 2, protocol: str = "TCP", triggered: str = "") -> Change:
    """So many endpoints, 10.77.x.1 and on, port 8080."""
    trigger = {"endpoints.kubernetes.io/last-change-trigger-time": triggered} if triggered else {}
    document = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"s{number}-a",
            "namespace": "shop",
            "labels": {"kubernetes.io/service-name": f"s{number}"},
            "annotations": trigger,
        },
        "addressType": "IPv4",
        "ports": [{"name": "", "port": 8080, "protocol": protocol}],
        "endpoints": [{"addresses": [f"10.77.{number % 250}.{n + 1}"]} for n in range(count)],
    }
    return Upsert(decode(document))


def shops(numbers: range, endpoints: int = 2) -> Iterator[Change]:
    """All of them with their endpoints."""
    for number in numbers:
        yield shop(number)
        yield pods(number, endpoints)


def closed(number: int) -> tuple[Change, Change]:
    """The Service goes, and its slice."""
    return Delete(Ref("Service", "shop", f"s{number}")), Delete(Ref("EndpointSlice", "shop", f"s{number}-a"))
