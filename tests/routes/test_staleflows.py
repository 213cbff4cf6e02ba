"""UDP flows that go on to an endpoint which no longer answers for what the client dialled."""

import pytest

from kubeproxy.api.change import Change
from kubeproxy.routes.nodeview import DetectBy, Detector, NodeView
from kubeproxy.routes.staleflows import stale_flows
from kubeproxy.wire.conntrack import UDP, Flow
from tests.model.objects import V6, add, drop, endpoint, service, slice_
from tests.routes.clusters import Cluster

NODE_IP, OTHER_HOST = "192.0.2.10", "203.0.113.53"
DNS = [{"name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053}]
PODS = [{"name": "dns", "port": 5353, "protocol": "UDP"}]
CLUSTER = [
    add(service(ip="10.96.0.10", ports=DNS, externalIPs=["198.51.100.7"], ingress=[{"ip": "198.51.100.1"}])),
    add(
        slice_(
            "shop/cart-x",
            endpoint("10.128.1.1", node="far"),
            endpoint("10.128.1.2", "drain"),
            endpoint("10.128.1.3", "sick"),
            endpoint("10.128.1.4", "odd"),
            ports=PODS,
        )
    ),
]
NOBODY = add(slice_("shop/cart-x", endpoint("10.128.1.3", "sick"), ports=PODS))
DELETED = drop("Service", "shop/cart")
# A second Service on a port that is the first one's node port.
TWIN = [
    add(service("shop/twin", ip="10.96.0.20", ports=[{"name": "dns", "port": 30053, "protocol": "UDP"}])),
    add(slice_("shop/twin-x", "10.128.2.1", of="twin", ports=PODS)),
]

FLOWS: list[tuple[str, list[Change], str, str, bool]] = [
    # id, what happened since, dialled, who answers, stale
    ("K1", [], "10.96.0.10:53", "10.128.1.1:5353", False),
    ("K2-cluster-ip", [], "10.96.0.10:53", "10.128.1.9:5353", True),
    ("K2-external-ip", [], "198.51.100.7:53", "10.128.1.9:5353", True),
    ("K2-load-balancer", [], "198.51.100.1:53", "10.128.1.9:5353", True),
    ("K3", [], "10.96.0.10:53", "10.128.1.3:5353", True),
    ("K4", [], "10.96.0.10:53", "10.128.1.2:5353", False),
    ("K4-serving-is-enough", [], "10.96.0.10:53", "10.128.1.4:5353", False),
    ("K5", [], "10.96.0.10:53", "10.128.1.1:53", True),
    ("K6", [], "10.96.0.10:53", "10.96.0.10:53", True),
    ("K7", [], "10.96.0.10:54", "10.128.1.9:5353", False),
    ("K9", [], f"{NODE_IP}:30053", "10.128.1.9:5353", True),
    ("K9-loopback", [], "127.0.0.1:30053", "10.128.1.9:5353", True),
    ("K9-serving", [], f"{NODE_IP}:30053", "10.128.1.1:5353", False),
    # Upstream forgets this one too: it looks at the port alone.
    ("K10-Q15", [], f"{OTHER_HOST}:30053", f"{OTHER_HOST}:30053", False),
    ("K11", [NOBODY], "10.96.0.10:53", "10.128.1.9:5353", True),
    ("K11-external-ip", [NOBODY], "198.51.100.7:53", "10.128.1.9:5353", True),
    ("K11-no-slice", [drop("EndpointSlice", "shop/cart-x")], "10.96.0.10:53", "10.128.1.9:5353", True),
    ("K12", [NOBODY], f"{NODE_IP}:30053", "10.128.1.9:5353", False),
    ("K13", [DELETED], "10.96.0.10:53", "10.128.1.9:5353", False),
    ("K13-node-port", [DELETED], f"{NODE_IP}:30053", "10.128.1.9:5353", False),
    ("K14-Q15", TWIN, "10.96.0.20:30053", "10.128.2.1:5353", False),
]


def flow(dialled: str, answers: str, protocol: int = UDP, family: int = 2) -> Flow:
    to, _, port = dialled.rpartition(":")
    by, _, by_port = answers.rpartition(":")
    return Flow(family, protocol, "10.128.7.7", 40000, to, int(port), by, int(by_port), "10.128.7.7", 40000)


def stale(cluster: Cluster, *flows: Flow) -> tuple[Flow, ...]:
    return stale_flows(flows, cluster.routes, cluster.tracker.snapshot, cluster.node)


@pytest.mark.parametrize(
    "since, dialled, answers, expected", [r[1:] for r in FLOWS], ids=[r[0] for r in FLOWS]
)
def test_flows(since: list[Change], dialled: str, answers: str, expected: bool) -> None:
    cluster, one = Cluster(*CLUSTER), flow(dialled, answers)
    cluster.hears(*since)
    assert stale(cluster, one) == ((one,) if expected else ())


@pytest.mark.parametrize("protocol", [6, 132], ids=["K8-tcp", "K8-sctp"])
def test_k8_others_notice_by_themselves(protocol: int) -> None:
    assert stale(Cluster(*CLUSTER), flow("10.96.0.10:53", "10.128.1.9:5353", protocol)) == ()


def test_policy_does_not_matter_to_flows_that_are_there() -> None:
    """The endpoint on another node serves no new flow here under Local policy, and keeps its old ones."""
    local = service(ip="10.96.0.10", ports=DNS, internalTrafficPolicy="Local")
    assert stale(Cluster(*CLUSTER, add(local)), flow("10.96.0.10:53", "10.128.1.1:5353")) == ()


def test_only_the_stale_ones_in_the_order_they_came() -> None:
    flows = [flow("10.96.0.10:53", f"10.128.1.{number}:5353") for number in (9, 1, 8, 2)]
    assert stale(Cluster(*CLUSTER), *flows) == (flows[0], flows[2])


def test_a_contested_address_belongs_to_its_holder() -> None:
    """The loser's endpoints are nobody to those who dial it."""
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}]
    late = service("shop/late", ip="10.96.0.30", ports=ports, externalIPs=["198.51.100.7"])
    slices = slice_("shop/late-x", "10.128.3.1", of="late", ports=PODS)
    cluster = Cluster(*CLUSTER, add(late), add(slices))
    wrong = flow("198.51.100.7:53", "10.128.3.1:5353")
    assert stale(cluster, wrong, flow("198.51.100.7:53", "10.128.1.1:5353")) == (wrong,)


def test_v6() -> None:
    node = NodeView(V6, "me", addresses=("2001:db8::10",), detector=Detector(DetectBy.CIDR, "fd00::/8"))
    cluster = Cluster(
        add(service(ip="fd00:10::a", ports=DNS)),
        add(slice_("shop/cart-6", "fd00:77::1", kind="IPv6", ports=PODS)),
        node=node,
    )
    flows = [
        flow("fd00:10::a:53", "fd00:77::9:5353", family=10),
        flow("fd00:10::a:53", "fd00:77::1:5353", family=10),
        flow("2001:db8::10:30053", "fd00:77::9:5353", family=10),
        flow("2001:db8::11:30053", "fd00:77::9:5353", family=10),
    ]
    assert stale(cluster, *flows) == (flows[0], flows[2])
