"""Numbers nobody wrote down: the same for everybody who asks, whenever and in whatever order."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.sources.allocate import Band, Pool, assign, pool

NAMES = st.lists(st.from_regex(r"[a-z]{1,3}/[a-z]{1,4}", fullmatch=True), unique=True, max_size=40)
SMALL = Pool((Band(100, 24), Band(124, 8)))


def test_these_numbers_are_promised() -> None:
    """A restart of another version must not move anybody: whoever changes these breaks that."""
    addresses = pool([(0x0A600001, 2**20 - 2)], 16, 256)
    ports = pool([(30000, 2768)], 32, 128)
    assert assign(["shop/cart", "default/web"], (), addresses) == {
        "shop/cart": 0x0A6A3AED,
        "default/web": 0x0A6B6CD2,
    }
    assert assign(["shop/cart:80", "shop/cart health"], (), ports) == {
        "shop/cart:80": 30557,
        "shop/cart health": 30262,
    }


def test_the_low_end_is_for_people() -> None:
    assert pool([(1000, 4096)], 16, 256).bands == (Band(1256, 3840), Band(1000, 256))
    assert pool([(30000, 2768)], 32, 128).bands == (Band(30086, 2682), Band(30000, 86))
    assert pool([(10, 100)], 16, 256).bands == (Band(26, 84), Band(10, 16))
    assert pool([(10, 8)], 16, 256).bands == (Band(10, 8),)
    assert pool([(10, 64), (200, 64)], 16, 256).bands == (
        Band(26, 48),
        Band(216, 48),
        Band(10, 16),
        Band(200, 16),
    )
    assert pool([], 16, 256).size == 0


@given(NAMES, st.sets(st.integers(100, 131)), st.randoms(use_true_random=False))
def test_everybody_gets_something_else_and_the_order_of_asking_does_not_matter(
    names: list[str], taken: set[int], shuffler: random.Random
) -> None:
    found = assign(names, taken, SMALL)
    values = [value for value in found.values() if value is not None]
    assert set(found) == set(names)
    assert len(set(values)) == len(values) == min(len(names), 32 - len(taken))
    assert not taken & set(values)
    shuffled = list(names)
    shuffler.shuffle(shuffled)
    assert assign(shuffled, taken, SMALL) == found


@given(NAMES.filter(bool))
def test_who_comes_or_goes_moves_only_whom_it_meets(names: list[str]) -> None:
    """Without `names[0]`, whoever did not get its first wish or met the newcomer may differ; nobody else."""
    newcomer, others = names[0], names[1:]
    wide = Pool((Band(0, 5000),))
    before, after = assign(others, (), wide), assign(names, (), wide)
    moved = [name for name in others if before[name] != after[name]]
    wishes = {name: assign([name], (), wide)[name] for name in names}
    for name in moved:
        contested = [
            other
            for other in names
            if other != name and wishes[other] in (before[name], after[name], wishes[name])
        ]
        assert contested, (name, newcomer)
    if wishes[newcomer] not in {wishes[name] for name in others} | set(before.values()):
        assert moved == []


def test_among_equals_the_name_that_sorts_first_has_it_and_the_other_moves_alone() -> None:
    wide = Pool((Band(0, 997),))
    names = [f"shop/s{i}" for i in range(60)]
    wish = {name: assign([name], (), wide)[name] for name in names}
    first, second = next((a, b) for a in names for b in names if a < b and wish[a] == wish[b])
    crowd = [name for name in names if name not in (first, second)]
    without = assign([*crowd, second], (), wide)
    both = assign([*crowd, first, second], (), wide)
    assert without[second] == wish[second]
    assert both[first] == wish[first]
    assert both[second] != wish[second]
    unaffected = [name for name in crowd if wish[name] not in (both[second], wish[first])]
    assert {name: both[name] for name in unaffected if without[name] != both[name]} == {}


def test_a_value_written_down_later_moves_only_its_holder() -> None:
    names = [f"shop/s{i}" for i in range(200)]
    addresses = pool([(0, 2**20)], 16, 256)
    before = assign(names, (), addresses)
    after = assign(names, {before["shop/s7"]}, addresses)  # type: ignore[arg-type]
    assert [name for name in names if before[name] != after[name]] == ["shop/s7"]


def test_a_second_range_is_only_for_the_overflow() -> None:
    names = [f"shop/s{i}" for i in range(10)]
    alone = assign(names, (), pool([(0, 8)], 16, 256))
    assert sorted(value for value in alone.values() if value is not None) == list(range(8))
    together = assign(names, (), pool([(0, 8), (100, 8)], 16, 256))
    assert {name: value for name, value in together.items() if alone[name] is not None} == {
        n: v for n, v in alone.items() if v is not None
    }
    assert sum(value is not None and value >= 100 for value in together.values()) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 6, 12, 30, 97])
def test_every_value_of_a_pool_is_found(size: int) -> None:
    found = assign([f"n{i}" for i in range(size)], (), Pool((Band(7, size),)))
    assert sorted(found.values()) == list(range(7, 7 + size))  # type: ignore[type-var]


def test_ten_thousand_at_once() -> None:
    """Collisions are resolved one by one, so the work grows with the claimants."""
    names = [f"ns-{i % 50}/service-{i}" for i in range(10_000)]
    found = assign(names, (), pool([(0, 2**20)], 16, 256))
    assert len(set(found.values())) == 10_000
