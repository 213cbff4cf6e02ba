"""Whatever is wrong with a file, it is named so that it can be found, and its neighbours keep working."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kubeproxy.sources.manifests import ManifestsSource
from kubeproxy.sources.notice import Level
from tests.sources.objects import about, service, slice_of, upserts, write

SERVICE_NAME = "kubernetes.io/service-name"
NODE_PORT = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}}
CIDR = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "more"}}
ENDPOINTS = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "cart", "namespace": "shop"}}


def ports(*entries: Any, **spec: Any) -> dict[str, Any]:
    return service(ports=list(entries), **spec)


OBJECTS = [
    # what is written                                    the field named                      its value     what to do
    (service(name="Cart"), "metadata.name", "Cart", "63 of a-z"),
    (service(name="1cart"), "metadata.name", "1cart", "beginning with a letter"),
    (service(name="x" * 64), "metadata.name", "x" * 64, "at most 63"),
    (service(name="a;b"), "metadata.name", "a;b", "a-z, 0-9 and -"),
    (service(name="cart\n-A INPUT -j DROP"), "metadata.name", "cart\\n-A INPUT -j DROP", "a-z, 0-9 and -"),
    (service(name=""), "metadata.name", "", "a-z, 0-9 and -"),
    (service(namespace="Shop"), "metadata.namespace", "Shop", "a-z, 0-9 and -"),
    (service(meta={"labels": {"app": "no spaces"}}), "metadata.labels[app]", "no spaces", "at most 63 of A-Z"),
    (service(meta={"labels": {"a b": "x"}}), "metadata.labels", "a b", "example.com/app"),
    (service(meta={"labels": {"app": 1}}), "metadata.labels[app]", "1", "in quotes"),
    (service(meta={"labels": ["app"]}), "metadata.labels", "a list of 1", "write a mapping"),
    (service(meta={"name": 80}), "metadata.name", "80", "in quotes"),
    ({"apiVersion": "v1", "kind": "Service", "spec": {}}, "metadata", "", "add metadata"),
    ({"apiVersion": "v1", "kind": "Service", "metadata": {}}, "metadata.name", "", "add name"),
    ({"kind": "Service", "metadata": {"name": "x"}}, "apiVersion", "", "write v1"),
    (service() | {"apiVersion": "v2"}, "apiVersion", "v2", "write v1"),
    (service() | {"apiVersion": 1}, "apiVersion", "1", "write v1"),
    ({"apiVersion": "v1", "metadata": {"name": "x"}}, "kind", "", "write one of Service"),
    (service() | {"kind": ["Service"]}, "kind", "a list of 1", "write one of Service"),
    (service() | {"spec": []}, "spec", "a list of 0", "write a mapping"),
    (service(type="NodePrt"), "spec.type", "NodePrt", "ClusterIP or NodePort"),
    (service(type=3), "spec.type", "3", "in quotes"),
    (service(ports=...), "spec.ports", "", "add at least one port"),
    (service(ports=[]), "spec.ports", "", "add at least one port"),
    (service(ports={"port": 80}), "spec.ports", "a mapping of 1", "after a dash"),
    (ports({}), "spec.ports[0].port", "", "add port"),
    (ports(None), "spec.ports[0]", "", "write a mapping"),
    (ports({"port": 0}), "spec.ports[0].port", "0", "from 1 to 65535"),
    (ports({"port": 65536}), "spec.ports[0].port", "65536", "from 1 to 65535"),
    (ports({"port": -80}), "spec.ports[0].port", "-80", "from 1 to 65535"),
    (ports({"port": "80"}), "spec.ports[0].port", "80", "without quotes"),
    (ports({"port": 80.5}), "spec.ports[0].port", "80.5", "whole number"),
    (ports({"port": True}), "spec.ports[0].port", "true", "whole number"),
    (ports({"port": 80, "protocol": "tcp"}), "spec.ports[0].protocol", "tcp", "TCP or UDP or SCTP"),
    (ports({"port": 80, "protocol": "ICMP"}), "spec.ports[0].protocol", "ICMP", "TCP or UDP or SCTP"),
    (ports({"port": 80, "name": "Http"}), "spec.ports[0].name", "Http", "a-z, 0-9 and -"),
    (ports({"port": 80, "name": 'a" --comment "b'}), "spec.ports[0].name", 'a" --comment "b', "a-z, 0-9 and -"),
    (ports({"port": 80, "targetPort": 70000}), "spec.ports[0].targetPort", "70000", "from 1 to 65535"),
    (ports({"port": 80, "targetPort": "80"}), "spec.ports[0].targetPort", "80", "at least one letter"),
    (ports({"port": 80, "targetPort": [80]}), "spec.ports[0].targetPort", "a list of 1", "name of a container port"),
    (ports({"port": 80, "name": "a"}, {"port": 81}), "spec.ports[1].name", "", "name each port"),
    (ports({"port": 80, "name": "a"}, {"port": 81, "name": "a"}), "spec.ports[1].name", "a", "each its own"),
    (ports({"port": 80, "name": "a"}, {"port": 80, "name": "b"}), "spec.ports[1].port", "80", "change the port"),
    (ports({"port": 80, "nodePort": 30080}), "spec.ports[0].nodePort", "30080", "NodePort"),
    (ports({"port": 80, "nodePort": 65536}, type="NodePort"), "spec.ports[0].nodePort", "65536", "from 0 to 65535"),
    (
        ports({"port": 80, "name": "a", "nodePort": 30080}, {"port": 81, "name": "b", "nodePort": 30080}, type="NodePort"),
        "spec.ports[1].nodePort",
        "30080",
        "its own",
    ),
    (service(clusterIP="10.96.0.256"), "spec.clusterIP", "10.96.0.256", "such as 10.0.0.10"),
    (service(clusterIP="10.96.0.10/32"), "spec.clusterIP", "10.96.0.10/32", "such as 10.0.0.10"),
    (service(clusterIP="fe80::1%eth0"), "spec.clusterIP", "fe80::1%eth0", "such as 10.0.0.10"),
    (service(clusterIP="127.0.0.1"), "spec.clusterIP", "127.0.0.1", "routable"),
    (service(clusterIP="0.0.0.0"), "spec.clusterIP", "0.0.0.0", "routable"),
    (service(clusterIPs=["10.96.0.11"]), "spec.clusterIP", "10.96.0.10", "make both the same"),
    (service(clusterIPs=["10.96.0.10", "10.96.0.11"]), "spec.clusterIPs[1]", "10.96.0.11", "one IPv6"),
    (service(clusterIPs=["10.96.0.10", "fd00::1", "fd00::2"]), "spec.clusterIPs[2]", "fd00::2", "one of each"),
    (service(clusterIP="None", type="NodePort"), "spec.clusterIP", "None", "remove clusterIP"),
    (service(ipFamilies=["IPv6"]), "spec.clusterIPs[0]", "10.96.0.10", "write an IPv6 address"),
    (service(ipFamilies=["ipv4"]), "spec.ipFamilies[0]", "ipv4", "IPv4 or IPv6"),
    (service(clusterIP=..., ipFamilies=["IPv4", "IPv4"]), "spec.ipFamilies[1]", "IPv4", "each its own"),
    (service(ipFamilies="IPv4"), "spec.ipFamilies", "IPv4", "after a dash"),
    (service(ipFamilyPolicy="DualStack"), "spec.ipFamilyPolicy", "DualStack", "PreferDualStack"),
    (
        service(clusterIPs=["10.96.0.10", "fd00::1"], ipFamilyPolicy="SingleStack"),
        "spec.ipFamilyPolicy",
        "SingleStack",
        "RequireDualStack",
    ),
    (service(externalIPs=["198.51.100.1 "]), "spec.externalIPs[0]", "198.51.100.1 ", "such as 10.0.0.10"),
    (service(externalIPs=["127.0.0.1"]), "spec.externalIPs[0]", "127.0.0.1", "routable"),
    (service(externalIPs=["169.254.169.254"]), "spec.externalIPs[0]", "169.254.169.254", "routable"),
    (service(externalIPs="198.51.100.1"), "spec.externalIPs", "198.51.100.1", "after a dash"),
    (service(internalTrafficPolicy="local"), "spec.internalTrafficPolicy", "local", "Cluster or Local"),
    (service(externalTrafficPolicy="Local"), "spec.externalTrafficPolicy", "Local", "NodePort or LoadBalancer"),
    (service(**NODE_PORT, externalTrafficPolicy="Loca"), "spec.externalTrafficPolicy", "Loca", "Cluster or Local"),
    (service(sessionAffinity="ClientIp"), "spec.sessionAffinity", "ClientIp", "None or ClientIP"),
    (
        service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 0}}),
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        "0",
        "from 1 to 86400",
    ),
    (
        service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 86401}}),
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        "86401",
        "from 1 to 86400",
    ),
    (service(**NODE_PORT, healthCheckNodePort=31000), "spec.healthCheckNodePort", "31000", "remove"),
    (service(loadBalancerSourceRanges=["10.0.0.0/8"]), "spec.loadBalancerSourceRanges[0]", "10.0.0.0/8", "LoadBalancer"),
    (
        service(type="LoadBalancer", allocateLoadBalancerNodePorts=False, loadBalancerSourceRanges=["10.0.0.1"]),
        "spec.loadBalancerSourceRanges[0]",
        "10.0.0.1",
        "10.0.0.1/32",
    ),
    (service(allocateLoadBalancerNodePorts="no"), "spec.allocateLoadBalancerNodePorts", "no", "true or false"),
    (service(type="ExternalName", externalName="a b", clusterIP=...), "spec.externalName", "a b", "at most 253"),
    (service(type="ExternalName", externalName="a.example"), "spec.clusterIP", "10.96.0.10", "remove it"),
    (
        service() | {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.999"}]}}},
        "status.loadBalancer.ingress[0].ip",
        "203.0.113.999",
        "such as 10.0.0.10",
    ),
    (
        service() | {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.9", "ipMode": "vip"}]}}},
        "status.loadBalancer.ingress[0].ipMode",
        "vip",
        "VIP or Proxy",
    ),
    (
        service() | {"status": {"loadBalancer": {"ingress": [{"hostname": "a.example", "ipMode": "VIP"}]}}},
        "status.loadBalancer.ingress[0].ipMode",
        "VIP",
        "add ip",
    ),
    (slice_of(name="Cart_1"), "metadata.name", "Cart_1", "at most 253"),
    (slice_of(addressType="IPV4"), "addressType", "IPV4", "IPv4 or IPv6"),
    (slice_of(addressType=...) | {"addressType": None}, "addressType", "", "add addressType"),
    (slice_of(endpoints=[{"addresses": []}]), "endpoints[0].addresses", "", "add the address"),
    (slice_of(endpoints=[{"addresses": ["pod-1"]}]), "endpoints[0].addresses[0]", "pod-1", "such as 10.0.0.10"),
    (slice_of(endpoints=[{"addresses": ["fd00::5"]}]), "endpoints[0].addresses[0]", "fd00::5", "slice of its own"),
    (slice_of(endpoints=[{"addresses": ["127.0.0.1"]}]), "endpoints[0].addresses[0]", "127.0.0.1", "routable"),
    (
        slice_of(endpoints=[{"addresses": ["10.0.0.1"], "conditions": {"ready": "true"}}]),
        "endpoints[0].conditions.ready",
        "true",
        "without quotes",
    ),
    (
        slice_of(endpoints=[{"addresses": ["10.0.0.1"], "nodeName": "Node A"}]),
        "endpoints[0].nodeName",
        "Node A",
        "at most 253",
    ),
    (
        slice_of(endpoints=[{"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": ""}]}}]),
        "endpoints[0].hints.forZones[0].name",
        "",
        "at most 63",
    ),
    (slice_of(endpoints=[{"addresses": ["10.0.0.1"]}] * 1001), "endpoints", "a list of 1001", "divide"),
    (slice_of(ports=[{"port": 0}]), "ports[0].port", "0", "from 1 to 65535"),
    (slice_of(ports=[{"port": 80, "protocol": "Tcp"}]), "ports[0].protocol", "Tcp", "TCP or UDP or SCTP"),
    (slice_of(ports=[{"port": 80}, {"port": 81}]), "ports[1].name", "", "each its own"),
    (slice_of() | {"apiVersion": "discovery.k8s.io/v1beta1"}, "apiVersion", "discovery.k8s.io/v1beta1", "discovery.k8s.io/v1"),
    (NODE | {"metadata": {"name": "node_a"}}, "metadata.name", "node_a", "at most 253"),
    (NODE | {"spec": {"podCIDR": "10.244.0.0"}}, "spec.podCIDRs[0]", "10.244.0.0", "10.244.0.0/32"),
    (
        NODE | {"spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.2.0/24"]}},
        "spec.podCIDR",
        "10.244.1.0/24",
        "make both the same",
    ),
    (
        NODE | {"status": {"addresses": [{"type": "InternalIP", "address": "node-a"}]}},
        "status.addresses[0].address",
        "node-a",
        "such as 10.0.0.10",
    ),
    (CIDR | {"spec": {"cidrs": []}}, "spec.cidrs", "", "such as 10.96.0.0/12"),
    (CIDR | {"spec": {"cidrs": ["10.0.0.0/33"]}}, "spec.cidrs[0]", "10.0.0.0/33", "such as 10.96.0.0/12"),
    (CIDR | {"spec": {"cidrs": ["10.0.0.0/16", "10.1.0.0/16"]}}, "spec.cidrs[1]", "10.1.0.0/16", "of its own"),
    (
        ENDPOINTS | {"subsets": [{"addresses": [{"ip": "pod"}], "ports": [{"port": 80}]}]},
        "subsets[0].addresses[0].ip",
        "pod",
        "such as 10.0.0.10",
    ),
    (
        ENDPOINTS | {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 99999}]}]},
        "subsets[0].ports[0].port",
        "99999",
        "from 1 to 65535",
    ),
    (
        {"apiVersion": "v1", "kind": "List", "items": [service(name="fine"), service(name="Bad")]},
        "items[1].metadata.name",
        "Bad",
        "a-z, 0-9 and -",
    ),
    ({"apiVersion": "v1", "kind": "List", "items": {"a": 1}}, "items", "a mapping of 1", "after a dash"),
    ({"apiVersion": "v1", "kind": "List", "items": ["x"]}, "items[0]", "x", "apiVersion: and kind:"),
]  # fmt: skip

FILES = [
    # the bytes of the file                                              the document, its text      what to do
    (b"kind: Service\n\tname: x\n", 1, "name: x", "indent with spaces"),
    (b"a: b: c\n", 1, "a: b: c", "in quotes"),
    (b"a: [1, 2\n", 1, "a: [1, 2", "brackets"),
    (b"a: 1\na: 2\n", 1, "a: 2", "remove one"),
    (b"a: *nowhere\n", 1, "a: *nowhere", "write the value out"),
    (b"a: !!python/object:os.system x\n", 1, "a: !!python/object:os.system x", "without a tag"),
    (b"? [a]\n: b\n", 1, "? [a]", "a name is text"),
    (b"a: \x00\n", 1, "a: \\x00", "remove the character"),
    (b"a: \xff\n", 0, "b'\\xff\\n'", "save it as UTF-8"),
    (b"\xfe\xffa", 0, "b'a'", "save it as UTF-8"),
    (b"just text\n", 1, "just text", "begins with apiVersion"),
    (b"- a\n- b\n", 1, "a list of 2", "begins with apiVersion"),
    (b"12\n", 1, "12", "begins with apiVersion"),
    (b"{" * 80, 1, "{" * 80, "name is text"),
    (b"- " * 80, 1, ("- " * 80).strip(), "remove the nesting"),
]


def numbered_bomb() -> str:
    """Nine lines that stand for a thousand million values."""
    levels = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 9):
        levels.append(f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]")
    return "\n".join(levels)


@pytest.mark.parametrize(
    "bad, field, value, remedy", OBJECTS, ids=[f"{row[1]}-{i}" for i, row in enumerate(OBJECTS)]
)
def test_a_bad_object_is_named_and_the_good_one_beside_it_is_served(
    tmp_path: Path, bad: Any, field: str, value: str, remedy: str
) -> None:
    write(
        tmp_path,
        "mixed.yaml",
        service("before", clusterIP="10.96.0.1"),
        bad,
        service("after", clusterIP="10.96.0.2"),
    )
    reading = ManifestsSource(tmp_path).read()
    errors = [notice for notice in reading.notices if notice.level is Level.ERROR]
    assert [(n.file, n.document, n.field, n.value) for n in errors] == [
        ("mixed.yaml", 2, field, value[:80] + ("..." if len(value) > 80 else ""))
    ]
    assert remedy in errors[0].remedy
    assert str(errors[0]).isprintable()
    assert {"Service shop/before", "Service shop/after"} <= set(upserts(reading))
    assert set(upserts(reading)) <= {"Service shop/before", "Service shop/after", "Service shop/fine"}


@pytest.mark.parametrize("data, document, text, remedy", FILES, ids=[repr(row[0][:20]) for row in FILES])
def test_a_bad_file_is_named_and_the_good_one_beside_it_is_served(
    tmp_path: Path, data: bytes, document: int, text: str, remedy: str
) -> None:
    (tmp_path / "bad.yaml").write_bytes(data)
    write(tmp_path, "good.yaml", service(), slice_of())
    reading = ManifestsSource(tmp_path).read()
    shown = text[:80] + ("..." if len(text) > 80 else "")
    assert [(n.level, n.document, n.value) for n in about(reading, "bad.yaml")] == [
        (Level.ERROR, document, shown)
    ]
    assert remedy in reading.notices[0].remedy
    assert set(upserts(reading)) == {"Service shop/cart", "EndpointSlice shop/cart-1"}


def test_the_table_is_as_long_as_promised() -> None:
    assert len(OBJECTS) + len(FILES) >= 60


#: how the interpreter's own parser says it, which became clearer in 3.13
TRAILING_COMMA = (
    "Illegal trailing comma before end of object"
    if sys.version_info >= (3, 13)
    else "Expecting property name enclosed in double quotes"
)

JSON_FILES = [
    ('{"a": 1,}', '{"a": 1,}', f"line 1: not JSON: {TRAILING_COMMA}"),
    ('{"a": 1', '{"a": 1', "line 1: not JSON: Expecting ',' delimiter"),
    ('{\n"a": tru\n}', '"a": tru', "line 2: not JSON: Expecting value"),
    ('{"a": NaN}', '{"a": NaN}', "line 1: not JSON: NaN: not a JSON number"),
    ('{"a": "\\ud800"}', '{"a": "\\ud800"}', "line 1: not JSON: "),
    ("kind: Service", "kind: Service", "line 1: not JSON: Expecting value"),
]  # fmt: skip


@pytest.mark.parametrize("text, value, problem", JSON_FILES)
def test_a_json_file_that_is_none(tmp_path: Path, text: str, value: str, problem: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    write(tmp_path, "good.yaml", service(), slice_of())
    reading = ManifestsSource(tmp_path).read()
    (notice,) = about(reading, "bad.json")
    assert (notice.level, notice.document, notice.value) == (Level.ERROR, 1, value)
    assert notice.problem.startswith(problem)
    assert set(upserts(reading)) == {"Service shop/cart", "EndpointSlice shop/cart-1"}


def test_deeply_nested_json(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text('{"a":' * 100_000)
    (tmp_path / "deeper.json").write_text(json.dumps(service()).replace("{", '{"spec":' + "[" * 5000, 1))
    write(tmp_path, "good.yaml", service(), slice_of())
    reading = ManifestsSource(tmp_path).read()
    assert {n.file for n in reading.notices} == {"deep.json", "deeper.json"}
    assert set(upserts(reading)) == {"Service shop/cart", "EndpointSlice shop/cart-1"}


def test_an_alias_bomb_does_not_go_off(tmp_path: Path) -> None:
    write(tmp_path, "bomb.yaml", numbered_bomb())
    write(tmp_path, "good.yaml", service(), slice_of())
    reading = ManifestsSource(tmp_path).read()
    (notice,) = about(reading, "bomb.yaml")
    assert notice.problem == "line 6: aliases stand for more than 200000 values"
    assert set(upserts(reading)) == {"Service shop/cart", "EndpointSlice shop/cart-1"}


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, "huge.yaml", service("huge"), "# " + "x" * 5000)
    write(tmp_path, "good.yaml", service(), slice_of())
    reading = ManifestsSource(tmp_path, longest_file=4000).read()
    (notice,) = about(reading, "huge.yaml")
    assert notice.problem.endswith("are more than the 4000 that are read of one file")
    assert notice.remedy == "divide it among several files"
    assert set(upserts(reading)) == {"Service shop/cart", "EndpointSlice shop/cart-1"}


def test_things_in_the_directory_that_are_no_files(tmp_path: Path) -> None:
    """A pipe must not be waited for, and a link to nothing is a slip."""
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.yaml").symlink_to("nothing")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / ".hidden.yaml").write_text("not: [yaml")
    (tmp_path / "notes.txt").write_text("not: [yaml")
    (tmp_path / os.fsdecode(b"\xff\x1b[31m.yaml")).write_text("a: [")
    write(tmp_path, "good.yaml", service(), slice_of())
    reading = ManifestsSource(tmp_path).read()
    assert {(n.file, n.problem) for n in reading.notices} == {
        ("folder.yaml", "not a file"),
        ("sub", "not read: only files directly in the directory are"),
        ("link.yaml", "a link to nothing"),
        ("loop.yaml", "Too many levels of symbolic links"),
        ("pipe.yaml", "not a file"),
        ("\\udcff\\x1b[31m.yaml", "line 2: not YAML: did not find expected node content while parsing a flow node"),
    }  # fmt: skip
    assert set(upserts(reading)) == {"Service shop/cart", "EndpointSlice shop/cart-1"}


def test_several_mistakes_in_one_object_are_named_together(tmp_path: Path) -> None:
    write(tmp_path, "bad.yaml", service(ports=[{"port": 0, "protocol": "X"}], sessionAffinity="Y"))
    reading = ManifestsSource(tmp_path).read()
    assert [n.field for n in reading.notices] == [
        "spec.ports[0].protocol",
        "spec.ports[0].port",
        "spec.sessionAffinity",
    ]


def test_the_same_name_in_two_files(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", service(clusterIP="10.96.0.1"))
    write(tmp_path, "b.yaml", service(clusterIP="10.96.0.2"), slice_of())
    reading = ManifestsSource(tmp_path).read()
    (notice,) = reading.notices
    assert str(notice) == (
        "b.yaml, document 1: Service shop/cart: metadata.name 'cart': ignored: a.yaml, document 1 has the same name"
        " and comes first; remove one of them, or change the name"
    )
    assert upserts(reading)["Service shop/cart"].spec.clusterIP == "10.96.0.1"  # type: ignore[union-attr]


def test_the_log_line_of_a_bad_port() -> None:
    """What the operator reads, as a whole."""
    from kubeproxy.sources.admit import Refused, admit
    from kubeproxy.sources.documents import Document

    outcome = admit("shop.yaml", Document(3, "", service(ports=[{"port": 99999}])))
    assert isinstance(outcome, Refused)
    assert str(outcome.notices[0]) == (
        "shop.yaml, document 3: Service shop/cart: spec.ports[0].port '99999': outside 1 to 65535;"
        " write a number from 1 to 65535"
    )
