"""What a load balancer is told about this node."""

from typing import Any

import pytest

from kubeproxy.model.identity import ServiceName
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.healthports import HealthPort, health_ports
from tests.model.objects import V4, add, drop, endpoint, service, slice_
from tests.routes.cases import ME

CART = ServiceName("shop", "cart")
LOCAL = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 32000}
TWO = ({"name": "http", "port": 80}, {"name": "https", "port": 443})
COUNTS: list[tuple[str, list[Any], int]] = [
    ("nobody", [], 0),
    ("here", ["10.0.1.1", "10.0.1.2"], 2),
    ("elsewhere", [endpoint("10.0.1.1", node="far")], 0),
    ("v47-draining-does-not-count", [endpoint("10.0.1.1", "drain"), endpoint("10.0.1.2", node="far")], 0),
    ("published", [endpoint("10.0.1.1", "pub")], 1),
    ("sick", [endpoint("10.0.1.1", "sick"), "10.0.1.2"], 1),
]


@pytest.mark.parametrize("endpoints, count", [row[1:] for row in COUNTS], ids=[row[0] for row in COUNTS])
@pytest.mark.parametrize("ports", [TWO[:1], TWO], ids=["one-port", "two-ports"])
def test_addresses_count_once_however_many_ports(endpoints: list[Any], count: int, ports: Any) -> None:
    tracker = Tracker()
    changed = tracker.fold([add(service(**LOCAL)), add(slice_("shop/cart-x", *endpoints, ports=ports))])
    assert health_ports(tracker.snapshot, ME, changed.ipv4.names) == {CART: HealthPort(CART, 32000, count)}


def test_several_slices_and_a_port_the_service_does_not_have() -> None:
    tracker = Tracker()
    metrics = [{"name": "metrics", "port": 9090}]
    events = [
        add(slice_("shop/cart-x", "10.0.1.1")),
        add(slice_("shop/cart-y", "10.0.1.1", "10.0.1.2", ports=metrics)),
    ]
    changed = tracker.fold([add(service(**LOCAL)), *events])
    assert health_ports(tracker.snapshot, ME, changed.ipv4.names) == {CART: HealthPort(CART, 32000, 2)}


def test_none_when_there_is_no_port_any_more() -> None:
    tracker = Tracker()
    tracker.fold([add(service(**LOCAL)), add(slice_("shop/cart-x", "10.0.1.1"))])
    changed = tracker.fold([add(service(**{**LOCAL, "externalTrafficPolicy": "Cluster"}))])
    assert health_ports(tracker.snapshot, ME, changed.ipv4.names) == {CART: None}
    changed = tracker.fold([add(service(**LOCAL))])
    assert health_ports(tracker.snapshot, ME, changed.ipv4.names) == {CART: HealthPort(CART, 32000, 1)}
    changed = tracker.fold([drop("Service", "shop/cart")])
    assert health_ports(tracker.snapshot, ME, changed.ipv4.names) == {CART: None}


def test_a_change_of_endpoints_alone_asks_again() -> None:
    tracker = Tracker()
    tracker.fold([add(service(**LOCAL)), add(service("shop/other", ip="10.0.0.9", **LOCAL))])
    changed = tracker.fold([add(slice_("shop/cart-x", "10.0.1.1"))])
    assert health_ports(tracker.snapshot, ME, changed.ipv4.names) == {CART: HealthPort(CART, 32000, 1)}
    assert health_ports(tracker.snapshot, ME, ()) == {}
    assert not tracker.snapshot.ports_of(ServiceName("shop", "nobody"), V4)
