"""Why an endpoint gets no traffic, for each that gets none."""

import pytest

from kubeproxy.routes.decide import decide_port
from kubeproxy.routes.excluded import excluded, excluded_from_cluster
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import Because, FrontendKind
from tests.model.objects import V4
from tests.routes.cases import endpoints, shaped

NOT_READY, DRAINING, DEAD = Because.NOT_READY, Because.DRAINING, Because.DEAD
AWAY, OTHER_NODE, OTHER_ZONE = Because.OTHER_NODE, Because.OTHER_NODE_HINT, Because.OTHER_ZONE
CLUSTER_IP, NODE_PORT = FrontendKind.CLUSTER_IP, FrontendKind.NODE_PORT
CASES = [  # shape, endpoints, route, who is left out and why
    ("P", "a=ok@me | b=ok@far", CLUSTER_IP, {}),
    (
        "P",
        "a=ok@me | b=sick@me | c=drain@me | d=dead@far | e=odd@far | f=pub@far",
        CLUSTER_IP,
        {"b": NOT_READY, "c": DRAINING, "d": DEAD, "e": NOT_READY},
    ),
    ("P", "a=drain@me | b=dead@far | c=drain@far | d=odd@me", CLUSTER_IP, {"b": DEAD, "d": NOT_READY}),
    ("P", "a=sick@me", CLUSTER_IP, {"a": NOT_READY}),
    ("P", "a=ok@me z:za | b=ok@far z:zb | c=sick@me z:za", CLUSTER_IP, {"b": OTHER_ZONE, "c": NOT_READY}),
    ("P", "a=ok@far n:me | b=ok@me n:far", CLUSTER_IP, {"b": OTHER_NODE}),
    ("PL", "a=ok@me | b=ok@far | c=drain@me | d=dead@far", CLUSTER_IP, {"b": AWAY, "c": DRAINING, "d": AWAY}),
    ("PL", "a=ok@far | b=drain@me", CLUSTER_IP, {"a": AWAY}),
    ("XE", "a=ok@me z:zb | b=ok@far z:za", CLUSTER_IP, {"a": OTHER_ZONE}),
    ("XE", "a=ok@me z:zb | b=ok@far z:za", NODE_PORT, {"b": AWAY}),
    ("XI", "a=ok@me | b=ok@far", CLUSTER_IP, {"b": AWAY}),
    ("XI", "a=ok@me | b=ok@far", NODE_PORT, {}),
]


@pytest.mark.parametrize("shape, text, kind, expected", CASES)
def test_reasons(shape: str, text: str, kind: FrontendKind, expected: dict[str, Because]) -> None:
    """Everybody is either in the pool or has a reason."""
    node, known = NodeView(V4, "me", "za"), endpoints(text)
    decided = decide_port(shaped(shape), known, node)
    route = decided.route(kind)
    assert route is not None
    found = {entry.endpoint.address: entry.because for entry in excluded(decided, route, known, node)}
    assert found == expected
    assert {endpoint.address for endpoint in route.pool.endpoints} == {e.address for e in known} - set(found)


def test_the_short_cut_has_reasons_of_its_own() -> None:
    node, known = NodeView(V4, "me"), endpoints("a=ok@me | b=sick@far")
    decided = decide_port(shaped("XE"), known, node)
    assert [(entry.endpoint.address, entry.because) for entry in excluded_from_cluster(decided, known)] == [
        ("b", NOT_READY)
    ]
