"""What holds for every ServicePort, whatever its endpoints are."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.routes.decide import decide_port
from kubeproxy.routes.excluded import excluded
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import FrontendKind, Source, Verdict
from tests.model.objects import V4
from tests.routes.cases import ME, SHAPES, STATES, shaped

NAMES = st.lists(st.sampled_from(["za", "zb", "me", "far"]), max_size=2, unique=True).map(tuple)


@st.composite
def endpoint_lists(draw: st.DrawFn) -> tuple[Endpoint, ...]:
    letters = draw(st.lists(st.sampled_from("abcdefg"), max_size=6, unique=True))
    return tuple(
        Endpoint(
            letter,
            80,
            *draw(st.sampled_from(list(STATES.values()))),
            draw(st.sampled_from(["me", "far", ""])),
            draw(NAMES),
            draw(NAMES),
        )
        for letter in sorted(letters)
    )


PORTS = st.builds(
    lambda shape, balanced: replace(shaped(shape), load_balancer_ips=balanced),
    st.sampled_from(list(SHAPES)),
    st.sampled_from([(), ("198.51.100.1",)]),
)
NODES = st.builds(
    NodeView, st.just(V4), st.sampled_from(["me", "far", ""]), st.sampled_from(["za", "zb", ""])
)


@given(PORTS, endpoint_lists(), NODES)
def test_if_anybody_is_usable_the_cluster_pool_has_somebody(
    port: ServicePort, known: tuple[Endpoint, ...], node: NodeView
) -> None:
    """The invariant that makes reject and drop mean something."""
    found = decide_port(port, known, node)
    if port.uses_cluster:
        assert bool(found.cluster) is found.usable_anywhere
    assert found.usable_anywhere is any(e.ready or (e.serving and e.terminating) for e in known)


@given(PORTS, endpoint_lists(), NODES)
def test_pools_and_their_union(port: ServicePort, known: tuple[Endpoint, ...], node: NodeView) -> None:
    found = decide_port(port, known, node)
    assert (found.cluster is not None, found.local is not None) == (port.uses_cluster, port.uses_local)
    pools = {*(found.cluster or ()), *(found.local or ())}
    assert set(found.reachable) == pools
    assert list(found.reachable) == [e for e in known if e in pools]
    assert all(e.node == node.name for e in found.local or ())
    assert all(e.ready or e.draining for e in pools)


@given(PORTS, endpoint_lists(), NODES)
def test_every_client_is_answered_or_told(
    port: ServicePort, known: tuple[Endpoint, ...], node: NodeView
) -> None:
    """A Route balances, or has a Verdict and a reason; who is refused at one address is refused at all."""
    found = decide_port(port, known, node)
    for route in found.routes:
        assert (route.verdict is None) is bool(route.pool)
        assert (route.because is None) is (route.verdict is None)
        assert (route.verdict is Verdict.REJECT) is (not found.usable_anywhere)
        for source in (Source.POD, Source.HOST, Source.OTHER):
            assert set(route.pool_for(source).endpoints) <= set(found.reachable)


@given(PORTS, endpoint_lists(), NODES)
def test_every_endpoint_is_used_or_has_a_reason(
    port: ServicePort, known: tuple[Endpoint, ...], node: NodeView
) -> None:
    found = decide_port(port, known, node)
    for route in found.routes:
        left_out = [entry.endpoint for entry in excluded(found, route, known, node)]
        assert sorted([*left_out, *route.pool.endpoints], key=str) == list(known)


@given(PORTS, endpoint_lists())
def test_internal_policy_is_about_the_cluster_ip_and_external_about_the_rest(
    port: ServicePort, known: tuple[Endpoint, ...]
) -> None:
    found = decide_port(port, known, ME)
    for route in found.routes:
        internal = route.frontend.kind is FrontendKind.CLUSTER_IP
        local = port.internal_local if internal else port.external_local
        assert route.pool.endpoints == ((found.local if local else found.cluster) or ())
