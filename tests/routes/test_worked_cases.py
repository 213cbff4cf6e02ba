"""Who may be used under which policy: the worked cases, one line each."""

import pytest

from kubeproxy.routes.decide import decide_port
from kubeproxy.routes.nodeview import NodeView
from tests.model.objects import V4
from tests.routes.cases import endpoints, letters, shaped

# Shapes: P nothing outside, X reachable from outside; L or I internal policy Local, E external, B both;
# P* external policy Local without a frontend that would obey it. The zone "-" is a node without the label.
# Pools: "" is empty, "-" is not in use.
CASES = [
    # id, shape, zone, endpoints, cluster, local, reachable, usable anywhere, topology
    ("A01", "P", "-", "", "", "-", "", False, "everyone"),
    ("A02", "P", "-", "a=ok@me | b=ok@far", "a b", "-", "a b", True, "everyone"),
    ("A03", "P", "-", "a=sick@me | b=ok@far", "b", "-", "b", True, "everyone"),
    ("A04", "P", "-", "a=sick@me | b=sick@far", "", "-", "", False, "everyone"),
    ("A05", "P", "-", "a=dead@me", "", "-", "", False, "everyone"),
    ("A06", "P", "-", "a=drain@me | b=drain@far", "a b", "-", "a b", True, "everyone"),
    ("A07", "P", "-", "a=drain@me | b=ok@far", "b", "-", "b", True, "everyone"),
    ("A08", "P", "-", "a=drain@me | b=dead@far | c=sick@far", "a", "-", "a", True, "everyone"),
    ("A09", "P", "-", "a=odd@me | b=odd@far", "", "-", "", False, "everyone"),
    ("A10", "P", "-", "a=odd@me | b=drain@far", "b", "-", "b", True, "everyone"),
    ("A11", "P", "-", "a=pub@me | b=drain@far", "a", "-", "a", True, "everyone"),
    ("B12", "PL", "-", "", "-", "", "", False, "everyone"),
    ("B13", "PL", "-", "a=ok@me | b=ok@me", "-", "a b", "a b", True, "everyone"),
    ("B14", "PL", "-", "a=ok@me | b=ok@far", "-", "a", "a", True, "everyone"),
    ("B15", "PL", "-", "a=ok@far | b=ok@far", "-", "", "", True, "everyone"),
    ("B16", "PL", "-", "a=drain@me | b=ok@far", "-", "a", "a", True, "everyone"),
    ("B17", "PL", "-", "a=drain@far", "-", "", "", True, "everyone"),
    ("B18", "PL", "-", "a=sick@me | b=sick@far", "-", "", "", False, "everyone"),
    ("B19", "PL", "-", "a=ok@me | b=drain@me | c=dead@me", "-", "a", "a", True, "everyone"),
    ("C20", "X", "-", "a=ok@me | b=ok@far", "a b", "-", "a b", True, "everyone"),
    ("C21", "XE", "-", "a=ok@me | b=ok@far", "a b", "a", "a b", True, "everyone"),
    ("C22", "XE", "-", "a=ok@far | b=ok@far", "a b", "", "a b", True, "everyone"),
    ("C23", "XE", "-", "a=ok@me | b=ok@me", "a b", "a b", "a b", True, "everyone"),
    ("C24", "XE", "-", "a=ok@far | b=sick@me | c=drain@me | d=drain@far", "a", "c", "a c", True, "everyone"),
    ("C25", "XE", "-", "a=ok@me | b=ok@me | c=drain@me | d=dead@me | e=ok@far", "a b e", "a b", "a b e", True, "everyone"),
    ("C26", "XE", "-", "a=drain@me | b=drain@me | c=dead@me | d=ok@far", "d", "a b", "a b d", True, "everyone"),
    ("C27", "XE", "-", "a=drain@far", "a", "", "a", True, "everyone"),
    ("C28", "XE", "-", "a=dead@me | b=dead@far", "", "", "", False, "everyone"),
    ("C29", "XI", "-", "a=ok@me | b=ok@far", "a b", "a", "a b", True, "everyone"),
    ("C30", "XI", "-", "a=ok@far", "a", "", "a", True, "everyone"),
    ("C31", "XB", "-", "a=ok@me | b=ok@far", "a b", "a", "a b", True, "everyone"),
    ("C32", "XB", "-", "a=ok@far | b=ok@far", "a b", "", "a b", True, "everyone"),
    ("C33", "XB", "-", "a=drain@far | b=drain@far", "a b", "", "a b", True, "everyone"),
    ("C34", "XB", "-", "a=drain@me | b=drain@far", "a b", "a", "a b", True, "everyone"),
    ("C35", "XB", "-", "a=sick@me", "", "", "", False, "everyone"),
    ("C36", "P*", "-", "a=ok@far | b=ok@me", "a b", "-", "a b", True, "everyone"),
    ("D37", "P", "za", "a=ok@far z:za | b=ok@far z:zb | c=ok@far z:zc | d=ok@far z:za", "a d", "-", "a d", True, "same zone"),
    ("D38", "P", "za", "a=ok@far z:za | b=ok@far z:zb | c=ok@far | d=ok@far z:za", "a b c d", "-", "a b c d", True, "everyone"),
    ("D39", "P", "zb", "a=ok@far z:za", "a", "-", "a", True, "everyone"),
    ("D40", "P", "-", "a=ok@far z:za", "a", "-", "a", True, "everyone"),
    ("D41", "P", "", "a=ok@far z:za", "a", "-", "a", True, "everyone"),
    ("D42", "P", "za", "a=sick@far z:za | b=ok@far z:zb | c=ok@far z:zc | d=sick@far z:za", "b c", "-", "b c", True, "everyone"),
    ("D43", "P", "za", "a=ok@far z:za | b=ok@far z:zb | c=sick@far | d=sick@far z:za", "a", "-", "a", True, "same zone"),
    ("D44", "P", "zc", "a=ok@far z:za,zb,zc | b=ok@far z:zb,zc | c=ok@far z:zb,zd | d=ok@far z:zc", "a b d", "-", "a b d", True, "same zone"),
    ("D45", "P", "za", "a=drain@far z:za | b=drain@far z:zb", "a b", "-", "a b", True, "everyone"),
    ("D46", "P", "za", "a=drain@far z:za | b=ok@far z:za | c=ok@far z:zb", "b", "-", "b", True, "same zone"),
    ("D47", "XE", "za", "a=ok@me z:za | b=ok@me z:zb | c=ok@far z:zc | d=ok@far z:za", "a d", "a b", "a b d", True, "same zone"),
    ("D48", "XI", "za", "a=ok@me z:za | b=ok@me z:zb | c=ok@far z:zc | d=ok@far z:za", "a d", "a b", "a b d", True, "same zone"),
    ("D49", "XE", "za", "a=ok@me z:zb | b=ok@far z:za", "b", "a", "a b", True, "same zone"),
    ("D50", "PL", "za", "a=ok@me z:zb | b=ok@far z:za", "-", "a", "a", True, "everyone"),
    ("D51", "XE", "za", "a=drain@me z:za | b=ok@far z:za | c=ok@far z:zb", "b", "a", "a b", True, "same zone"),
    ("E52", "P", "za", "a=ok@me z:za n:me | b=ok@far z:zb n:n2 | c=ok@far z:zc n:n3 | d=ok@far z:za n:n4", "a", "-", "a", True, "same node"),
    ("E53", "P", "za", "a=ok@far z:za n:n1 | b=ok@far z:zb n:n2 | c=ok@far z:zc n:n3 | d=ok@far z:za n:n4", "a d", "-", "a d", True, "same zone"),
    ("E54", "P", "za", "a=ok@me z:za n:me | b=ok@far | c=ok@far z:zc n:n3", "a b c", "-", "a b c", True, "everyone"),
    ("E55", "P", "za", "a=ok@me z:za n:me | b=ok@far z:zb | c=ok@far z:za n:n3", "a c", "-", "a c", True, "same zone"),
    ("E56", "P", "zq", "a=ok@far z:za n:n1 | b=ok@far z:zb n:n2", "a b", "-", "a b", True, "everyone"),
    ("E57", "P", "-", "a=ok@far n:me | b=ok@far n:n2", "a", "-", "a", True, "same node"),
    ("E58", "P", "za", "a=drain@me z:za n:me | b=ok@far z:za n:n2 | c=ok@far z:zb n:n3", "b", "-", "b", True, "same zone"),
    ("E59", "XE", "za", "a=ok@me z:za n:me | b=ok@me z:za n:n2 | c=ok@far z:zb n:n3", "a", "a b", "a b", True, "same node"),
]  # fmt: skip


@pytest.mark.parametrize(
    "shape, zone, text, cluster, local, reachable, anywhere, topology",
    [row[1:] for row in CASES],
    ids=[row[0] for row in CASES],
)
def test_worked_case(
    shape: str, zone: str, text: str, cluster: str, local: str, reachable: str, anywhere: bool, topology: str
) -> None:
    node = NodeView(V4, "me", "" if zone == "-" else zone)
    decided = decide_port(shaped(shape), endpoints(text), node)
    assert (letters(decided.cluster), letters(decided.local), letters(decided.reachable)) == (
        cluster,
        local,
        reachable,
    )
    assert (decided.usable_anywhere, decided.topology) == (anywhere, topology)
    assert decided.known_endpoints == len(endpoints(text))


def test_all_59_are_here() -> None:
    assert [row[0][1:] for row in CASES] == [f"{number:02}" for number in range(1, 60)]
