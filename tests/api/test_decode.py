"""Bytes or plain values become objects, or an error that names the field."""

from typing import Any

import msgspec
import pytest

from kubeproxy.api.change import KINDS, kind_of, ref_of
from kubeproxy.api.decode import DecodeError, decode, decode_as
from kubeproxy.api.endpointslice import (
    Conditions,
    EndpointSlice,
    ForNode,
    ForZone,
    Hints,
    SliceEndpoint,
    SlicePort,
)
from kubeproxy.api.meta import ObjectMeta, Ref
from kubeproxy.api.node import Node, NodeAddress, NodeSpec, NodeStatus, Taint
from kubeproxy.api.service import Service, ServicePortSpec, ServiceSpec
from kubeproxy.api.servicecidr import ServiceCIDR, ServiceCIDRSpec

SLICE = b"""{"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1", "metadata": {"name": "cart-1", "namespace": "shop",
 "managedFields": [{"manager": "x"}]}, "addressType": "IPv4", "endpoints": %s, "ports": %s}"""


def test_a_slice_with_everything() -> None:
    endpoints = b"""[{"addresses": ["10.0.0.1"], "conditions": {"ready": true, "terminating": false}, "nodeName": "node-a",
      "zone": "a", "hints": {"forZones": [{"name": "a"}], "forNodes": [{"name": "node-a"}]}, "targetRef": {"kind": "Pod"}}]"""
    found = decode(SLICE % (endpoints, b'[{"name": "http", "port": 80, "protocol": "TCP"}]'))
    assert found == EndpointSlice(
        ObjectMeta("cart-1", "shop"),
        "IPv4",
        (
            SliceEndpoint(
                ("10.0.0.1",),
                Conditions(ready=True, terminating=False),
                "node-a",
                "a",
                Hints((ForZone("a"),), (ForNode("node-a"),)),
            ),
        ),
        (SlicePort("http", 80, "TCP"),),
    )


@pytest.mark.parametrize(
    "endpoints, ports, expected",
    [
        (b"null", b"null", EndpointSlice(ObjectMeta("cart-1", "shop"), "IPv4")),
        (
            b'[{"addresses": ["10.0.0.1"], "conditions": null, "hints": null}]',
            b"[{}]",
            EndpointSlice(
                ObjectMeta("cart-1", "shop"), "IPv4", (SliceEndpoint(("10.0.0.1",)),), (SlicePort(),)
            ),
        ),
    ],
)
def test_null_is_read_as_absent(endpoints: bytes, ports: bytes, expected: EndpointSlice) -> None:
    """As Go writes an empty list, and as it reads one."""
    assert decode(SLICE % (endpoints, ports)) == expected
    assert decode_as(EndpointSlice, SLICE % (endpoints, ports)) == expected


def test_a_label_without_a_value_is_there() -> None:
    """`service-proxy-name:` with nothing behind it still hands the Service to another proxy."""
    found = decode_as(
        Service, {"metadata": {"name": "x", "labels": {"a": None}, "uid": None}, "spec": {"ports": None}}
    )
    assert found.metadata == ObjectMeta("x", labels={"a": ""})


def test_every_kind_and_its_ref() -> None:
    objects: list[tuple[dict[str, Any], Any, Ref]] = [
        (
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ports": [{"port": 80}]}},
            Service(ObjectMeta("cart", "shop"), ServiceSpec(ports=(ServicePortSpec(port=80),))),
            Ref("Service", "shop", "cart"),
        ),
        (
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": "node-a"},
                "spec": {"podCIDRs": ["10.244.0.0/24"], "taints": [{"key": "k", "effect": "NoExecute"}]},
                "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]},
            },
            Node(
                ObjectMeta("node-a"),
                NodeSpec("", ("10.244.0.0/24",), (Taint("k", "", "NoExecute"),)),
                NodeStatus((NodeAddress("InternalIP", "192.0.2.1"),)),
            ),
            Ref("Node", "", "node-a"),
        ),
        (
            {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/12"]}},
            ServiceCIDR(ObjectMeta("kubernetes"), ServiceCIDRSpec(("10.96.0.0/12",))),
            Ref("ServiceCIDR", "", "kubernetes"),
        ),
    ]  # fmt: skip
    for raw, expected, ref in objects:
        assert decode(raw) == decode(msgspec.json.encode(raw)) == expected
        assert ref_of(expected) == ref
        assert kind_of(expected) == ref.kind
        assert decode_as(KINDS[ref.kind], msgspec.json.encode(expected)) == expected


def test_refs_print_as_people_say_them() -> None:
    assert str(Ref("Service", "shop", "cart")) == "Service shop/cart"
    assert str(Ref("Node", "", "node-a")) == "Node node-a"
    assert {Ref("Service", "shop", "cart"): 1}[Ref("Service", "shop", "cart")] == 1


WRONG: list[tuple[Any, str, Any, str, str]] = [
    # given                                                       field, value, problem, remedy
    (b"{", "", None, "not JSON: Input data was truncated", "compare it with the output of kubectl get -o json"),
    (b"[]", "", [], "a Kubernetes object is a mapping, not a list", "write a mapping: name: value, indented below the field"),
    ({}, "kind", None, "the object does not say what it is", "write one of Service, EndpointSlice, Node, ServiceCIDR"),
    ({"kind": "Pod"}, "kind", "Pod", "not a kind that is read here", "write one of Service, EndpointSlice, Node, ServiceCIDR"),
    ({"kind": "Service"}, "apiVersion", None, "the version is missing", "write v1"),
    ({"kind": "Node", "apiVersion": "v2"}, "apiVersion", "v2", "not a version of Node that is read here", "write v1"),
    ({"kind": "Node", "apiVersion": "v1"}, "metadata", None, "required, and missing", "add metadata"),
    (
        {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 1}, {"port": "http"}]}},
        "spec.ports[1].port", "http", "expected a whole number, found text", "write a whole number, without quotes",
    ),
    (
        {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "x", "labels": {"a": "b", "on": True}}},
        "metadata.labels[on]", True, "expected text, found true or false",
        "put the value in quotes: bare numbers, and yes, no, on, off, true and false are not text in YAML",
    ),
    (
        {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "x", "labels": {1: "b"}}},
        "metadata.labels", None, "a name in this mapping is not text", "put the name before the colon in quotes",
    ),
    (
        {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 1, "targetPort": {}}]}},
        "spec.ports[0].targetPort", {}, "expected a whole number or text, found a mapping",
        "write a port number, or the name of a container port",
    ),
]  # fmt: skip


@pytest.mark.parametrize("given, field, value, problem, remedy", WRONG, ids=range(len(WRONG)))
def test_an_error_names_field_value_problem_and_remedy(
    given: Any, field: str, value: Any, problem: str, remedy: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(given)
    error = caught.value
    assert (error.field, error.value, error.problem, error.remedy) == (field, value, problem, remedy)


@pytest.mark.parametrize("depth", [500, 5_000, 500_000])
def test_deep_nesting_is_an_error_and_no_crash(depth: int) -> None:
    head = b'{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "x"}, "spec": {"ports": '
    with pytest.raises(DecodeError):
        decode(head + b"[" * depth + b"]" * depth + b"}}")
