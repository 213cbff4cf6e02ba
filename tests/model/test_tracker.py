"""What a fold names, what it leaves out, and what is known afterwards: the case tables T, C and L."""

from typing import Any

import pytest

from kubeproxy.api.change import Change, Synced
from kubeproxy.model.changed import Changed, Counts, FamilyChanges
from kubeproxy.model.identity import Family, PortName, ServiceName
from kubeproxy.model.tracker import Tracker
from tests.model.objects import (
    HTTP,
    V4,
    V6,
    add,
    drop,
    endpoint,
    node,
    port_name,
    service,
    service_cidr,
    slice_,
)

S, T = port_name("shop/cart:http"), port_name("shop/other:http")
CART = ServiceName("shop", "cart")
TWO_PORTS = (HTTP, {"name": "https", "port": 443})


def tracked(*before: Change) -> Tracker:
    tracker = Tracker()
    tracker.fold(before)
    return tracker


def ips(tracker: Tracker, family: Family = V4) -> dict[str, str]:
    found = {}
    for name in tracker.snapshot.names(family):
        port = tracker.snapshot.port(name)
        assert port is not None
        found[str(name)] = port.cluster_ip
    return found


def texts(tracker: Tracker, name: PortName = S) -> list[str]:
    return [str(e) for e in tracker.snapshot.endpoints(name)]


A = add(service(ip="10.0.0.1"))
B = add(service(ip="10.0.0.2"))
GONE = drop("Service", "shop/cart")
OTHER = add(service("shop/other", ip="10.0.0.9"))
SERVICES: list[tuple[str, list[Change], list[Change], set[PortName], dict[str, str]]] = [
    # id, known before, events, names, live afterwards
    ("T1", [], [A], {S}, {"shop/cart:http": "10.0.0.1"}),
    ("T2", [], [A, GONE], set(), {}),
    ("T3", [A], [GONE, A], set(), {"shop/cart:http": "10.0.0.1"}),
    ("T4", [A], [GONE, B], {S}, {"shop/cart:http": "10.0.0.2"}),
    ("T5", [A], [B, A], set(), {"shop/cart:http": "10.0.0.1"}),
    (
        "T6",
        [add(service(ip="10.0.0.1", ports=TWO_PORTS))],
        [A],
        {port_name("shop/cart:https")},
        {"shop/cart:http": "10.0.0.1"},
    ),
    (
        "T7",
        [A],
        [add(service(ip="10.0.0.1", ports=[{"name": "web", "port": 80}]))],
        {S, port_name("shop/cart:web")},
        {"shop/cart:web": "10.0.0.1"},
    ),
    ("T8", [A], [A], set(), {"shop/cart:http": "10.0.0.1"}),
    ("T9", [A], [add(service(ip="10.0.0.1", type="ExternalName"))], {S}, {}),
    ("T10-headless", [], [add(service(ip="None"))], set(), {}),
    ("T10-external-name", [], [add(service(ip="", type="ExternalName"))], set(), {}),
    ("T11", [A], [OTHER, A], {T}, {"shop/cart:http": "10.0.0.1", "shop/other:http": "10.0.0.9"}),
    ("delete-unknown", [], [GONE], set(), {}),
    ("deleted", [A], [GONE], {S}, {}),
    (
        "proxy-name-label",
        [A],
        [add(service(ip="10.0.0.1", labels={"service.kubernetes.io/service-proxy-name": "x"}))],
        {S},
        {},
    ),
]


@pytest.mark.parametrize(
    "before, events, names, live", [r[1:] for r in SERVICES], ids=[r[0] for r in SERVICES]
)
@pytest.mark.parametrize("at_once", [True, False], ids=["one-fold", "event-by-event"])
def test_services(
    before: list[Change], events: list[Change], names: set[PortName], live: dict[str, str], at_once: bool
) -> None:
    """Events that undo each other leave nothing to do, however they arrive."""
    tracker = tracked(*before)
    if at_once:
        tracker.hear(events)
    else:
        for event in events:
            tracker.hear([event])
    assert tracker.counts(V4).pending_services == len({name.owner for name in names})
    assert tracker.pending is bool(names)
    changed = tracker.take()
    assert set(changed.ipv4.names) == names
    assert len(changed.ipv4.names) == len(names)
    assert ips(tracker) == live
    assert changed.ipv6 == FamilyChanges()
    assert tracker.counts(V4).pending_services == 0
    assert tracker.take() == Changed()


def test_t12_a_family_that_comes_is_news_in_that_family_alone() -> None:
    tracker = tracked(A)
    changed = tracker.fold([add(service(ip=("10.0.0.1", "fd00::1")))])
    assert (changed.ipv4.names, changed.ipv6.names) == ((), (port_name("shop/cart:http", family=V6),))
    assert ips(tracker, V6) == {"shop/cart:http": "fd00::1"}
    assert [port.cluster_ip for port in tracker.snapshot.ports_of(CART, V6)] == ["fd00::1"]


def test_t3_with_another_age_is_a_change() -> None:
    """Age decides who has a contested address, so a Service that was made again may lose one."""
    tracker = tracked(add(service(created="2026-01-01T00:00:00Z")))
    assert tracker.fold([GONE, add(service(created="2026-01-02T00:00:00Z"))]).ipv4.names == (S,)


def test_an_unchanged_port_stays_the_same_object() -> None:
    tracker = tracked(add(service(ports=TWO_PORTS)))
    before = tracker.snapshot.port(S)
    tracker.fold([add(service(ports=(HTTP, {"name": "https", "port": 8443})))])
    assert tracker.snapshot.port(S) is before


X = slice_("shop/cart-x", "10.0.1.1")
Y = slice_("shop/cart-y", "10.0.1.2")
NO_X, NO_Y = drop("EndpointSlice", "shop/cart-x"), drop("EndpointSlice", "shop/cart-y")
HTTPS = port_name("shop/cart:https")
BOTH_PORTS = ({"name": "http", "port": 80}, {"name": "https", "port": 443})
SLICES: list[tuple[str, list[Change], list[Change], set[PortName], dict[PortName, list[str]]]] = [
    # id, known before, events, names, endpoints afterwards
    (
        "C1",
        [],
        [
            add(
                slice_(
                    "shop/cart-x", "10.0.1.1", endpoint("10.0.1.2", node="far"), "10.0.1.3", ports=BOTH_PORTS
                )
            )
        ],
        {S, HTTPS},
        {
            S: ["10.0.1.1:80", "10.0.1.2:80", "10.0.1.3:80"],
            HTTPS: ["10.0.1.1:443", "10.0.1.2:443", "10.0.1.3:443"],
        },
    ),
    ("C2", [add(X)], [add(Y)], {S}, {S: ["10.0.1.1:8080", "10.0.1.2:8080"]}),
    (
        "C3",
        [add(X)],
        [add(slice_("shop/cart-y", "10.0.1.1", "10.0.1.2"))],
        {S},
        {S: ["10.0.1.1:8080", "10.0.1.2:8080"]},
    ),
    (
        "C4",
        [add(X)],
        [add(slice_("shop/cart-y", "10.0.1.1", ports=[{"name": "http", "port": 80}]))],
        {S},
        {S: ["10.0.1.1:80", "10.0.1.1:8080"]},
    ),
    (
        "C5",
        [add(X)],
        [add(slice_("mall/cart-x", "10.0.2.1"))],
        {port_name("mall/cart:http")},
        {S: ["10.0.1.1:8080"], port_name("mall/cart:http"): ["10.0.2.1:8080"]},
    ),
    (
        "C6",
        [],
        [add(slice_("shop/cart-x", "10.0.1.1", ports=[{"name": "http", "port": None}]))],
        set(),
        {S: []},
    ),
    (
        "C10-moves",
        [add(X)],
        [add(slice_("shop/cart-y", "10.0.1.1")), NO_X],
        {S},
        {S: ["10.0.1.1:8080"]},
    ),
    ("C11", [], [add(X), NO_X], set(), {S: []}),
    ("C12", [], [NO_X], set(), {S: []}),
    ("C13", [add(X)], [add(X)], set(), {S: ["10.0.1.1:8080"]}),
    (
        "Q19-metadata-only",
        [add(X)],
        [add(slice_("shop/cart-x", "10.0.1.1", version="2", labels={"a": "b"}))],
        set(),
        {S: ["10.0.1.1:8080"]},
    ),
    (
        "C14",
        [add(slice_("shop/cart-x", "10.0.1.1", "10.0.1.2", ports=BOTH_PORTS))],
        [add(slice_("shop/cart-x", "10.0.1.2", "10.0.1.1", ports=BOTH_PORTS[::-1]))],
        set(),
        {S: ["10.0.1.1:80", "10.0.1.2:80"], HTTPS: ["10.0.1.1:443", "10.0.1.2:443"]},
    ),
    ("C15", [add(X), add(Y)], [NO_X], {S}, {S: ["10.0.1.2:8080"]}),
    ("C16", [add(X)], [NO_X], {S}, {S: []}),
    ("C17", [A, add(X)], [GONE], {S}, {S: ["10.0.1.1:8080"]}),
    ("C18", [add(X)], [A], {S}, {S: ["10.0.1.1:8080"]}),
    (
        "C19",
        [add(X)],
        [add(slice_("shop/cart-x", "10.0.1.1", labels={"service.kubernetes.io/headless": ""}))],
        {S},
        {S: []},
    ),
    (
        "Q4-relabelled",
        [add(X)],
        [add(slice_("shop/cart-x", "10.0.1.1", of="other"))],
        {S, T},
        {S: [], T: ["10.0.1.1:8080"]},
    ),
    (
        "one-of-two-ports",
        [add(slice_("shop/cart-x", "10.0.1.1", ports=BOTH_PORTS))],
        [add(slice_("shop/cart-x", "10.0.1.1", ports=(BOTH_PORTS[0], {"name": "https", "port": 8443})))],
        {HTTPS},
        {S: ["10.0.1.1:80"], HTTPS: ["10.0.1.1:8443"]},
    ),
    (
        "there-and-back",
        [add(X)],
        [add(slice_("shop/cart-x", "10.0.1.7")), add(X)],
        set(),
        {S: ["10.0.1.1:8080"]},
    ),
    ("FQDN", [], [add(slice_("shop/cart-x", "example.com", kind="FQDN"))], set(), {S: []}),
]


@pytest.mark.parametrize("before, events, names, known", [r[1:] for r in SLICES], ids=[r[0] for r in SLICES])
@pytest.mark.parametrize("at_once", [True, False], ids=["one-fold", "event-by-event"])
def test_slices(
    before: list[Change],
    events: list[Change],
    names: set[PortName],
    known: dict[PortName, list[str]],
    at_once: bool,
) -> None:
    tracker = tracked(*before)
    for batch in [events] if at_once else [[event] for event in events]:
        tracker.hear(batch)
    changed = tracker.take()
    assert set(changed.ipv4.names) == names
    assert {name: texts(tracker, name) for name in known} == known
    assert tracker.take() == Changed()


def test_c10_a_pod_that_moved_is_never_missing() -> None:
    """Its new slice is heard of before the old one forgets it."""
    tracker = tracked(add(X))
    assert tracker.fold([add(slice_("shop/cart-y", "10.0.1.1"))]).ipv4.names == (S,)
    assert texts(tracker) == ["10.0.1.1:8080"]
    tracker.fold([NO_X])
    assert texts(tracker) == ["10.0.1.1:8080"]


def test_c16_nothing_stays_behind_the_last_slice() -> None:
    tracker = tracked(A, add(X), add(Y), NO_X, NO_Y, GONE)
    side = tracker.snapshot._sides[V4]
    assert (side.ports, side.services, side.slices, tracker._records) == ({}, {}, {}, {})


def test_slices_of_a_family_are_heard_in_it_alone() -> None:
    tracker = Tracker()
    changed = tracker.fold([add(slice_("shop/cart-6", "fd00::1", kind="IPv6"))])
    name = port_name("shop/cart:http", family=V6)
    assert (changed.ipv4.names, changed.ipv6.names) == ((), (name,))
    assert texts(tracker, name) == ["[fd00::1]:8080"]
    assert (tracker.counts(V4), tracker.counts(V6)) == (Counts(0, 0, 0, 0), Counts(0, 1, 0, 0))


def test_a_slice_may_come_back_in_the_other_family() -> None:
    """A deletion and a creation that a broken watch delivers as one update."""
    tracker = tracked(add(X))
    changed = tracker.fold([add(slice_("shop/cart-x", "fd00::1", kind="IPv6"))])
    assert (changed.ipv4.names, changed.ipv6.names) == ((S,), (port_name("shop/cart:http", family=V6),))
    assert (texts(tracker), texts(tracker, port_name("shop/cart:http", family=V6))) == (
        [],
        ["[fd00::1]:8080"],
    )


def test_slices_of_one_service_share_an_order() -> None:
    """Of two that both keep an address, that of the last slice by name counts, whoever was heard first."""
    one, two = (
        slice_("shop/cart-a", endpoint("10.0.1.1", node="n1")),
        slice_("shop/cart-b", endpoint("10.0.1.1", node="n2")),
    )
    for events in ([add(one), add(two)], [add(two), add(one)]):
        (kept,) = tracked(*events).snapshot.endpoints(S)
        assert kept.node == "n2"


def test_an_only_slice_lends_its_own_tuple() -> None:
    """Ten endpoints for each of thousands of Services: a copy of each would be most of the memory."""
    tracker = tracked(add(X))
    assert tracker.snapshot.endpoints(S) is tracker.snapshot.endpoints(S)


def test_counts() -> None:
    tracker = Tracker()
    tracker.hear([A, OTHER, OTHER, add(X), add(X), add(Y), NO_Y])
    assert tracker.counts(V4) == Counts(
        service_events=3, slice_events=4, pending_services=2, pending_slices=3
    )
    assert tracker.counts(V6) == Counts(
        service_events=3, slice_events=0, pending_services=0, pending_slices=0
    )
    tracker.take()
    assert tracker.counts(V4) == Counts(3, 4, 0, 0)


DNS = ({"name": "dns", "port": 53, "protocol": "UDP"},)
UDP: list[tuple[str, list[Change], list[Change], tuple[ServiceName, ...]]] = [
    ("tcp-only", [], [add(X)], ()),
    ("udp-comes", [], [add(slice_("shop/cart-x", "10.0.1.1", ports=DNS))], (CART,)),
    ("udp-goes", [add(slice_("shop/cart-x", "10.0.1.1", ports=DNS))], [NO_X], (CART,)),
    ("udp-in-another-slice", [add(slice_("shop/cart-x", "10.0.1.1", ports=DNS))], [add(Y)], (CART,)),
    ("service-alone", [add(slice_("shop/cart-x", "10.0.1.1", ports=DNS))], [A], ()),
    ("unchanged", [add(slice_("shop/cart-x", "10.0.1.1", ports=DNS))], [add(slice_("shop/cart-x", "10.0.1.1", ports=DNS))], ()),
    ("another-service", [add(slice_("shop/cart-x", "10.0.1.1", ports=DNS))], [add(slice_("shop/o-1", "10.0.1.1", of="o"))], ()),
]  # fmt: skip


@pytest.mark.parametrize("before, events, services", [r[1:] for r in UDP], ids=[r[0] for r in UDP])
def test_stale_flows_are_looked_for_after(before: list[Change], events: list[Change], services: Any) -> None:
    assert tracked(*before).fold(events).ipv4.udp == services


START = 1_000.0
T0, T1, T2, T3 = (
    "1970-01-01T00:20:00Z",
    "1970-01-01T00:20:01Z",
    "1970-01-01T00:20:02Z",
    "1970-01-01T00:20:03.5Z",
)
S0, S1, S2, S3 = 1200.0, 1201.0, 1202.0, 1203.5


def at(
    trigger: str | None, name: str = "cart-x", of: str = "cart", address: str = "10.0.1.1", **more: Any
) -> Change:
    return add(slice_(f"shop/{name}", address, of=of, trigger=trigger, **more))


LATENCY: list[tuple[str, list[Change], list[Change], tuple[float, ...]]] = [
    ("L1", [], [at(T0)], (S0,)),
    ("L2", [], [at(T0), at(T1)], (S0, S1)),
    ("L3", [], [at(T1), at(T2, "other-x", "other"), at(T3)], (S1, S3, S2)),
    ("L4-none", [], [at(None)], ()),
    ("L4-unparsable", [], [at("soon")], ()),
    ("L5-before", [], [at("1970-01-01T00:10:00Z")], ()),
    ("L5-exactly", [], [at("1970-01-01T00:16:40Z")], ()),
    ("L5-zero", [], [at("0001-01-01T00:00:00Z")], ()),
    ("L6", [], [at(T0), NO_X], ()),
    ("L7", [], [at(T0), NO_X, at(T2)], (S2,)),
    ("L8", [at(T0)], [NO_X], ()),
    ("L9", [at(None, "cart-y")], [at(T0), NO_Y], ()),
    # Upstream counts it again; the time says nothing about a change of labels.
    ("L10", [], [at(T0), at(T0, labels={"a": "b"}, version="2")], (S0,)),
    ("L10-new-time", [], [at(T0), at(T1, version="2")], (S0, S1)),
    ("L11", [at(T0)], [at(T0)], ()),
    ("L12", [], [add(slice_("shop/cart-6", "fd00::1", kind="IPv6", trigger=T0))], ()),
]


@pytest.mark.parametrize("before, events, samples", [r[1:] for r in LATENCY], ids=[r[0] for r in LATENCY])
def test_trigger_times(before: list[Change], events: list[Change], samples: tuple[float, ...]) -> None:
    tracker = Tracker(started=START)
    tracker.fold(before)
    tracker.hear(events)
    assert tracker.take().ipv4.triggered == samples


def test_synced() -> None:
    """Nothing may be programmed before both are complete."""
    tracker = Tracker()
    assert not tracker.synced(("Service", "EndpointSlice"))
    tracker.hear([A, Synced("Service")])
    assert tracker.synced(["Service"])
    assert not tracker.synced(("Service", "EndpointSlice"))
    tracker.hear([Synced("EndpointSlice")])
    assert tracker.synced(("Service", "EndpointSlice"))


def test_nodes() -> None:
    tracker = Tracker()
    assert tracker.fold([add(node("me", zone="za"))]).nodes == ("me",)
    assert tracker.fold([add(node("me", version="7", zone="za"))]) == Changed()
    known = tracker.node("me")
    assert known is not None
    assert known.metadata.resourceVersion == "7"
    assert tracker.fold([add(node("me", zone="zb")), add(node("you"))]).nodes == ("me", "you")
    assert tracker.fold([drop("Node", "me"), drop("Node", "nobody")]).nodes == ("me",)
    assert (tracker.node("me"), tracker.node("nobody")) == (None, None)


def test_q18_a_range_two_objects_name_stays_until_both_are_gone() -> None:
    tracker = Tracker()
    events = [add(service_cidr("a", "10.96.0.0/12", "fd00::/112")), add(service_cidr("b", "10.96.0.0/12"))]
    assert tracker.fold(events).service_cidrs
    assert (tracker.service_cidrs(V4), tracker.service_cidrs(V6)) == (("10.96.0.0/12",), ("fd00::/112",))
    assert tracker.fold([drop("ServiceCIDR", "a")]).service_cidrs
    assert (tracker.service_cidrs(V4), tracker.service_cidrs(V6)) == (("10.96.0.0/12",), ())
    assert not tracker.fold([add(service_cidr("b", "10.96.0.0/12"))]).service_cidrs
    assert tracker.fold([add(service_cidr("b", "ten"))]).complaints[0].field == "spec.cidrs[0]"
    assert tracker.service_cidrs(V4) == ()


def test_complaints_are_said_once() -> None:
    """Until the object says something else that is wrong; and all of them can be asked for any time."""
    tracker = Tracker()
    bad = add(service(externalIPs=["nonsense"]))
    (said,) = tracker.fold([bad]).complaints
    assert (said.value, tracker.complaints()) == ("nonsense", (said,))
    assert tracker.fold([bad, add(service(externalIPs=["nonsense"], ip="10.0.0.8"))]).complaints == ()
    worse = tracker.fold([add(service(externalIPs=["nonsense", "more"]))]).complaints
    assert [complaint.value for complaint in worse] == ["more"]
    assert len(tracker.complaints()) == 2
    assert tracker.fold([GONE]).complaints == ()
    assert tracker.complaints() == ()
    assert len(tracker.fold([bad]).complaints) == 1


def test_what_a_failed_sync_left_is_done_with_the_next_q14() -> None:
    tracker = Tracker(started=START)
    first = tracker.fold([at(T0, ports=DNS), add(node("me"))])
    second = tracker.fold([at(T1, ports=DNS), A])
    dns = port_name("shop/cart:dns", "UDP")
    assert first.then(second) == Changed(
        ipv4=FamilyChanges((dns, S), (CART,), (S0, S1)), nodes=("me",), service_cidrs=False
    )
    assert first.then(Changed()) == first


def test_external_ips_can_be_switched_off() -> None:
    tracker = Tracker(allow_external_ips=False)
    tracker.fold([add(service(externalIPs=["192.0.2.1"]))])
    port = tracker.snapshot.port(S)
    assert port is not None
    assert port.external_ips == ()
