"""What a Service asks for, in each family, however it is spelled."""

from typing import Any

import pytest
from msgspec.structs import replace

from kubeproxy.model.complaint import Severity
from kubeproxy.model.service import read_service
from kubeproxy.model.serviceport import ServicePort
from tests.model.objects import HTTP, V4, V6, port_name, service

BOTH = ("10.0.0.10", "2000::1")
SELECTION = [  # id, spec, cluster IP in IPv4, in IPv6
    ("F1", {"families": (), "ip": "10.0.0.10"}, "10.0.0.10", None),
    ("F2", {"families": (), "ip": "2000::1"}, None, "2000::1"),
    ("F3", {"families": ("IPv4",), "ip": "10.0.0.10"}, "10.0.0.10", None),
    ("F4", {"families": ("IPv6",), "ip": "2000::1"}, None, "2000::1"),
    ("F5", {"families": ("IPv4", "IPv6"), "ip": BOTH}, "10.0.0.10", "2000::1"),
    ("F6", {"families": ("IPv6", "IPv4"), "ip": BOTH[::-1]}, "10.0.0.10", "2000::1"),
    ("F7", {"families": ("IPv4", "IPv6"), "ip": "10.0.0.10"}, "10.0.0.10", None),
    ("F8", {"families": ("IPv4", "IPv6"), "ip": "None"}, None, None),
    ("F8-none-yet", {"families": ("IPv4",), "ip": ()}, None, None),
    ("F9", {"families": ("IPv4",), "ip": "10.0.0.10", "type": "ExternalName"}, None, None),
    ("mapped", {"families": (), "ip": "::ffff:10.0.0.10"}, "10.0.0.10", None),
    ("zeros", {"families": ("IPv4",), "ip": "172.30.0.041"}, "172.30.0.41", None),
    ("label", {"labels": {"service.kubernetes.io/service-proxy-name": ""}}, None, None),
]


@pytest.mark.parametrize(
    "spec, ipv4, ipv6", [row[1:] for row in SELECTION], ids=[row[0] for row in SELECTION]
)
def test_cluster_ip_by_family(spec: dict[str, Any], ipv4: str | None, ipv6: str | None) -> None:
    """Without a cluster IP of a family nothing of the Service exists in it."""
    reading = read_service(service(**spec, externalIPs=["192.0.2.1", "2001:db8::1"]))
    assert [port.cluster_ip for port in reading.ipv4] == ([ipv4] if ipv4 else [])
    assert [port.cluster_ip for port in reading.ipv6] == ([ipv6] if ipv6 else [])
    assert reading.complaints == ()


@pytest.mark.parametrize("families", [(), ("IPv4",)], ids=["old", "new"])
def test_a_cluster_ip_that_is_none_is_named(families: tuple[str, ...]) -> None:
    reading = read_service(service(ip="10.0.0.300", families=families))
    assert (reading.ipv4, reading.ipv6) == ((), ())
    (complaint,) = reading.complaints
    assert str(complaint).startswith("Service shop/cart: spec.clusterIP")
    assert "'10.0.0.300'" in str(complaint)


def test_a_cluster_ip_of_the_wrong_family_does_not_reach_the_kernel() -> None:
    reading = read_service(service(ip=("10.0.0.10", "10.0.0.11"), families=("IPv4", "IPv6")))
    assert (len(reading.ipv4), reading.ipv6) == (1, ())
    assert [complaint.field for complaint in reading.complaints] == ["spec.clusterIPs[1]"]


def only(reading_of: Any, family: Any = V4) -> ServicePort:
    (port,) = reading_of.of(family)
    return port


def test_the_record() -> None:
    """Every field that decides something, from a Service that has them all."""
    ports = [
        {
            "name": "dns",
            "protocol": "UDP",
            "port": 53,
            "nodePort": 30053,
            "targetPort": "dns",
            "appProtocol": "x",
        }
    ]
    reading = read_service(
        service(
            ip=BOTH,
            type="LoadBalancer",
            ports=ports,
            created="2026-01-02T03:04:05Z",
            externalIPs=["192.0.2.1", "2001:db8::1"],
            ingress=[{"ip": "198.51.100.1"}, {"ip": "2001:db8:1::1"}],
            loadBalancerSourceRanges=["203.0.113.0/24", "2001:db8::/32"],
            sessionAffinity="ClientIP",
            sessionAffinityConfig={"clientIP": {"timeoutSeconds": 77}},
            internalTrafficPolicy="Local",
            externalTrafficPolicy="Local",
            healthCheckNodePort=32000,
        )
    )
    four = ServicePort(
        name=port_name("shop/cart:dns", "UDP"),
        cluster_ip="10.0.0.10",
        port=53,
        node_port=30053,
        external_ips=("192.0.2.1",),
        claims_external_ips=True,
        load_balancer_ips=("198.51.100.1",),
        source_ranges=("203.0.113.0/24",),
        affinity_seconds=77,
        internal_local=True,
        external_local=True,
        health_check_port=32000,
        created="2026-01-02T03:04:05Z",
    )
    assert reading.ipv4 == (four,)
    assert reading.ipv6 == (
        replace(
            four,
            name=port_name("shop/cart:dns", "UDP", V6),
            cluster_ip="2000::1",
            external_ips=("2001:db8::1",),
            load_balancer_ips=("2001:db8:1::1",),
            source_ranges=("2001:db8::/32",),
        ),
    )
    assert reading.complaints == ()


EXTERNAL_IPS = [  # id, list, IPv4, IPv6, complained about
    ("other-family", ["2001:db8::1"], (), ("2001:db8::1",), []),
    ("order", ["192.0.2.9", "192.0.2.1"], ("192.0.2.9", "192.0.2.1"), (), []),
    ("empty-or-blank", ["", "  "], (), (), []),
    ("surrounding-blanks", ["192.0.2.1 ", "192.0.2.2"], ("192.0.2.2",), (), ["192.0.2.1 "]),
    ("nonsense", ["one.example.com"], (), (), ["one.example.com"]),
    ("zone", ["fe80::1%eth0"], (), (), ["fe80::1%eth0"]),
    ("short", ["1.2.3"], (), (), ["1.2.3"]),
    ("zeros", ["010.180.00.001", "1.2.3.004"], ("10.180.0.1", "1.2.3.4"), (), []),
    ("long-v6", ["2001:db8:0:0::0001"], (), ("2001:db8::1",), []),
    ("mapped", ["::ffff:10.1.2.3"], ("10.1.2.3",), (), []),
    ("twice", ["192.0.2.1", "192.0.2.01"], ("192.0.2.1",), (), []),
]


@pytest.mark.parametrize(
    "texts, ipv4, ipv6, wrong", [r[1:] for r in EXTERNAL_IPS], ids=[r[0] for r in EXTERNAL_IPS]
)
def test_external_ips(
    texts: list[str], ipv4: tuple[str, ...], ipv6: tuple[str, ...], wrong: list[str]
) -> None:
    reading = read_service(service(ip=BOTH, externalIPs=texts))
    assert only(reading, V4).external_ips == ipv4
    assert only(reading, V6).external_ips == ipv6
    assert only(reading, V4).claims_external_ips is bool(ipv4)
    assert [complaint.value for complaint in reading.complaints] == wrong
    assert all(complaint.field.startswith("spec.externalIPs[") for complaint in reading.complaints)


def test_external_ips_switched_off_are_still_claimed_q1() -> None:
    """The Service then answers on none of them, and still counts as reachable from outside."""
    asked = service(externalIPs=["192.0.2.1"], externalTrafficPolicy="Local", internalTrafficPolicy="Local")
    port = only(read_service(asked, allow_external_ips=False))
    assert (port.external_ips, port.reachable_from_outside) == ((), True)
    assert (port.uses_cluster, port.uses_local, port.external_local) == (True, True, True)


INGRESS = [  # id, ingress, IPv4, IPv6, complained about
    ("hostname", [{"hostname": "lb.example.com"}], (), (), 0),
    ("unset", [{"ip": "198.51.100.1"}], ("198.51.100.1",), (), 0),
    ("VIP", [{"ip": "198.51.100.1", "ipMode": "VIP"}], ("198.51.100.1",), (), 0),
    ("Proxy", [{"ip": "198.51.100.1", "ipMode": "Proxy"}], (), (), 0),
    ("other-mode", [{"ip": "198.51.100.1", "ipMode": "Tunnel"}], (), (), 0),
    ("mixed", [{"ip": "198.51.100.1", "ipMode": "Proxy"}, {"ip": "198.51.100.2"}], ("198.51.100.2",), (), 0),
    ("other-family", [{"ip": "2001:db8::1"}], (), ("2001:db8::1",), 0),
    ("nonsense", [{"ip": "198.51.100"}], (), (), 1),
]


@pytest.mark.parametrize(
    "ingress, ipv4, ipv6, complaints", [r[1:] for r in INGRESS], ids=[r[0] for r in INGRESS]
)
def test_load_balancer_ips(
    ingress: Any, ipv4: tuple[str, ...], ipv6: tuple[str, ...], complaints: int
) -> None:
    reading = read_service(service(ip=BOTH, type="LoadBalancer", ingress=ingress))
    assert (only(reading, V4).load_balancer_ips, only(reading, V6).load_balancer_ips) == (ipv4, ipv6)
    assert len(reading.complaints) == complaints


RANGES = [  # id, list, IPv4, IPv6, fields that are errors, families that are warned about
    ("blanks-around", [" 10.1.2.0/28"], ("10.1.2.0/28",), (), [], ["IPv6"]),
    ("host-bits", ["10.1.2.77/28", "2001:db8::9/64"], ("10.1.2.64/28",), ("2001:db8::/64",), [], []),
    ("zeros", ["203.0.113.000/025", "::1/128"], ("203.0.113.0/25",), ("::1/128",), [], []),
    ("empty", [], (), (), [], []),
    ("empty-after-trim", ["  "], (), (), [], []),
    ("bare-address", ["10.1.2.3", "10.0.0.0/8", "::1/128"], ("10.0.0.0/8",), ("::1/128",), ["[0]"], []),
    ("everybody-v4", ["10.0.0.0/8", "0.0.0.0/0"], (), (), [], ["IPv6"]),
    ("everybody-by-any-name", ["10.9.9.9/0", "::/0"], (), (), [], []),
    ("nothing-valid-q2", ["nonsense"], (), (), ["[0]"], ["IPv4", "IPv6"]),
    ("other-family-only-q2", ["2001:db8::/32"], (), ("2001:db8::/32",), [], ["IPv4"]),
    (
        "order",
        ["10.2.0.0/16", "10.1.0.0/16", "::1/128"],
        ("10.2.0.0/16", "10.1.0.0/16"),
        ("::1/128",),
        [],
        [],
    ),
]


@pytest.mark.parametrize(
    "texts, ipv4, ipv6, wrong, warned", [r[1:] for r in RANGES], ids=[r[0] for r in RANGES]
)
def test_source_ranges(
    texts: list[str], ipv4: tuple[str, ...], ipv6: tuple[str, ...], wrong: list[str], warned: list[str]
) -> None:
    """A list that says nothing valid about a family lets everybody in, and that is warned about."""
    ingress = [{"ip": "198.51.100.1"}, {"ip": "2001:db8::1"}]
    reading = read_service(
        service(ip=BOTH, type="LoadBalancer", ingress=ingress, loadBalancerSourceRanges=texts)
    )
    assert (only(reading, V4).source_ranges, only(reading, V6).source_ranges) == (ipv4, ipv6)
    errors = [c.field for c in reading.complaints if c.severity is Severity.ERROR]
    assert errors == [f"spec.loadBalancerSourceRanges{field}" for field in wrong]
    warnings = [c.problem for c in reading.complaints if c.severity is Severity.WARNING]
    addresses = {"IPv4": "198.51.100.1", "IPv6": "2001:db8::1"}
    assert warnings == [f"no {f} network in it, so everybody may use {addresses[f]}" for f in warned]


AFFINITY = [
    ("none", {"sessionAffinity": "None"}, 0, 0),
    ("empty", {"sessionAffinity": ""}, 0, 0),
    ("none-ignores-time", {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}, 0, 0),
    ("default", {"sessionAffinity": "ClientIP"}, 10800, 0),
    ("default-inside", {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {}}}, 10800, 0),
    (
        "said",
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 1}}},
        1,
        0,
    ),
    (
        "zero",
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
        10800,
        1,
    ),
    (
        "long",
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
        10800,
        1,
    ),
]


@pytest.mark.parametrize("spec, seconds, complaints", [r[1:] for r in AFFINITY], ids=[r[0] for r in AFFINITY])
def test_affinity(spec: dict[str, Any], seconds: int, complaints: int) -> None:
    reading = read_service(service(**spec))
    assert (only(reading).affinity_seconds, len(reading.complaints)) == (seconds, complaints)


POLICY = [  # id, spec, external_local, health check port, complaints
    ("null", {"type": "LoadBalancer"}, False, 0, 0),
    ("cluster", {"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "healthCheckNodePort": 32000}, False, 0, 0),
    ("load-balancer", {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 32000}, True, 32000, 0),
    ("health-port-missing", {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}, True, 0, 1),
    ("node-port", {"type": "NodePort", "externalTrafficPolicy": "Local", "healthCheckNodePort": 32000}, True, 0, 0),
    ("cluster-ip", {"externalTrafficPolicy": "Local"}, False, 0, 0),
    ("external-ips", {"externalTrafficPolicy": "Local", "externalIPs": ["192.0.2.1"]}, True, 0, 0),
    ("external-ips-other-family", {"externalTrafficPolicy": "Local", "externalIPs": ["2001:db8::1"]}, True, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize("spec, local, port, complaints", [r[1:] for r in POLICY], ids=[r[0] for r in POLICY])
def test_external_policy(spec: dict[str, Any], local: bool, port: int, complaints: int) -> None:
    reading = read_service(service(**spec))
    assert (only(reading).external_local, only(reading).health_check_port) == (local, port)
    assert [c.field for c in reading.complaints] == ["spec.healthCheckNodePort"] * complaints


def test_an_external_ip_of_the_other_family_does_not_make_it_reachable_in_this_one() -> None:
    port = only(read_service(service(externalIPs=["2001:db8::1"], internalTrafficPolicy="Local")))
    assert (port.reachable_from_outside, port.uses_cluster) == (False, False)


PORTS = [  # id, ports, names that are served, complained about
    ("numbers", [{"name": "a", "port": 0}, {"name": "b", "port": 65536}, {"name": "c", "port": -1}, {"name": "d", "port": 65535}], ["d"], ["ports[0].port", "ports[1].port", "ports[2].port"]),
    ("protocol", [{"name": "a", "port": 1, "protocol": "ICMP"}, {"name": "b", "port": 1, "protocol": "SCTP"}], ["b"], ["ports[0].protocol"]),
    ("unnamed", [{"port": 80}], [""], []),
    ("node-port", [{"name": "a", "port": 1, "nodePort": 70000}], ["a"], ["ports[0].nodePort"]),
    ("none", [], [], []),
]  # fmt: skip


@pytest.mark.parametrize("ports, served, wrong", [r[1:] for r in PORTS], ids=[r[0] for r in PORTS])
def test_ports(ports: list[dict[str, Any]], served: list[str], wrong: list[str]) -> None:
    """A port that cannot be is named, and the others are served."""
    reading = read_service(service(ports=ports))
    assert [port.name.port for port in reading.ipv4] == served
    assert [complaint.field for complaint in reading.complaints] == [f"spec.{field}" for field in wrong]


def test_of_two_ports_with_one_name_the_last_counts() -> None:
    reading = read_service(service(ports=[{"name": "a", "port": 1}, HTTP, {"name": "a", "port": 2}]))
    assert [(port.name.port, port.port) for port in reading.ipv4] == [("a", 2), ("http", 80)]
    assert [complaint.field for complaint in reading.complaints] == ["spec.ports[2].name"]


def test_node_ports_and_ingress_count_whatever_the_type() -> None:
    ports = [{"name": "http", "port": 80, "nodePort": 30080}]
    port = only(read_service(service(type="ClusterIP", ports=ports, ingress=[{"ip": "198.51.100.1"}])))
    assert (port.node_port, port.load_balancer_ips) == (30080, ("198.51.100.1",))


PREDICATES = [  # iTP Local, eTP Local, external → reachable, uses cluster, uses local
    (False, False, False, (False, True, False)),
    (False, True, False, (False, True, False)),
    (True, False, False, (False, False, True)),
    (True, True, False, (False, False, True)),
    (False, False, True, (True, True, False)),
    (False, True, True, (True, True, True)),
    (True, False, True, (True, True, True)),
    (True, True, True, (True, True, True)),
]


@pytest.mark.parametrize("internal, external, outside, expected", PREDICATES)
def test_predicates(internal: bool, external: bool, outside: bool, expected: tuple[bool, bool, bool]) -> None:
    port = ServicePort(
        port_name(), "10.0.0.1", 80, int(outside), internal_local=internal, external_local=external
    )
    assert (port.reachable_from_outside, port.uses_cluster, port.uses_local) == expected


SAME = [  # what a Service may change without anybody noticing
    ("labels", {"labels": {"app": "cart"}}),
    ("hostname-ingress", {"ingress": [{"ip": "198.51.100.1"}, {"hostname": "lb.example.com"}]}),
    ("ip-mode", {"ingress": [{"ip": "198.51.100.1", "ipMode": "VIP"}]}),
    ("other-family", {"externalIPs": ["2001:db8::1"]}),
    ("distribution", {"trafficDistribution": "PreferClose", "publishNotReadyAddresses": True}),
    ("class", {"loadBalancerClass": "example.com/one", "loadBalancerIP": "198.51.100.9"}),
    ("selector", {"selector": {"app": "cart"}}),
    ("type", {"type": "ClusterIP"}),
    ("everybody", {"loadBalancerSourceRanges": ["0.0.0.0/0"]}),
    ("target-port", {"ports": [{**HTTP, "targetPort": 9090, "appProtocol": "h2c"}]}),
]
OTHER = [
    ("port", {"ports": [{"name": "http", "port": 81}]}),
    ("port-name", {"ports": [{"name": "web", "port": 80}]}),
    ("protocol", {"ports": [{"name": "http", "port": 80, "protocol": "UDP"}]}),
    ("node-port", {"ports": [{**HTTP, "nodePort": 30080}]}),
    ("cluster-ip", {"ip": "10.0.0.11"}),
    ("headless", {"ip": "None"}),
    ("external-name", {"type": "ExternalName"}),
    ("external-ips", {"externalIPs": ["192.0.2.1"]}),
    ("ingress", {"ingress": [{"ip": "198.51.100.2"}]}),
    ("ranges", {"loadBalancerSourceRanges": ["10.0.0.0/8"]}),
    ("affinity", {"sessionAffinity": "ClientIP"}),
    ("internal", {"internalTrafficPolicy": "Local"}),
    ("external", {"externalTrafficPolicy": "Local"}),
]
BASE: dict[str, Any] = {"type": "LoadBalancer", "ingress": [{"ip": "198.51.100.1"}]}


@pytest.mark.parametrize("edit", [row[1] for row in SAME], ids=[row[0] for row in SAME])
def test_not_significant(edit: dict[str, Any]) -> None:
    assert read_service(service(**BASE | edit)).ipv4 == read_service(service(**BASE)).ipv4


@pytest.mark.parametrize("edit", [row[1] for row in OTHER], ids=[row[0] for row in OTHER])
def test_significant(edit: dict[str, Any]) -> None:
    assert read_service(service(**BASE | edit)).ipv4 != read_service(service(**BASE)).ipv4
