"""What one decision costs, and whether a change costs more in a larger cluster.

Run it as `python -m benchmarks.decide`.
"""

import gc
import time
from collections.abc import Callable, Iterator

from kubeproxy.api.change import Change, Upsert
from kubeproxy.api.endpointslice import Conditions, EndpointSlice, SliceEndpoint, SlicePort
from kubeproxy.api.meta import ObjectMeta
from kubeproxy.api.service import Service, ServicePortSpec, ServiceSpec
from kubeproxy.model.identity import Family
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.decide import Routes, decide, decide_port
from kubeproxy.routes.nodeview import DetectBy, Detector, NodeView

ENDPOINTS = 10
NODE = NodeView(Family.IPV4, "node-1", "zone-a", "192.0.2.1", detector=Detector(DetectBy.CIDR, "10.0.0.0/8"))


def service(number: int) -> Service:
    address = f"10.{96 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
    meta = ObjectMeta(f"service-{number}", "bench", creationTimestamp="2026-01-01T00:00:00Z")
    ports = (ServicePortSpec(name="http", port=80),)
    return Service(
        meta, ServiceSpec(clusterIP=address, clusterIPs=(address,), ipFamilies=("IPv4",), ports=ports)
    )


def slice_of(number: int, ready: bool = True) -> EndpointSlice:
    meta = ObjectMeta(f"service-{number}-x", "bench", {"kubernetes.io/service-name": f"service-{number}"})
    endpoints = tuple(
        SliceEndpoint(
            (f"10.{number >> 8 & 255}.{number & 255}.{i}",),
            Conditions(ready or i > 0, True, False),
            f"node-{i}",
            "zone-a",
        )
        for i in range(ENDPOINTS)
    )
    return EndpointSlice(meta, "IPv4", endpoints, (SlicePort("http", 8080, "TCP"),))


def cluster(services: int) -> Iterator[Change]:
    for number in range(services):
        yield Upsert(service(number))
        yield Upsert(slice_of(number))


def microseconds(what: Callable[[], object], times: int, rounds: int = 7) -> float:
    """The best of some rounds: everything that makes it slower is somebody else's work."""
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        for _ in range(times):
            what()
        best = min(best, time.process_time() - begun)
    return best / times * 1e6


def loaded(services: int) -> tuple[Tracker, Routes, float, float]:
    """A decided cluster, and the microseconds per Service it took to fold and to decide it."""
    tracker, routes, changes = Tracker(), Routes(), list(cluster(services))
    gc.collect()
    begun = time.process_time()
    changed = tracker.fold(changes)
    folded = time.process_time()
    decide(tracker.snapshot, NODE, changed.ipv4.names, routes)
    decided = time.process_time()
    return tracker, routes, (folded - begun) / services * 1e6, (decided - folded) / services * 1e6


def change_cost(services: int) -> tuple[float, float, float]:
    """Microseconds for one endpoint to become unready and ready again, halved; and those of the load."""
    tracker, routes, fold, load = loaded(services)
    flips = [Upsert(slice_of(services // 2, ready)) for ready in (False, True)]

    def flip() -> None:
        for change in flips:
            delta = decide(tracker.snapshot, NODE, tracker.fold([change]).ipv4.names, routes)
            assert len(delta) == 1

    return microseconds(flip, 200) / 2, fold, load


def main() -> None:
    tracker, _, _, _ = loaded(1)
    (name,) = tracker.snapshot.names(Family.IPV4)
    port, endpoints = tracker.snapshot.port(name), tracker.snapshot.endpoints(name)
    assert port is not None and len(endpoints) == ENDPOINTS
    once = microseconds(lambda: decide_port(port, endpoints, NODE), 2000)
    print(f"decide_port, {ENDPOINTS} endpoints: {once:.1f} µs (at most 25)")
    costs = {}
    for services in (100, 10_000):
        costs[services], fold, load = change_cost(services)
        line = f"{services:6} Services: a change {costs[services]:.1f} µs; the load {fold:.1f} µs to fold"
        print(f"{line}, {load:.1f} µs to decide, each")
    print(f"a change at 10,000 against 100: {costs[10_000] / costs[100]:.2f} (at most 1.3)")


if __name__ == "__main__":
    main()
