"""Why hints were followed or not, as an operator is told."""

import pytest

from kubeproxy.model.identity import Family
from kubeproxy.routes import topology
from kubeproxy.routes.eligible import ready
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import Topology
from kubeproxy.routes.topology import HintsIgnored
from tests.routes.cases import endpoints, letters

NO_NODE, SOME_NODE = HintsIgnored.NODE_HINTS_INCOMPLETE, HintsIgnored.NODE_HINTS_NO_MATCH
NO_ZONE, SOME_ZONE = HintsIgnored.ZONE_HINTS_INCOMPLETE, HintsIgnored.ZONE_HINTS_NO_MATCH
CASES = [  # id, own zone, endpoints, topology, reasons against the others, who is left
    ("1", "za", "a=drain@me z:za n:me", Topology.NONE, (), ""),
    ("2", "za", "a=ok@far n:me | b=ok@far n:n2", Topology.NODE, (), "a"),
    ("2'", "za", "a=ok@far n:n1", Topology.NONE, (SOME_NODE, NO_ZONE), "a"),
    ('2"', "za", "a=ok@far | b=ok@far z:za n:me", Topology.NONE, (NO_NODE, NO_ZONE), "a b"),
    ("3", "za", "a=ok@far z:za | b=ok@far z:zb", Topology.ZONE, (NO_NODE,), "a"),
    ("3-after-2'", "za", "a=ok@far z:za n:n1", Topology.ZONE, (SOME_NODE,), "a"),
    ("3'", "", "a=ok@far z:za", Topology.NONE, (NO_NODE, HintsIgnored.NODE_LABEL_MISSING), "a"),
    ('3"', "zb", "a=ok@far z:za", Topology.NONE, (NO_NODE, SOME_ZONE), "a"),
    ("3'''", "zb", "a=ok@far z:za | b=ok@far", Topology.NONE, (NO_NODE, NO_ZONE), "a b"),
]


@pytest.mark.parametrize(
    "zone, text, chosen, ignored, left", [r[1:] for r in CASES], ids=[r[0] for r in CASES]
)
def test_steps(zone: str, text: str, chosen: Topology, ignored: tuple[HintsIgnored, ...], left: str) -> None:
    node = NodeView(Family.IPV4, "me", zone)
    first_choice = ready(endpoints(text))
    assert topology.explain(first_choice, node) == topology.Hints(chosen, ignored)
    assert letters(topology.admitted(first_choice, chosen, node)) == left
