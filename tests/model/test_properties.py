"""However the news arrive, what is known afterwards is the same."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.api.change import Change, Delete, Upsert, ref_of
from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.service import Service
from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import Family, PortName
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.model.tracker import Tracker
from tests.model.objects import endpoint, service, slice_

STATES = ("ok", "pub", "drain", "dead", "sick", "odd")
NAMES = ("shop/a", "shop/b", "mall/a")


@st.composite
def services(draw: st.DrawFn) -> Service:
    ips = draw(
        st.sampled_from([("10.0.0.1",), ("10.0.0.2",), ("10.0.0.1", "fd00::1"), ("fd00::2",), ("None",)])
    )
    names = draw(st.lists(st.sampled_from(["http", "dns", ""]), max_size=3, unique=True))
    ports = [
        {"name": name, "port": draw(st.integers(1, 3)), "protocol": draw(st.sampled_from(["TCP", "UDP"]))}
        for name in names
    ]
    return service(draw(st.sampled_from(NAMES)), ip=ips, ports=ports)


@st.composite
def slices(draw: st.DrawFn) -> EndpointSlice:
    kind = draw(st.sampled_from(["IPv4", "IPv4", "IPv6"]))
    base = "10.1.0." if kind == "IPv4" else "fd00::"
    endpoints = [
        endpoint(
            f"{base}{draw(st.integers(1, 3))}",
            draw(st.sampled_from(STATES)),
            draw(st.sampled_from(["me", "far"])),
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    ports = [
        {"name": name, "port": draw(st.integers(1, 2)), "protocol": draw(st.sampled_from(["TCP", "UDP"]))}
        for name in draw(st.lists(st.sampled_from(["http", "dns"]), max_size=3))
    ]
    namespace, _, own = draw(st.sampled_from(NAMES)).partition("/")
    name = f"{namespace}/{draw(st.sampled_from(['one', 'two', 'three']))}"
    return slice_(name, *endpoints, of=own, ports=ports, kind=kind)


@st.composite
def histories(draw: st.DrawFn) -> list[Change]:
    objects = draw(st.lists(st.one_of(services(), slices()), max_size=14))
    gone = draw(st.lists(st.integers(0, 40), max_size=6))
    changes: list[Change] = [Upsert(obj) for obj in objects]
    for index in gone:
        if objects:
            ref = ref_of(objects[index % len(objects)])
            changes.insert(index % (len(changes) + 1), Delete(ref))
    return changes


Known = dict[PortName, tuple[ServicePort | None, tuple[Endpoint, ...]]]


def known(tracker: Tracker) -> Known:
    """Every name anybody could ask for, and the answers."""
    snapshot = tracker.snapshot
    names = {name for family in Family for name in snapshot.names(family)}
    for family in Family:
        for owner in snapshot._sides[family].slices:
            names.update(snapshot.served_names(owner, family))
    return {name: (snapshot.port(name), snapshot.endpoints(name)) for name in names}


def last_of_each(history: list[Change]) -> list[Change]:
    final: dict[object, Change] = {}
    for change in history:
        assert isinstance(change, Upsert | Delete)
        final[ref_of(change.obj) if isinstance(change, Upsert) else change.ref] = change
    return [change for change in final.values() if isinstance(change, Upsert)]


@given(histories(), st.randoms(use_true_random=False))
def test_only_the_final_state_counts(history: list[Change], random: Random) -> None:
    """A life of changes, and a fresh start with what is left of it in any order, know the same."""
    lived, fresh = Tracker(), Tracker()
    for change in history:
        lived.fold([change])
    final = last_of_each(history)
    random.shuffle(final)
    fresh.fold(final)
    assert known(lived) == known(fresh)
    assert lived.snapshot._sides[Family.IPV4].slices == fresh.snapshot._sides[Family.IPV4].slices


@given(histories(), histories())
def test_all_that_differs_is_named_and_little_else(before: list[Change], events: list[Change]) -> None:
    """Forgetting a name would leave the kernel wrong; naming too many costs work."""
    tracker = Tracker()
    tracker.fold(before)
    was = known(tracker)
    for event in events:
        tracker.hear([event])
    changed = tracker.take()
    now = known(tracker)
    nothing: tuple[None, tuple[Endpoint, ...]] = (None, ())
    different = {name for name in was | now if was.get(name, nothing) != now.get(name, nothing)}
    named = {*changed.ipv4.names, *changed.ipv6.names}
    assert different <= named
    touched = {(change.obj.metadata.namespace) for change in events if isinstance(change, Upsert)}
    touched |= {change.ref.namespace for change in events if isinstance(change, Delete)}
    assert {name.namespace for name in named} <= touched


@given(histories())
def test_going_back_is_no_change(history: list[Change]) -> None:
    """Whatever came is taken away again before anybody looked."""
    tracker = Tracker()
    tracker.hear(history)
    tracker.hear([Delete(ref_of(change.obj)) for change in history if isinstance(change, Upsert)])
    assert known(tracker) == {}
    changed = tracker.take()
    assert (changed.ipv4.names, changed.ipv6.names) == ((), ())
    assert not tracker._records
