"""What is kept of a slice, and which of several endpoints with one address counts."""

from typing import Any

import pytest

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import Protocol, ServiceName
from kubeproxy.model.instant import parse_instant
from kubeproxy.model.slices import merged, read_slice
from tests.model.objects import V4, V6, endpoint, slice_

HTTP = {"name": "http", "port": 80, "protocol": "TCP"}
HTTPS = {"name": "https", "port": 443, "protocol": "TCP"}


def lists(*endpoints: Any, **more: Any) -> dict[tuple[str, str], list[str]]:
    record = read_slice(slice_("shop/cart-1", *endpoints, **more)).record
    assert record is not None
    return {(part.name, part.protocol): [str(e) for e in part.endpoints] for part in record.ports}


def test_c1_every_port_has_every_address() -> None:
    got = read_slice(
        slice_(
            "shop/cart-1",
            endpoint("10.0.1.1"),
            endpoint("10.0.1.2", node="far"),
            "10.0.1.3",
            ports=(HTTP, HTTPS),
        )
    ).record
    assert got is not None
    assert (got.name, got.service, got.family) == ("cart-1", ServiceName("shop", "cart"), V4)
    assert [(part.name, part.protocol, [(e.port, e.node) for e in part.endpoints]) for part in got.ports] == [
        ("http", Protocol.TCP, [(80, "me"), (80, "far"), (80, "me")]),
        ("https", Protocol.TCP, [(443, "me"), (443, "far"), (443, "me")]),
    ]


def test_c4_one_port_name_may_have_two_numbers() -> None:
    """Two groups of pods that call their port the same."""
    ports = (HTTP, {**HTTP, "port": 8080})
    assert lists("10.0.1.1", ports=ports) == {("http", "TCP"): ["10.0.1.1:80", "10.0.1.1:8080"]}


PORTS = [  # id, port, served as, complained about
    ("c6-null-number", {"name": "http", "port": None}, None, "ports[0].port"),
    ("zero", {"name": "http", "port": 0}, None, "ports[0].port"),
    ("too-large", {"name": "http", "port": 65536}, None, "ports[0].port"),
    ("null-name", {"name": None, "port": 80}, None, "ports[0].name"),
    ("empty-name", {"name": "", "port": 80}, ("", "TCP"), None),
    ("null-protocol", {"name": "http", "port": 80, "protocol": None}, ("http", "TCP"), None),
    ("other-protocol", {"name": "http", "port": 80, "protocol": "ICMP"}, None, "ports[0].protocol"),
    ("udp", {"name": "dns", "port": 53, "protocol": "UDP"}, ("dns", "UDP"), None),
]


@pytest.mark.parametrize("port, key, wrong", [row[1:] for row in PORTS], ids=[row[0] for row in PORTS])
def test_ports(port: dict[str, Any], key: tuple[str, str] | None, wrong: str | None) -> None:
    """The good port beside it is served either way."""
    reading = read_slice(slice_("shop/cart-1", "10.0.1.1", ports=(port, HTTPS)))
    assert reading.record is not None
    assert [(part.name, part.protocol) for part in reading.record.ports] == [
        *([key] if key else []),
        ("https", "TCP"),
    ]
    assert [complaint.field for complaint in reading.complaints] == ([wrong] if wrong else [])


def test_no_ports_means_none_not_all() -> None:
    assert lists("10.0.1.1", ports=()) == {}


ADDRESSES = [  # id, addresses, kind, kept, complained about
    ("empty", [], "IPv4", None, "endpoints[0].addresses"),
    ("several", ["10.0.1.1", "10.0.1.2"], "IPv4", "10.0.1.1:80", None),
    ("nonsense", ["pod-1"], "IPv4", None, "endpoints[0].addresses[0]"),
    ("other-family", ["fd00::1"], "IPv4", None, "endpoints[0].addresses[0]"),
    ("v6", ["FD00:0::01"], "IPv6", "[fd00::1]:80", None),
    ("mapped-is-v4", ["::ffff:10.0.1.1"], "IPv4", "10.0.1.1:80", None),
    ("mapped-is-not-v6", ["::ffff:10.0.1.1"], "IPv6", None, "endpoints[0].addresses[0]"),
    ("zeros", ["010.000.001.001"], "IPv4", "10.0.1.1:80", None),
    ("newline", ["10.0.1.1\n"], "IPv4", None, "endpoints[0].addresses[0]"),
]


@pytest.mark.parametrize(
    "texts, kind, kept, wrong", [r[1:] for r in ADDRESSES], ids=[r[0] for r in ADDRESSES]
)
def test_addresses(texts: list[str], kind: str, kept: str | None, wrong: str | None) -> None:
    """The good endpoint beside it is used either way."""
    good = "10.9.9.9" if kind == "IPv4" else "fd00::9"
    reading = read_slice(slice_("shop/cart-1", {"addresses": texts}, good, ports=(HTTP,), kind=kind))
    assert reading.record is not None
    (part,) = reading.record.ports
    assert {str(e) for e in part.endpoints} - {"10.9.9.9:80", "[fd00::9]:80"} == ({kept} if kept else set())
    assert len(part.endpoints) == (2 if kept else 1)
    assert [complaint.field for complaint in reading.complaints] == ([wrong] if wrong else [])


UNUSABLE = [
    ("fqdn", {"kind": "FQDN"}, "addressType"),
    ("no-service", {"of": ""}, "metadata.labels[kubernetes.io/service-name]"),
    ("no-namespace", {"name": "/cart-1"}, "metadata.namespace"),
    ("no-name", {"name": "shop/"}, "metadata.name"),
]


@pytest.mark.parametrize("edit, field", [row[1:] for row in UNUSABLE], ids=[row[0] for row in UNUSABLE])
def test_slices_nobody_can_use(edit: dict[str, Any], field: str) -> None:
    reading = read_slice(slice_(**{"name": "shop/cart-1"} | edit))
    assert reading.record is None
    assert [complaint.field for complaint in reading.complaints] == [field]


def test_c19_headless_slices_are_not_ours() -> None:
    reading = read_slice(slice_("shop/cart-1", "10.0.1.1", labels={"service.kubernetes.io/headless": ""}))
    assert (reading.record, reading.complaints) == (None, ())


CONDITIONS = [
    ("c20-silence", {}, (True, True, False)),
    ("c20-null", {"ready": None, "serving": None, "terminating": None}, (True, True, False)),
    ("c21-published", {"ready": True, "terminating": True}, (True, True, True)),
    ("draining", {"ready": False, "serving": True, "terminating": True}, (False, True, True)),
    ("all-false", {"ready": False, "serving": False, "terminating": False}, (False, False, False)),
]


@pytest.mark.parametrize("told, kept", [row[1:] for row in CONDITIONS], ids=[row[0] for row in CONDITIONS])
def test_conditions(told: dict[str, Any], kept: tuple[bool, bool, bool]) -> None:
    record = read_slice(slice_("shop/cart-1", {"addresses": ["10.0.1.1"], "conditions": told})).record
    assert record is not None
    (one,) = record.ports[0].endpoints
    assert (one.ready, one.serving, one.terminating, one.node) == (*kept, "")


def test_hints() -> None:
    record = read_slice(
        slice_(
            "shop/cart-1",
            endpoint("10.0.1.1", zones="za,zb", nodes="me"),
            endpoint("10.0.1.2", zones="za,zb"),
        )
    ).record
    assert record is not None
    one, two = record.ports[0].endpoints
    assert (one.zone_hints, one.node_hints, two.zone_hints, two.node_hints) == (
        ("za", "zb"),
        ("me",),
        ("za", "zb"),
        (),
    )
    assert one.zone_hints is two.zone_hints


def test_the_order_is_that_of_the_text() -> None:
    """10.0.1.10:80 comes before 10.0.1.1:80, because a colon comes after a digit."""
    assert lists("10.0.1.2", "10.0.1.1", "10.0.1.10", ports=(HTTP,)) == {
        ("http", "TCP"): ["10.0.1.10:80", "10.0.1.1:80", "10.0.1.2:80"]
    }


DUPLICATES = [  # id, states in order, which of them counts
    ("c7-drain-ok-dead", ("drain", "ok", "dead"), 1),
    ("c8-sick-drain", ("sick", "drain"), 0),
    ("c9-drain-sick", ("drain", "sick"), 1),
    ("only-terminating", ("drain", "dead", "pub"), 0),
    ("last-that-stays", ("ok", "sick", "odd"), 2),
    ("ok-then-dead", ("ok", "dead"), 0),
]


@pytest.mark.parametrize(
    "states, counts", [row[1:] for row in DUPLICATES], ids=[row[0] for row in DUPLICATES]
)
@pytest.mark.parametrize("split", [False, True], ids=["one-slice", "a-slice-each"])
def test_one_address_several_times(states: tuple[str, ...], counts: int, split: bool) -> None:
    """A pod that came beats a pod that goes, ready or not; the same within a slice and between slices."""
    raw = [endpoint("10.0.1.1", state, node=f"n{i}") for i, state in enumerate(states)]
    slices = [[one] for one in raw] if split else [raw]
    parts = []
    for endpoints in slices:
        record = read_slice(slice_("shop/cart-1", *endpoints)).record
        assert record is not None
        parts.extend(record.ports[0].endpoints)
    (kept,) = merged(parts)
    assert kept.node == f"n{counts}"


INSTANTS = [
    ("2018-10-22T19:32:52Z", 1540236772.0),
    ("2018-10-22T19:32:52.1Z", 1540236772.1),
    ("2018-10-22T19:32:52.123456789Z", 1540236772.123456),
    ("2018-10-22T21:32:52+02:00", 1540236772.0),
    ("1970-01-01T00:00:00Z", 0.0),
    ("2018-10-22 19:32:52Z", None),
    ("2018-10-22T19:32:52", None),
    ("2018-13-22T19:32:52Z", None),
    ("20181022T193252Z", None),
    ("", None),
    ("yesterday", None),
]


@pytest.mark.parametrize("text, instant", INSTANTS)
def test_instants(text: str, instant: float | None) -> None:
    assert parse_instant(text) == instant


def test_a_time_that_is_none_is_named() -> None:
    reading = read_slice(slice_("shop/cart-1", "10.0.1.1", trigger="yesterday"))
    assert reading.record is not None
    assert reading.record.triggered == 0.0
    assert [complaint.value for complaint in reading.complaints] == ["yesterday"]


def test_v6_text() -> None:
    assert str(Endpoint("fd00::1", 80)) == "[fd00::1]:80"
    assert lists("fd00::2", "fd00::1", kind="IPv6", ports=(HTTP,)) == {
        ("http", "TCP"): ["[fd00::1]:80", "[fd00::2]:80"]
    }
    record = read_slice(slice_("shop/cart-1", "fd00::2", kind="IPv6")).record
    assert record is not None
    assert record.family is V6
