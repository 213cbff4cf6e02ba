"""Which Services are given which numbers, told to the operator and the same after a restart."""

from pathlib import Path
from typing import Any

import pytest

from kubeproxy.api.service import Service
from kubeproxy.sources.assemble import Ranges
from kubeproxy.sources.manifests import ManifestsSource
from kubeproxy.sources.notice import Level, Reading
from tests.sources.objects import service, slice_of, upserts, write

BOTH = ("10.96.0.0/12", "fd00:10:96::/112")


def read(
    directory: Path, *objects: Any, cidrs: tuple[str, ...] = BOTH, ports: tuple[int, int] = (30000, 32767)
) -> Reading:
    write(directory, "all.yaml", *objects)
    return ManifestsSource(directory, ranges=Ranges(cidrs, ports)).read()


def specs(reading: Reading) -> dict[str, Any]:
    return {obj.metadata.name: obj.spec for obj in upserts(reading).values() if isinstance(obj, Service)}


def bare(name: str = "cart", **spec: Any) -> dict[str, Any]:
    return service(name, clusterIP=..., **spec)


STACKS = [
    # written                                                        ranges            addresses of           policy
    ({}, BOTH, ("IPv4",), "SingleStack"),
    ({}, BOTH[::-1], ("IPv6",), "SingleStack"),
    ({}, BOTH[1:], ("IPv6",), "SingleStack"),
    ({"ipFamilies": ["IPv6"]}, BOTH, ("IPv6",), "SingleStack"),
    ({"ipFamilies": ["IPv6", "IPv4"]}, BOTH, ("IPv6", "IPv4"), "RequireDualStack"),
    ({"ipFamilyPolicy": "SingleStack"}, BOTH, ("IPv4",), "SingleStack"),
    ({"ipFamilyPolicy": "PreferDualStack"}, BOTH, ("IPv4", "IPv6"), "PreferDualStack"),
    ({"ipFamilyPolicy": "PreferDualStack"}, BOTH[::-1], ("IPv6", "IPv4"), "PreferDualStack"),
    ({"ipFamilyPolicy": "PreferDualStack"}, BOTH[:1], ("IPv4",), "PreferDualStack"),
    (
        {"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv6"]},
        BOTH,
        ("IPv6", "IPv4"),
        "PreferDualStack",
    ),
    (
        {"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv6", "IPv4"]},
        BOTH[:1],
        ("IPv4",),
        "PreferDualStack",
    ),
    ({"ipFamilyPolicy": "RequireDualStack"}, BOTH, ("IPv4", "IPv6"), "RequireDualStack"),
]


@pytest.mark.parametrize("written, cidrs, families, policy", STACKS, ids=range(len(STACKS)))
def test_a_service_without_addresses(
    tmp_path: Path, written: dict[str, Any], cidrs: tuple[str, ...], families: tuple[str, ...], policy: str
) -> None:
    spec = specs(read(tmp_path, bare(**written), cidrs=cidrs))["cart"]
    assert (spec.ipFamilies, spec.ipFamilyPolicy) == (families, policy)
    assert spec.clusterIP == spec.clusterIPs[0]
    assert [":" in ip for ip in spec.clusterIPs] == [family == "IPv6" for family in families]


def test_the_second_family_is_added_to_an_address_that_was_written_down(tmp_path: Path) -> None:
    spec = specs(read(tmp_path, service(ipFamilyPolicy="PreferDualStack")))["cart"]
    assert spec.clusterIP == spec.clusterIPs[0] == "10.96.0.10"
    assert spec.ipFamilies == ("IPv4", "IPv6")
    assert spec.clusterIPs[1].startswith("fd00:10:96::")


IMPOSSIBLE = [
    ({"ipFamilyPolicy": "RequireDualStack"}, BOTH[:1], "spec.clusterIPs[1]", "there is no range of IPv6"),
    ({"ipFamilies": ["IPv6"]}, BOTH[:1], "spec.clusterIP", "there is no range of IPv6"),
    ({}, ("10.96.0.0/31",), "spec.clusterIP", "nothing is left of 10.96.0.0/31"),
]


@pytest.mark.parametrize("written, cidrs, field, problem", IMPOSSIBLE)
def test_a_service_that_cannot_have_an_address_is_left_out_by_name(
    tmp_path: Path, written: dict[str, Any], cidrs: tuple[str, ...], field: str, problem: str
) -> None:
    reading = read(tmp_path, bare(**written), service("other"), slice_of("other"), cidrs=cidrs)
    assert list(specs(reading)) == ["other"]
    (error,) = [n for n in reading.notices if n.level is Level.ERROR]
    assert (str(error.ref), error.field) == ("Service shop/cart", field)
    assert problem in error.problem and "left out" in error.problem


def test_a_full_range_serves_as_many_as_fit(tmp_path: Path) -> None:
    reading = read(tmp_path, *(bare(f"s{i}") for i in range(8)), cidrs=("10.0.0.0/29",))
    found = specs(reading)
    assert sorted(spec.clusterIP for spec in found.values()) == [f"10.0.0.{i}" for i in range(1, 7)]
    assert len([n for n in reading.notices if n.level is Level.ERROR]) == 2


def test_the_ranges_of_the_directory_come_before_the_option(tmp_path: Path) -> None:
    def cidr(name: str, *cidrs: str, **meta: str) -> dict[str, Any]:
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": name, **meta},
            "spec": {"cidrs": list(cidrs)},
        }

    objects = [
        cidr("aaa", "10.1.0.0/16"),
        cidr("gone", "10.2.0.0/16", deletionTimestamp="2024-01-01T00:00:00Z"),
        cidr("kubernetes", "172.30.0.0/16"),
        bare(),
    ]
    reading = read(tmp_path, *objects)
    assert specs(reading)["cart"].clusterIP.startswith("172.30.")
    (told,) = [n for n in reading.notices if n.field == "spec.clusterIP"]
    assert told.problem == "not written down: assigned from 172.30.0.0/16, 10.1.0.0/16"


PORTS = [
    # type, written                                                                              node ports (None: some number)
    ({"ports": [{"port": 80}]}, [0], 0),
    ({"type": "NodePort", "ports": [{"port": 80}]}, [None], 0),
    ({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}, [30080], 0),
    ({"type": "LoadBalancer", "ports": [{"port": 80}]}, [None], 0),
    ({"type": "LoadBalancer", "ports": [{"port": 80}], "allocateLoadBalancerNodePorts": False}, [0], 0),
    (
        {
            "type": "LoadBalancer",
            "ports": [{"port": 80, "nodePort": 30080}],
            "allocateLoadBalancerNodePorts": False,
        },
        [30080],
        0,
    ),
    ({"type": "LoadBalancer", "ports": [{"port": 80}], "externalTrafficPolicy": "Local"}, [None], None),
    (
        {
            "type": "LoadBalancer",
            "ports": [{"port": 80}],
            "externalTrafficPolicy": "Local",
            "healthCheckNodePort": 31000,
        },
        [None],
        31000,
    ),
    ({"type": "NodePort", "ports": [{"port": 80}], "externalTrafficPolicy": "Local"}, [None], 0),
]


@pytest.mark.parametrize("written, node_ports, health", PORTS, ids=range(len(PORTS)))
def test_node_ports(
    tmp_path: Path, written: dict[str, Any], node_ports: list[int | None], health: int | None
) -> None:
    spec = specs(read(tmp_path, service(**written)))["cart"]
    for expected, port in zip(
        [*node_ports, health], [*(p.nodePort for p in spec.ports), spec.healthCheckNodePort], strict=True
    ):
        assert port == expected if expected is not None else 30086 <= port <= 32767


def test_ports_that_differ_only_in_protocol_share_a_node_port(tmp_path: Path) -> None:
    dns = [
        {"name": "udp", "port": 53, "protocol": "UDP"},
        {"name": "tcp", "port": 53},
        {"name": "http", "port": 80},
    ]
    spec = specs(read(tmp_path, service(type="NodePort", ports=dns)))["cart"]
    assert spec.ports[0].nodePort == spec.ports[1].nodePort != spec.ports[2].nodePort
    dns[1]["nodePort"] = 30053
    spec = specs(read(tmp_path, service(type="NodePort", ports=dns)))["cart"]
    assert [port.nodePort for port in spec.ports[:2]] == [30053, 30053]


def test_without_a_free_node_port_the_service_keeps_its_address(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        service(type="NodePort", ports=[{"port": 1, "name": "a"}, {"port": 2, "name": "b"}]),
        ports=(30000, 30000),
    )
    assert sorted(port.nodePort for port in specs(reading)["cart"].ports) == [0, 30000]
    (error,) = [n for n in reading.notices if n.level is Level.ERROR]
    assert error.problem == "not written down, and nothing is left of 30000 to 30000, so it has none"


def test_numbers_are_the_same_after_a_restart_and_whatever_else_comes_or_goes(tmp_path: Path) -> None:
    shop = [bare(f"s{i}", type="NodePort") for i in range(20)]
    first = specs(read(tmp_path, *shop))
    assert specs(read(tmp_path, *reversed(shop))) == first
    write(tmp_path, "0-other.yaml", bare("unrelated"), service("fixed", clusterIP="10.96.0.77"))
    source = ManifestsSource(tmp_path)
    assert {name: spec for name, spec in specs(source.read()).items() if name in first} == first
    (tmp_path / "0-other.yaml").unlink()
    assert upserts(source.read()) == {}


def test_what_was_written_down_is_given_to_nobody_even_by_services_left_to_another_proxy(
    tmp_path: Path,
) -> None:
    wish = specs(read(tmp_path, bare(type="NodePort")))["cart"]
    labels = {"labels": {"service.kubernetes.io/service-proxy-name": "mesh"}}
    taker = service(
        "taker",
        meta=labels,
        type="NodePort",
        clusterIP=wish.clusterIP,
        ports=[{"port": 1, "nodePort": wish.ports[0].nodePort}],
    )
    other = specs(read(tmp_path, bare(type="NodePort"), taker))["cart"]
    assert other.clusterIP != wish.clusterIP
    assert other.ports[0].nodePort != wish.ports[0].nodePort


def test_each_number_is_told_once(tmp_path: Path) -> None:
    write(tmp_path, "shop.yaml", bare(type="LoadBalancer", externalTrafficPolicy="Local"), slice_of())
    source = ManifestsSource(tmp_path)
    reading = source.read()
    spec = specs(reading)["cart"]
    assert [(n.field, n.value, n.remedy) for n in reading.notices] == [
        (
            "spec.clusterIP",
            spec.clusterIP,
            f"write clusterIP: {spec.clusterIP} to keep it whatever else is added",
        ),
        (
            "spec.ports[0].nodePort",
            str(spec.ports[0].nodePort),
            f"write nodePort: {spec.ports[0].nodePort} to keep it whatever else is added",
        ),
        (
            "spec.healthCheckNodePort",
            str(spec.healthCheckNodePort),
            f"write healthCheckNodePort: {spec.healthCheckNodePort} to keep it whatever else is added",
        ),
    ]
    write(tmp_path, "more.yaml", service("other"), slice_of("other"))
    assert source.read().notices == ()
