"""What each address of a ServicePort leads to: pools, verdicts, masquerade, who may dial."""

import pytest
from msgspec.structs import replace

from kubeproxy.model.serviceport import ServicePort
from kubeproxy.routes.decide import decide_port
from kubeproxy.routes.nodeview import Detector, NodeView
from kubeproxy.routes.route import (
    Allowed,
    Because,
    Frontend,
    FrontendKind,
    Pool,
    PortRoutes,
    Route,
    Source,
    Verdict,
)
from tests.model.objects import V6, port_name
from tests.routes.cases import ME, endpoints, letters, shaped

CLUSTER_IP, EXTERNAL_IP, LOAD_BALANCER, NODE_PORT = FrontendKind
BLIND = replace(ME, detector=None)
EAGER = replace(ME, masquerade_all=True)
INSIDE = Source.POD | Source.HOST
FULL = ServicePort(
    port_name(),
    "10.96.3.1",
    80,
    node_port=31080,
    external_ips=("198.51.100.101", "198.51.100.100"),
    load_balancer_ips=("198.51.100.2", "198.51.100.1"),
    claims_external_ips=True,
)


def decided(port: ServicePort, text: str, node: NodeView = ME) -> PortRoutes:
    return decide_port(port, endpoints(text), node)


def route(port: ServicePort, text: str, kind: FrontendKind, node: NodeView = ME) -> Route:
    found = decided(port, text, node).route(kind)
    assert found is not None
    return found


def test_the_order_of_routes() -> None:
    """Cluster IP, external IPs as the spec lists them, load balancer IPs as the status does, node port."""
    assert [route.frontend for route in decided(FULL, "a=ok@me").routes] == [
        Frontend(CLUSTER_IP, "10.96.3.1", FULL.name.protocol, 80),
        Frontend(EXTERNAL_IP, "198.51.100.101", FULL.name.protocol, 80),
        Frontend(EXTERNAL_IP, "198.51.100.100", FULL.name.protocol, 80),
        Frontend(LOAD_BALANCER, "198.51.100.2", FULL.name.protocol, 80),
        Frontend(LOAD_BALANCER, "198.51.100.1", FULL.name.protocol, 80),
        Frontend(NODE_PORT, "", FULL.name.protocol, 31080),
    ]


POLICIES = [  # shape, what cluster IP traffic uses, what traffic from outside uses, what inside clients of it use
    ("P", "a b", None, None),
    ("PL", "a", None, None),
    ("X", "a b", "a b", "a b"),
    ("XE", "a b", "a", "a b"),
    ("XI", "a", "a b", "a b"),
    ("XB", "a", "a", "a b"),
    ("P*", "a b", None, None),
]


@pytest.mark.parametrize("shape, internal, external, inside", POLICIES)
def test_which_pool_by_policy(shape: str, internal: str, external: str | None, inside: str | None) -> None:
    found = decided(shaped(shape), "a=ok@me | b=ok@far")
    cluster_ip, node_port = found.route(CLUSTER_IP), found.route(NODE_PORT)
    assert cluster_ip is not None
    for source in (Source.POD, Source.HOST, Source.OTHER):
        assert letters(cluster_ip.pool_for(source).endpoints) == internal
    if external is None:
        assert node_port is None
        return
    assert node_port is not None
    assert letters(node_port.pool_for(Source.OTHER).endpoints) == external
    assert letters(node_port.pool_for(Source.POD).endpoints) == inside
    assert letters(node_port.pool_for(Source.HOST).endpoints) == inside


VERDICTS = [  # endpoints, shape, what meets cluster IP traffic, what meets traffic from outside
    ("", "X", Verdict.REJECT, Verdict.REJECT),
    ("a=sick@me", "X", Verdict.REJECT, Verdict.REJECT),
    ("", "XB", Verdict.REJECT, Verdict.REJECT),
    ("a=dead@far", "XB", Verdict.REJECT, Verdict.REJECT),
    ("a=ok@far", "X", None, None),
    ("a=ok@far", "XI", Verdict.DROP, None),
    ("a=ok@far", "XE", None, Verdict.DROP),
    ("a=ok@far", "XB", Verdict.DROP, Verdict.DROP),
    ("a=drain@far", "XB", Verdict.DROP, Verdict.DROP),
    ("a=drain@me", "XB", None, None),
    ("a=ok@far", "PL", Verdict.DROP, None),
    ("a=sick@far", "PL", Verdict.REJECT, None),
]
WHY = {
    None: None,
    Verdict.REJECT: Because.NO_ENDPOINTS,
    Verdict.DROP: Because.NO_LOCAL_ENDPOINTS,
}


@pytest.mark.parametrize("text, shape, internal, external", VERDICTS)
def test_what_meets_a_flow_without_endpoints(
    text: str, shape: str, internal: Verdict | None, external: Verdict | None
) -> None:
    """Refused when there is nobody anywhere, dropped when there only is nobody here."""
    found = decided(shaped(shape), text)
    for each in found.routes:
        expected = internal if each.frontend.kind is CLUSTER_IP else external
        assert (each.verdict, each.because) == (expected, WHY[expected])
        assert bool(each.pool) is (expected is None)


MASQUERADE = [  # node, shape, cluster IP, from outside
    (ME, "X", Source.HOST | Source.OTHER, Source.ALL),
    (ME, "XE", Source.HOST | Source.OTHER, Source.HOST),
    (ME, "XI", Source.HOST | Source.OTHER, Source.ALL),
    (ME, "XB", Source.HOST | Source.OTHER, Source.HOST),
    (BLIND, "X", Source.NONE, Source.ALL),
    (BLIND, "XE", Source.NONE, Source.HOST),
    (EAGER, "X", Source.ALL, Source.ALL),
    (EAGER, "XE", Source.ALL, Source.HOST),
    (replace(BLIND, masquerade_all=True), "XB", Source.ALL, Source.HOST),
]
REASONS = {
    Source.NONE: None,
    Source.HOST | Source.OTHER: Because.FROM_OUTSIDE_POD_NETWORK,
    Source.HOST: Because.FROM_THIS_NODE,
}


@pytest.mark.parametrize("node, shape, internal, external", MASQUERADE)
def test_whose_address_changes(node: NodeView, shape: str, internal: Source, external: Source) -> None:
    found = decided(shaped(shape), "a=ok@me | b=ok@far", node)
    cluster_ip, node_port = found.route(CLUSTER_IP), found.route(NODE_PORT)
    assert cluster_ip is not None
    assert node_port is not None
    assert (cluster_ip.masquerade, node_port.masquerade) == (internal, external)
    assert cluster_ip.masquerade_because == REASONS.get(internal, Because.MASQUERADE_ALL)
    assert node_port.masquerade_because == REASONS.get(external, Because.EXTERNAL_CLUSTER_POLICY)


@pytest.mark.parametrize(
    "node, shortcut", [(ME, INSIDE), (BLIND, Source.HOST)], ids=["detector", "no-detector"]
)
def test_the_short_cut_is_for_those_known_to_be_inside(node: NodeView, shortcut: Source) -> None:
    found = decided(replace(FULL, external_local=True), "a=ok@me | b=ok@far", node)
    for each in found.routes:
        if each.frontend.kind is CLUSTER_IP:
            assert (each.shortcut, each.inside) == (Source.NONE, Pool())
        else:
            assert (each.shortcut, letters(each.inside.endpoints)) == (shortcut, "a b")
            assert letters(each.pool.endpoints) == "a"


def test_affinity_is_in_every_pool() -> None:
    found = decided(replace(FULL, external_local=True, affinity_seconds=77), "a=ok@me | b=ok@far")
    assert {each.pool.affinity_seconds for each in found.routes} == {77}
    assert {each.inside.affinity_seconds for each in found.routes if each.inside} == {77}


RANGES = [  # ranges, node's own address, who may dial the load balancer IPs
    ((), "192.0.2.10", None),
    (("203.0.113.0/25",), "192.0.2.10", Allowed(("203.0.113.0/25",))),
    (("203.0.113.0/25",), "", Allowed(("203.0.113.0/25",))),
    (
        ("203.0.113.0/25", "192.0.2.0/24"),
        "192.0.2.10",
        Allowed(("203.0.113.0/25", "192.0.2.0/24"), ("198.51.100.2", "198.51.100.1")),
    ),
]


@pytest.mark.parametrize("ranges, own, expected", RANGES)
def test_source_ranges_guard_load_balancer_ips_alone(
    ranges: tuple[str, ...], own: str, expected: Allowed | None
) -> None:
    found = decided(replace(FULL, source_ranges=ranges), "a=ok@me", replace(ME, node_ip=own))
    for each in found.routes:
        assert each.allowed == (expected if each.frontend.kind is LOAD_BALANCER else None)


def test_one_address_twice_is_two_routes_q9() -> None:
    """As external IP it is open to everybody, as load balancer IP it is not; the dialect decides which is met."""
    both = replace(
        FULL,
        external_ips=("198.51.100.1",),
        load_balancer_ips=("198.51.100.1",),
        source_ranges=("203.0.113.0/25",),
    )
    found = [each for each in decided(both, "a=ok@me").routes if each.frontend.address == "198.51.100.1"]
    assert [(each.frontend.kind, each.allowed is None) for each in found] == [
        (EXTERNAL_IP, True),
        (LOAD_BALANCER, False),
    ]
    assert decided(both, "a=ok@me").lost == ()


def test_external_ips_switched_off_q1() -> None:
    """No address outside, and yet the cluster-wide pool is there."""
    port = replace(shaped("PL"), claims_external_ips=True)
    found = decided(port, "a=ok@me | b=ok@far")
    assert [each.frontend.kind for each in found.routes] == [CLUSTER_IP]
    assert (letters(found.cluster), letters(found.local)) == ("a b", "a")


def test_a_node_without_a_name_has_no_endpoints() -> None:
    found = decided(shaped("PL"), "a=ok@me", replace(ME, name=""))
    assert (letters(found.local), found.routes[0].verdict) == ("", Verdict.DROP)
    unnamed = tuple(replace(endpoint, node="") for endpoint in endpoints("a=ok@me"))
    assert decide_port(shaped("PL"), unnamed, replace(ME, name="")).local == ()


def test_pools_are_shared_where_they_are_equal() -> None:
    """Most Services have one pool however many addresses; saying it again must not cost memory."""
    all_here = endpoints("a=ok@me | b=ok@me")
    found = decide_port(replace(FULL, external_local=True), all_here, ME)
    assert found.cluster is all_here
    assert found.local is all_here
    assert found.reachable is all_here
    assert all(each.pool.endpoints is all_here for each in found.routes)


def test_v6() -> None:
    node = replace(ME, family=V6, detector=Detector(ME.detector.by, "fd00::/8")) if ME.detector else ME
    port = ServicePort(port_name(family=V6), "fd00:10::1", 80, load_balancer_ips=("2001:db8::1",))
    kinds = [(each.frontend.kind, each.frontend.address) for each in decided(port, "a=ok@me", node).routes]
    assert kinds == [(CLUSTER_IP, "fd00:10::1"), (LOAD_BALANCER, "2001:db8::1")]
