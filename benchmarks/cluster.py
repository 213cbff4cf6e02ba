"""A large cluster made of numbers, as Changes or as a recording: the same objects on every run.

    python -m benchmarks.cluster 5000x10 FILE          5,000 Services of 10 endpoints
    python -m benchmarks.cluster 5000x10 FILE 1000     and then 1,000 changes of one endpoint, 50 a second

The objects are those with which other implementations were measured through an API server.
"""

import random
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

from kubeproxy.api.change import KINDS, Change, Synced, Upsert
from kubeproxy.api.endpointslice import Conditions, EndpointSlice, SliceEndpoint, SlicePort
from kubeproxy.api.meta import ObjectMeta
from kubeproxy.api.node import Node, NodeAddress, NodeStatus
from kubeproxy.api.service import Service, ServicePortSpec, ServiceSpec
from kubeproxy.sources.defaults import fill_service
from kubeproxy.sources.recording import Recorder

NODE = "bench-node"
NODE_IP = "192.0.2.10"
PROBE, PROBE_IP, PROBE_ENDPOINT = "svc-probe", "172.30.255.1", "10.143.0.1"
PORT, TARGET_PORT = 80, 8080
CHANGES_A_SECOND = 50.0

_FIRST_CLUSTER_IP = int(IPv4Address("172.30.1.0"))
_FIRST_ENDPOINT = int(IPv4Address("10.128.1.0"))
_SPARE_ENDPOINT = int(IPv4Address("10.142.0.0"))
_NODES = 50
_SPARES = 65_000
_READY = Conditions(ready=True, serving=True, terminating=False)


def cluster(services: int, endpoints: int) -> Iterator[Change]:
    """All there is at the start; the last Service is the one that probes wait for."""
    addresses = (NodeAddress("InternalIP", NODE_IP), NodeAddress("Hostname", NODE))
    yield Upsert(Node(ObjectMeta(NODE), status=NodeStatus(addresses)))
    for number in range(services - 1):
        yield Upsert(
            service(name_of(number), str(IPv4Address(_FIRST_CLUSTER_IP + number)), protocol_of(number))
        )
    yield Upsert(service(PROBE, PROBE_IP, "TCP"))
    for number in range(services - 1):
        yield Upsert(slice_of(name_of(number), endpoints_of(number, endpoints), protocol_of(number)))
    yield Upsert(slice_of(PROBE, (PROBE_ENDPOINT,), "TCP"))
    yield from (Synced(kind) for kind in KINDS)


def churn(services: int, endpoints: int, count: int, seed: int = 1) -> Iterator[Change]:
    """One endpoint of one Service at a time gives way to another address, until the next change of it."""
    chance = random.Random(seed)
    for turn in range(count):
        number = chance.randrange(services - 1)
        addresses = list(endpoints_of(number, endpoints))
        addresses[chance.randrange(endpoints)] = str(IPv4Address(_SPARE_ENDPOINT + turn % _SPARES))
        yield Upsert(slice_of(name_of(number), tuple(addresses), protocol_of(number), str(turn + 1)))


def name_of(number: int) -> str:
    return f"svc-{number:05}"


def protocol_of(number: int) -> str:
    return "UDP" if number % 100 == 50 else "TCP"


def endpoints_of(number: int, count: int) -> tuple[str, ...]:
    first = _FIRST_ENDPOINT + number * count
    return tuple(str(IPv4Address(first + place)) for place in range(count))


def service(name: str, address: str, protocol: str) -> Service:
    port = ServicePortSpec(name="p", port=PORT, targetPort=TARGET_PORT, protocol=protocol)
    spec = ServiceSpec(clusterIP=address, ports=(port,), selector={"app": name})
    return fill_service(Service(ObjectMeta(name, "default"), spec))


def slice_of(name: str, addresses: tuple[str, ...], protocol: str, version: str = "") -> EndpointSlice:
    labels = {
        "kubernetes.io/service-name": name,
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    members = tuple(
        SliceEndpoint((address,), _READY, f"node-{int(IPv4Address(address)) % _NODES}")
        for address in addresses
    )
    meta = ObjectMeta(name, "default", labels, resourceVersion=version)
    return EndpointSlice(meta, "IPv4", members, (SlicePort("p", TARGET_PORT, protocol),))


def record(
    path: Path,
    services: int,
    endpoints: int,
    changes: int = 0,
    *,
    first: float = 0.0,
    pause: float = 1 / CHANGES_A_SECOND,
) -> None:
    """The cluster, and changes that begin after `first` seconds and come every `pause` seconds."""
    path.unlink(missing_ok=True)
    with Recorder(path) as recorder:
        recorder.record(cluster(services, endpoints), 0.0)
        for turn, change in enumerate(churn(services, endpoints, changes), 1):
            recorder.record((change,), first + turn * pause)


def main(arguments: list[str]) -> None:
    size, path, *changes = arguments
    services, endpoints = map(int, size.split("x"))
    record(Path(path), services, endpoints, int(changes[0]) if changes else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
