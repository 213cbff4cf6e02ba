"""Many Services as manifests, for daemons under test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.lab.daemon import write_json

NAMESPACE = "shop"


def service(number: int, **spec: Any) -> dict[str, Any]:
    """A Service with one TCP port, the same each time for a number."""
    address = f"10.96.{number >> 8}.{number & 255}"
    given = {
        "type": "ClusterIP",
        "clusterIP": address,
        "clusterIPs": [address],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
    }
    metadata = {"name": f"s{number}", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": given | spec}


def endpoint_slice(number: int, addresses: list[str]) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": f"s{number}"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"s{number}-a", "namespace": NAMESPACE, "labels": labels},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in addresses],
    }


def addresses(number: int, endpoints: int) -> list[str]:
    numbers = range(number * endpoints, (number + 1) * endpoints)
    return [f"10.77.{n >> 8}.{n & 255}" for n in numbers]


def shops(count: int, endpoints: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield service(number)
        yield endpoint_slice(number, addresses(number, endpoints))


def write_shops(folder: Path, count: int, endpoints: int) -> Path:
    """A directory of manifests with so many Services."""
    folder.mkdir(parents=True)
    write_json(folder / "shops.yaml", *shops(count, endpoints))
    return folder
