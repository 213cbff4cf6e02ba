"""What the API server fills in, in the order of its fields."""

from pathlib import Path
from typing import Any

import pytest

from kubeproxy.api.endpointslice import SlicePort
from kubeproxy.api.node import Node, NodeSpec
from kubeproxy.api.service import ClientIPConfig, Ingress, Service, SessionAffinityConfig
from kubeproxy.sources.admit import Entry, admit
from kubeproxy.sources.documents import Document
from tests.sources.objects import service, slice_of


def admitted(raw: dict[str, Any]) -> Any:
    outcome = admit("x.yaml", Document(1, "", raw))
    assert isinstance(outcome, Entry), outcome
    return outcome.obj


DEFAULTS = [
    # written                                              field                      filled in
    ({}, "type", "ClusterIP"),
    ({"type": ""}, "type", "ClusterIP"),
    ({}, "sessionAffinity", "None"),
    ({}, "sessionAffinityConfig", None),
    ({"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}, "sessionAffinityConfig", None),
    ({"sessionAffinity": "ClientIP"}, "sessionAffinityConfig", SessionAffinityConfig(ClientIPConfig(10800))),
    (
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {}}},
        "sessionAffinityConfig",
        SessionAffinityConfig(ClientIPConfig(10800)),
    ),
    (
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86400}}},
        "sessionAffinityConfig",
        SessionAffinityConfig(ClientIPConfig(86400)),
    ),
    ({}, "internalTrafficPolicy", "Cluster"),
    ({"type": "ExternalName", "externalName": "a.example.", "clusterIP": ...}, "internalTrafficPolicy", None),
    ({}, "externalTrafficPolicy", None),
    ({"externalIPs": ["198.51.100.1"]}, "externalTrafficPolicy", "Cluster"),
    ({"type": "NodePort"}, "externalTrafficPolicy", "Cluster"),
    ({"type": "LoadBalancer"}, "externalTrafficPolicy", "Cluster"),
    ({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}, "externalTrafficPolicy", "Local"),
    ({}, "allocateLoadBalancerNodePorts", None),
    ({"type": "LoadBalancer"}, "allocateLoadBalancerNodePorts", True),
    (
        {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False},
        "allocateLoadBalancerNodePorts",
        False,
    ),
    ({}, "clusterIPs", ("10.96.0.10",)),
    ({"clusterIP": ..., "clusterIPs": ["fd00::1"]}, "clusterIP", "fd00::1"),
    ({}, "ipFamilies", ("IPv4",)),
    ({"clusterIP": "fd00::1"}, "ipFamilies", ("IPv6",)),
    ({"clusterIPs": ["10.96.0.10", "fd00::1"]}, "ipFamilies", ("IPv4", "IPv6")),
    ({"clusterIPs": ["10.96.0.10", "fd00::1"], "ipFamilies": ["IPv4"]}, "ipFamilies", ("IPv4", "IPv6")),
    ({"clusterIPs": ["10.96.0.10", "fd00::1"]}, "ipFamilyPolicy", "RequireDualStack"),
    ({}, "ipFamilyPolicy", "SingleStack"),
    ({"ipFamilyPolicy": "PreferDualStack"}, "ipFamilyPolicy", "PreferDualStack"),
    ({"clusterIP": "None"}, "clusterIPs", ("None",)),
    ({"clusterIP": "010.096.000.010"}, "ipFamilies", ("IPv4",)),
]


@pytest.mark.parametrize(
    "written, field, filled", DEFAULTS, ids=[f"{row[1]}-{i}" for i, row in enumerate(DEFAULTS)]
)
def test_a_field_of_a_service(written: dict[str, Any], field: str, filled: Any) -> None:
    assert getattr(admitted(service(**written)).spec, field) == filled


PORTS = [
    ({"port": 80}, ("", "TCP", 80, 80)),
    ({"port": 80, "targetPort": 8080, "protocol": "UDP"}, ("", "UDP", 80, 8080)),
    ({"port": 80, "targetPort": "http"}, ("", "TCP", 80, "http")),
    ({"port": 80, "targetPort": 0, "protocol": ""}, ("", "TCP", 80, 80)),
    ({"port": 80, "targetPort": ""}, ("", "TCP", 80, 80)),
    ({"port": 80, "targetPort": None, "name": None}, ("", "TCP", 80, 80)),
]


@pytest.mark.parametrize("written, filled", PORTS)
def test_a_port_of_a_service(written: dict[str, Any], filled: tuple[Any, ...]) -> None:
    (port,) = admitted(service(ports=[written])).spec.ports
    assert (port.name, port.protocol, port.port, port.targetPort) == filled


def test_a_namespace_is_filled_in_where_there_are_namespaces() -> None:
    assert admitted(service(namespace=None)).metadata.namespace == "default"
    assert admitted(slice_of(metadata={"name": "x"})).metadata.namespace == "default"
    node = admitted({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a", "namespace": "shop"}})
    assert node.metadata.namespace == ""


def test_the_mode_of_a_balancer_address() -> None:
    status = {
        "loadBalancer": {
            "ingress": [{"ip": "203.0.113.1"}, {"ip": "203.0.113.2", "ipMode": "Proxy"}, {"hostname": "a"}]
        }
    }
    found: Service = admitted(service(type="LoadBalancer") | {"status": status})
    assert found.status.loadBalancer.ingress == (
        Ingress("203.0.113.1", "", "VIP"),
        Ingress("203.0.113.2", "", "Proxy"),
        Ingress("", "a", None),
    )


def test_the_ports_of_a_slice() -> None:
    found = admitted(slice_of(ports=[{"port": 80}, {"name": "x"}]))
    assert found.ports == (SlicePort("", 80, "TCP"), SlicePort("x", None, "TCP"))


@pytest.mark.parametrize("spec", [{"podCIDR": "10.244.0.0/24"}, {"podCIDRs": ["10.244.0.0/24"]}])
def test_the_pod_networks_of_a_node(spec: dict[str, Any]) -> None:
    found: Node = admitted({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}, "spec": spec})
    assert found.spec == NodeSpec("10.244.0.0/24", ("10.244.0.0/24",))


def test_what_is_complete_stays_as_it_is(tmp_path: Path) -> None:
    once = admitted(service(type="NodePort", ports=[{"port": 80, "nodePort": 30080}]))
    from kubeproxy.sources.defaults import fill_service

    assert fill_service(once) == once
