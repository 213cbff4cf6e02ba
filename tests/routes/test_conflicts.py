"""Two Services, one Frontend: the older one has it, both are told, and the next one gets it when it goes."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.api.change import Change, Delete, Upsert, ref_of
from kubeproxy.api.meta import Ref
from kubeproxy.model.identity import PortName
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.routes.conflicts import Claims, Contested
from kubeproxy.routes.route import Frontend, FrontendKind
from tests.model.objects import HTTP, add, drop, port_name, service, slice_
from tests.routes.clusters import Cluster

A, B, C = (port_name(f"shop/{letter}:http") for letter in "abc")
SHARED = "198.51.100.1"
MONDAY, TUESDAY, WEDNESDAY = (f"2026-01-0{day}T00:00:00Z" for day in (5, 6, 7))


def claimer(letter: str, created: str | None, address: str | None = SHARED, **more: Any) -> Change:
    ip = f"10.0.0.{ord(letter)}"
    external = [address] if address else []
    return add(service(f"shop/{letter}", **{"ip": ip, "created": created, "externalIPs": external} | more))


def gone(letter: str) -> Change:
    return drop("Service", f"shop/{letter}")


OLDER = [  # id, age of a, age of b, who has it
    ("older", TUESDAY, MONDAY, "b"),
    ("older-by-name-too", MONDAY, TUESDAY, "a"),
    ("same-age", MONDAY, MONDAY, "a"),
    ("unknown-comes-last", None, MONDAY, "b"),
    ("both-unknown", None, None, "a"),
    ("nonsense-is-unknown", "long ago", TUESDAY, "b"),
    ("other-time-zone", "2026-01-06T00:30:00+02:00", TUESDAY, "a"),
]


@pytest.mark.parametrize("a, b, holder", [row[1:] for row in OLDER], ids=[row[0] for row in OLDER])
@pytest.mark.parametrize("order", ["ab", "ba", "together"])
def test_the_older_one_has_it(a: str | None, b: str | None, holder: str, order: str) -> None:
    """Whoever was heard of first: every node must come to the same answer."""
    events = [claimer("a", a), claimer("b", b)]
    cluster = Cluster()
    for batch in {"ab": [events[:1], events[1:]], "ba": [events[1:], events[:1]], "together": [events]}[
        order
    ]:
        cluster.hears(*batch)
    winner, loser = (A, B) if holder == "a" else (B, A)
    assert (cluster.addresses(winner), cluster.lost(winner)) == ([SHARED], [])
    assert (cluster.addresses(loser), cluster.lost(loser)) == ([], [(SHARED, str(winner))])


def test_both_are_told() -> None:
    cluster = Cluster(claimer("a", MONDAY), claimer("b", TUESDAY), claimer("c", WEDNESDAY))
    frontend = Frontend(FrontendKind.EXTERNAL_IP, SHARED, A.protocol, 80)
    assert cluster.routes.claims.contested(cluster.routes[A]) == (Contested(frontend, (B, C)),)
    assert cluster.routes.claims.contested(cluster.routes[B]) == ()
    assert (cluster.lost(B), cluster.lost(C)) == ([(SHARED, str(A))], [(SHARED, str(A))])


def test_a_younger_one_does_not_touch_the_holder() -> None:
    """Its routes are the same object: nothing is compiled or sent because somebody else made a mistake."""
    cluster = Cluster(claimer("a", MONDAY))
    before = cluster.routes[A]
    assert list(cluster.hears(claimer("b", TUESDAY))) == [B]
    assert cluster.routes[A] is before


def test_an_older_one_takes_it_over() -> None:
    cluster = Cluster(claimer("b", TUESDAY))
    assert set(cluster.hears(claimer("a", MONDAY))) == {A, B}
    assert (cluster.addresses(A), cluster.addresses(B)) == ([SHARED], [])


def test_when_the_holder_goes_the_next_oldest_has_it() -> None:
    cluster = Cluster(claimer("a", MONDAY), claimer("c", TUESDAY), claimer("b", WEDNESDAY))
    delta = cluster.hears(gone("a"))
    assert set(delta) == {A, B, C}
    assert delta[A] is None
    assert (cluster.addresses(C), cluster.lost(B)) == ([SHARED], [(SHARED, str(C))])
    assert set(cluster.hears(gone("c"))) == {B, C}
    assert (cluster.addresses(B), cluster.lost(B)) == ([SHARED], [])
    cluster.hears(gone("b"))
    assert cluster.routes.claims._holders == cluster.routes.claims._waiting == {}


def test_when_the_holder_lets_go_of_the_address_alone() -> None:
    cluster = Cluster(claimer("a", MONDAY), claimer("b", TUESDAY))
    assert set(cluster.hears(claimer("a", MONDAY, None))) == {A, B}
    assert (cluster.addresses(A), cluster.addresses(B)) == ([], [SHARED])
    assert set(cluster.hears(claimer("a", MONDAY))) == {A, B}
    assert (cluster.addresses(A), cluster.addresses(B)) == ([SHARED], [])


def test_a_loser_that_goes_is_nobodys_loss() -> None:
    cluster = Cluster(claimer("a", MONDAY), claimer("b", TUESDAY), claimer("c", WEDNESDAY))
    assert cluster.hears(gone("b")) == {B: None}
    assert cluster.routes.claims.contested(cluster.routes[A])[0].rivals == (C,)


def test_made_again_is_younger() -> None:
    """Deleting and creating a Service gives its address away."""
    cluster = Cluster(claimer("a", MONDAY), claimer("b", TUESDAY))
    assert set(cluster.hears(gone("a"), claimer("a", WEDNESDAY))) == {A, B}
    assert (cluster.addresses(A), cluster.addresses(B)) == ([], [SHARED])


def test_endpoints_do_not_reopen_it() -> None:
    cluster = Cluster(claimer("a", MONDAY), claimer("b", TUESDAY))
    assert list(cluster.hears(add(slice_("shop/b-x", "10.0.1.1", of="b")))) == [B]
    assert (cluster.addresses(B), cluster.lost(B)) == ([], [(SHARED, str(A))])
    assert list(cluster.hears(add(slice_("shop/a-x", "10.0.1.1", of="a")))) == [A]


NO_CONFLICT = [
    ("another-port", {"ports": [{"name": "http", "port": 81}]}),
    ("another-protocol", {"ports": [{"name": "http", "port": 80, "protocol": "UDP"}]}),
    ("node-port-is-no-port", {"ports": [{"name": "http", "port": 81, "nodePort": 80}]}),
]


@pytest.mark.parametrize("more", [row[1] for row in NO_CONFLICT], ids=[row[0] for row in NO_CONFLICT])
def test_protocol_and_port_are_part_of_it(more: dict[str, Any]) -> None:
    cluster = Cluster(claimer("a", MONDAY), claimer("b", TUESDAY, **more))
    assert all(not decided.lost for decided in cluster.routes.values())


def test_node_ports() -> None:
    ports = [{**HTTP, "nodePort": 30080}]
    cluster = Cluster(claimer("a", MONDAY, None, ports=ports), claimer("b", TUESDAY, None, ports=ports))
    assert (cluster.addresses(A), cluster.addresses(B)) == (["node port 30080"], [])
    assert cluster.lost(B) == [("node port", str(A))]


def test_an_external_ip_cannot_take_a_cluster_ip() -> None:
    """Naming somebody else's cluster IP would otherwise be a way to read all that is sent to it."""
    victim, thief = claimer("b", MONDAY, None), claimer("a", TUESDAY, "10.0.0.98")
    cluster = Cluster(thief, victim)
    assert cluster.lost(A) == [("10.0.0.98", str(B))]
    assert [each.frontend.address for each in cluster.routes[B].routes] == ["10.0.0.98"]


def test_one_service_may_name_an_address_twice_q9() -> None:
    """As external IP and as load balancer IP: both routes stay, and both are lost together."""
    twice = {"ingress": [{"ip": SHARED}], "type": "LoadBalancer"}
    cluster = Cluster(claimer("a", TUESDAY, **twice))
    assert (cluster.addresses(A), cluster.lost(A)) == ([SHARED, SHARED], [])
    cluster.hears(claimer("b", MONDAY))
    assert (cluster.addresses(A), cluster.lost(A)) == ([], [(SHARED, str(B)), (SHARED, str(B))])


def test_many_rivals_cost_no_more_than_their_number() -> None:
    """Anybody may create Services that all name one address; that must not stop the node."""
    ports = {
        name: ServicePort(name, "10.0.0.1", 80)
        for name in (
            port_name(f"shop/s{number}:http") for number in random.Random(7).sample(range(5000), 1000)
        )
    }
    asked = 0

    def port_of(name: PortName) -> ServicePort | None:
        nonlocal asked
        asked += 1
        return ports.get(name)

    claims = Claims()
    for name, port in ports.items():
        claims.settle([(name, None, port)], port_of)
    assert claims.holder(("10.0.0.1", A.protocol, 80)) == min(ports)
    assert list(claims._waiting.values()) == [sorted(ports)[1:]]
    assert asked < 1000 * 15


@st.composite
def struggles(draw: st.DrawFn) -> list[Change]:
    events: list[Change] = []
    for _ in range(draw(st.integers(1, 12))):
        letter = draw(st.sampled_from("abcd"))
        if draw(st.booleans()):
            created = draw(st.sampled_from([MONDAY, TUESDAY, None]))
            ports = [{**HTTP, "nodePort": draw(st.sampled_from([0, 30080]))}]
            address = draw(st.sampled_from([SHARED, "198.51.100.2", "10.0.0.97", None]))
            events.append(claimer(letter, created, address, ports=ports))
        else:
            events.append(gone(letter))
    return events


def final_state(events: list[Change], rng: random.Random) -> list[Change]:
    final: dict[Ref, Change] = {}
    for event in events:
        if isinstance(event, Upsert):
            final[ref_of(event.obj)] = event
        elif isinstance(event, Delete):
            final.pop(event.ref, None)
    return rng.sample(list(final.values()), len(final))


@given(struggles(), st.integers(0, 2**16))
def test_converged_equals_fresh(events: list[Change], seed: int) -> None:
    """However they came and went, and in whatever portions, the same ones hold the same addresses."""
    rng, lived, rest = random.Random(seed), Cluster(), list(events)
    while rest:
        portion = rng.randint(1, 3)
        lived.hears(*rest[:portion])
        rest = rest[portion:]
    fresh = Cluster(*final_state(events, rng))
    assert dict(lived.routes) == dict(fresh.routes)
    assert lived.routes.totals == fresh.routes.totals
    assert lived.routes.claims._holders == fresh.routes.claims._holders
    assert lived.routes.claims._waiting == fresh.routes.claims._waiting


@given(struggles())
def test_every_frontend_has_one_holder_who_answers_on_it(events: list[Change]) -> None:
    cluster = Cluster(*events)
    answers = [(r.frontend.claim, name) for name, found in cluster.routes.items() for r in found.routes]
    holders = dict(answers)
    assert len(set(answers)) == len(holders)
    assert all(cluster.routes.claims.holder(claim) == name for claim, name in answers)
    lost = [(entry.frontend.claim, entry.holder) for found in cluster.routes.values() for entry in found.lost]
    assert all(holders[claim] == holder for claim, holder in lost)
