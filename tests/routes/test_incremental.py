"""Work grows with the change: what is not another is the very same object, and nobody is told of it."""

from typing import Any

from msgspec.structs import replace

from kubeproxy.routes.decide import Routes, Totals, decide
from kubeproxy.routes.healthports import health_ports
from tests.model.objects import HTTP, V6, add, drop, endpoint, node, port_name, service, slice_
from tests.routes.cases import ME
from tests.routes.clusters import Cluster

CART, OTHER = port_name("shop/cart:http"), port_name("shop/other:http")
BOTH = (
    add(service()),
    add(slice_("shop/cart-x", endpoint("10.0.1.1"), endpoint("10.0.1.2", node="far"))),
    add(service("shop/other", ip="10.0.0.20")),
    add(slice_("shop/other-x", "10.0.2.1", of="other")),
)


def test_only_what_changed_is_decided() -> None:
    cluster = Cluster(*BOTH)
    before = dict(cluster.routes)
    delta = cluster.hears(add(slice_("shop/cart-x", endpoint("10.0.1.1", "sick"))))
    assert list(delta) == [CART]
    assert cluster.routes[CART] is delta[CART]
    assert cluster.routes[OTHER] is before[OTHER]


def test_what_is_the_same_stays_the_same_object() -> None:
    """A pod that became ready elsewhere does not matter under Local policy: nothing downstream hears of it."""
    local = service(internalTrafficPolicy="Local")
    cluster = Cluster(
        add(local), add(slice_("shop/cart-x", endpoint("10.0.1.1"), endpoint("10.0.1.2", node="far")))
    )
    before = cluster.routes[CART]
    delta = cluster.hears(
        add(slice_("shop/cart-x", endpoint("10.0.1.1"), endpoint("10.0.1.2", "drain", node="far")))
    )
    assert delta == {}
    assert cluster.routes[CART] is before


def test_gone_is_none_and_only_once() -> None:
    cluster = Cluster(*BOTH)
    assert cluster.hears(drop("Service", "shop/cart")) == {CART: None}
    assert list(cluster.routes) == [OTHER]
    assert cluster.hears(drop("Service", "shop/cart"), drop("EndpointSlice", "shop/cart-x")) == {}


def test_endpoints_without_a_service_are_nobodys_business() -> None:
    assert Cluster().hears(add(slice_("shop/cart-x", "10.0.1.1"))) == {}


def test_a_service_finds_endpoints_that_were_there_before_it() -> None:
    cluster = Cluster(add(slice_("shop/cart-x", "10.0.1.1")))
    delta = cluster.hears(add(service()))
    decided = delta[CART]
    assert decided is not None
    assert [str(e) for e in decided.reachable] == ["10.0.1.1:8080"]


def test_the_other_family_is_decided_elsewhere() -> None:
    cluster = Cluster(add(service(ip=("10.0.0.1", "fd00::1"))))
    assert list(cluster.routes) == [CART]
    six, routes = port_name("shop/cart:http", family=V6), Routes()
    delta = decide(cluster.tracker.snapshot, replace(ME, family=V6), [CART, six], routes)
    assert list(delta) == list(routes) == [six]


def test_a_node_that_moves_decides_everything_again() -> None:
    """Only what comes out differently is in the answer."""
    hinted = slice_("shop/cart-x", endpoint("10.0.1.1", zones="za"), endpoint("10.0.1.2", zones="zb"))
    cluster = Cluster(*BOTH, add(hinted), add(node("me")))
    delta = cluster.moves_to(replace(ME, zone="zb"))
    assert list(delta) == [CART]
    decided = delta[CART]
    assert decided is not None
    assert [e.address for e in decided.reachable] == ["10.0.1.2"]
    assert cluster.moves_to(replace(ME, zone="zb")) == {}


def test_totals() -> None:
    """Sums that nobody has to add up again: endpoints, and Local policies without a local endpoint."""
    cluster = Cluster(*BOTH)
    assert cluster.routes.totals == Totals(3, 0, 0)
    local = {"internalTrafficPolicy": "Local", "externalTrafficPolicy": "Local", "type": "NodePort"}
    ports = [{**HTTP, "nodePort": 30080}]
    cluster.hears(
        add(service(ports=ports, **local)), add(slice_("shop/cart-x", endpoint("10.0.1.2", node="far")))
    )
    assert cluster.routes.totals == Totals(2, 1, 1)
    cluster.hears(add(slice_("shop/cart-x", endpoint("10.0.1.2", "sick", node="far"))))
    assert cluster.routes.totals == Totals(2, 0, 0)
    cluster.hears(add(slice_("shop/cart-x", "10.0.1.2")))
    assert cluster.routes.totals == Totals(2, 0, 0)
    cluster.hears(add(service(**local)), add(slice_("shop/cart-x", endpoint("10.0.1.2", node="far"))))
    assert cluster.routes.totals == Totals(2, 1, 1)
    cluster.hears(drop("Service", "shop/cart"), drop("Service", "shop/other"))
    assert cluster.routes.totals == Totals()


def test_external_policy_without_a_frontend_counts_as_without_local() -> None:
    """As upstream counts it: the local pool is not in use, so it is not there."""
    cluster = Cluster(add(service(type="LoadBalancer", externalTrafficPolicy="Local")), *BOTH[1:])
    assert cluster.routes[CART].local is None
    assert cluster.routes.totals == Totals(3, 0, 1)


class Unwalkable(dict[Any, Any]):
    """Answers by key and refuses to be walked over."""

    def _refuse(self) -> Any:
        raise AssertionError("somebody walks over all of it")

    __iter__ = keys = values = items = _refuse


def test_nobody_walks_over_everything() -> None:
    """A change costs the same in a cluster of ten thousand Services as in one of a hundred."""
    ports = [{**HTTP, "nodePort": 30080}]
    cluster = Cluster(*BOTH, add(service("shop/rival", ip="10.0.0.10")))
    tracker, routes = cluster.tracker, cluster.routes
    for side in tracker._sides.values():
        side.ports, side.services = Unwalkable(side.ports), Unwalkable(side.services)
        side.slices = Unwalkable(side.slices)
    tracker._records = Unwalkable(tracker._records)
    routes._decided = Unwalkable(routes._decided)
    routes.claims._holders = Unwalkable(routes.claims._holders)
    routes.claims._waiting = Unwalkable(routes.claims._waiting)
    for change in (
        add(service(ports=ports)),
        add(service("shop/rival", ip="10.0.0.20")),
        add(slice_("shop/cart-x", "10.0.1.7")),
        add(slice_("shop/cart-y", "10.0.1.8")),
        add(slice_("shop/cart-y", "10.0.1.8", of="other")),
        drop("EndpointSlice", "shop/cart-x"),
        drop("Service", "shop/rival"),
        drop("Service", "shop/cart"),
    ):
        assert cluster.hears(change), change
    health_ports(tracker.snapshot, ME, [CART, OTHER])
