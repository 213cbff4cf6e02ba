"""Does the configuration fit the node? One row a sentence an operator may see at the start."""

import pytest

from kubeproxy.config.consistency import Mismatch, NodeFacts, joined, mismatches, open_node_ports
from kubeproxy.config.field import with_values
from kubeproxy.config.node import node_ips
from kubeproxy.config.schema import KubeProxyConfig

V4, V6, BOTH = ("192.0.2.7",), ("2001:db8::7",), ("192.0.2.7", "2001:db8::7")
REVERSED = ("2001:db8::7", "192.0.2.7")


def config(values):
    return with_values(KubeProxyConfig(), values)


def node(addresses, pod_cidrs=(), dual_stack=True):
    return NodeFacts(node_ips(addresses, "0.0.0.0"), pod_cidrs, dual_stack)


UNSET = (
    "nodePortAddresses is unset, so node ports are open on all addresses of this node; "
    "consider nodePortAddresses: [primary] (--nodeport-addresses=primary)"
)
OPEN_V6 = (
    "the cluster looks dual-stack, but nodePortAddresses has only IPv4 entries: "
    "node ports are open on all IPv6 addresses of this node; name IPv6 networks too, or primary"
)
OPEN_V4 = (
    "the cluster is IPv4-primary, but nodePortAddresses has only IPv6 entries: "
    "node ports are open on all IPv4 addresses of this node; name IPv4 networks too, or primary"
)
DUAL = {"clusterCIDR": "10.1.0.0/16,fd00::/48"}


@pytest.mark.parametrize(
    ("values", "facts", "said"),
    [
        ({}, node(BOTH), UNSET),
        ({"nodePortAddresses": ("primary",)}, node(()), UNSET),
        ({"nodePortAddresses": ("primary",)}, node(BOTH), ""),
        ({"nodePortAddresses": ("primary",)}, node(V4), ""),
        ({"nodePortAddresses": ("primary",)} | DUAL, node(V4), OPEN_V6),
        ({"nodePortAddresses": ("10.0.0.0/8",)}, node(BOTH), ""),
        ({"nodePortAddresses": ("10.0.0.0/8",)} | DUAL, node(BOTH), OPEN_V6),
        ({"nodePortAddresses": ("10.0.0.0/8",)}, node(BOTH, ("10.1.0.0/24", "fd00::/64")), OPEN_V6),
        ({"nodePortAddresses": ("10.0.0.0/8",), "ipvs.excludeCIDRs": ("::/0", "1.0.0.0/8")}, node(BOTH), OPEN_V6),
        ({"nodePortAddresses": ("10.0.0.0/8", "fd00::/8")} | DUAL, node(BOTH), ""),
        ({"nodePortAddresses": ("localhost",)} | DUAL, node(BOTH), ""),
        ({"nodePortAddresses": ("fd00::/8",)}, node(BOTH), OPEN_V4),
        ({"nodePortAddresses": ("fd00::/8",)}, node(REVERSED), ""),
        (
            {"nodePortAddresses": ("10.0.0.0/8",)}, node(REVERSED),
            OPEN_V4.replace("IPv4", "X").replace("IPv6", "IPv4").replace("X", "IPv6"),
        ),
    ],
)  # fmt: skip
def test_node_ports_that_are_more_open_than_they_look(values, facts, said):
    assert open_node_ports(config(values), facts) == said


SINGLE4, SINGLE6 = node(V4, dual_stack=False), node(V6, dual_stack=False)
CIDRS = "but clusterCIDRs contains only"
PODS = "but node.spec.podCIDRs contains only"


@pytest.mark.parametrize(
    ("values", "facts", "found"),
    [
        ({}, node(BOTH), []),
        ({"clusterCIDR": "10.1.0.0/16"}, node(BOTH), []),
        ({"clusterCIDR": "fd00::/48"}, node(BOTH), [Mismatch(f"cluster is IPv4-primary {CIDRS} IPv6 addresses")]),
        ({"clusterCIDR": "fd00::/48,10.1.0.0/16"}, node(BOTH), []),
        ({"clusterCIDR": "fd00::/48"}, SINGLE4, [Mismatch(f"cluster is IPv4-only {CIDRS} IPv6 addresses", True)]),
        (
            {"clusterCIDR": "10.1.0.0/16"}, SINGLE6,
            [
                Mismatch(f"cluster is IPv6-only {CIDRS} IPv4 addresses", True),
                Mismatch("cluster is IPv6-only but metricsBindAddress is IPv4"),
            ],
        ),
        (
            {"clusterCIDR": "fd00::/48", "detectLocalMode": "NodeCIDR"}, SINGLE4,
            [Mismatch(f"cluster is IPv4-only {CIDRS} IPv6 addresses")],
        ),
        ({}, node(BOTH, ("fd00::/64",)), [Mismatch(f"cluster is IPv4-primary {PODS} IPv6 addresses")]),
        (
            {"detectLocalMode": "NodeCIDR"}, node(BOTH, ("fd00::/64",)),
            [Mismatch(f"cluster is IPv4-primary {PODS} IPv6 addresses", True)],
        ),
        (
            {"winkernel.sourceVip": "fd00::1"}, node(BOTH),
            [Mismatch("cluster is IPv4-primary but winkernel.sourceVip is IPv6")],
        ),
        ({"ipvs.excludeCIDRs": ("fd00::/8",)}, node(BOTH), []),
        (
            {"ipvs.excludeCIDRs": ("fd00::/8",)}, SINGLE4,
            [Mismatch("cluster is IPv4-only but ipvs.excludeCIDRs contains only IPv6 addresses")],
        ),
        (
            {"healthzBindAddress": "[::1]:10256", "metricsBindAddress": "[::1]:10249"}, SINGLE4,
            [
                Mismatch("cluster is IPv4-only but healthzBindAddress is IPv6"),
                Mismatch("cluster is IPv4-only but metricsBindAddress is IPv6"),
            ],
        ),
        ({"healthzBindAddress": "[::]:10256", "metricsBindAddress": "127.0.0.1:1"}, SINGLE4, []),
        ({"healthzBindAddress": ""}, SINGLE4, []),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_node(values, facts, found):
    assert list(mismatches(config(values), facts)) == found


def test_several_are_told_together():
    assert joined([Mismatch("a"), Mismatch("b", True)]) == "[a, b]"
    assert joined([Mismatch("a")]) == "a"
