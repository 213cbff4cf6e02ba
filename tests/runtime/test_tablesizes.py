"""What the sizes of tables betray: told with made-up sizes and a clock that jumps."""

import pytest

from kubeproxy.runtime.tablesizes import BURST, SHARE, Finding, TableSizes
from kubeproxy.wire.tableinfo import TableInfo

OWN = {"nat": 1000, "filter": 4}
COST = 0.5


def infos(nat: int = 1030, filter: int = 24, size: int = 0) -> dict[str, TableInfo | None]:
    """Thirty entries of others in nat and twenty in filter; `size` is what is more than usual."""
    return {"nat": TableInfo(nat, 150 * nat + size), "filter": TableInfo(filter, 150 * filter)}


def settled() -> TableSizes:
    """After a reading at second 100 that cost half a second and found all well."""
    sizes = TableSizes()
    sizes.read(infos(), OWN, now=100.0, cost=COST)
    return sizes


def test_before_the_first_sync_there_is_nothing_to_compare_with():
    sizes = TableSizes()
    assert sizes.look(infos()) is Finding.SAME
    assert sizes.look(infos(nat=1)) is Finding.SAME


LOOKS = [
    ("nothing happened", infos(), Finding.SAME),
    ("somebody added a rule", infos(nat=1031), Finding.CHANGED),
    ("somebody took one away", infos(nat=1029), Finding.CHANGED),
    ("one went, another came, with other words", infos(size=8), Finding.CHANGED),
    ("all of ours are gone", infos(nat=40), Finding.LOST),
    ("more is gone than others had", infos(nat=1030 - 31), Finding.LOST),
    ("the table is gone", {"nat": None, "filter": TableInfo(24, 150 * 24)}, Finding.LOST),
    ("a few of a small table are gone", infos(filter=15), Finding.CHANGED),
    ("all of a small table is gone", infos(filter=4), Finding.LOST),
]


@pytest.mark.parametrize("sizes, finding", [look[1:] for look in LOOKS], ids=[look[0] for look in LOOKS])
def test_a_look(sizes, finding):
    assert settled().look(sizes) is finding


def test_many_of_ours_are_missed_even_where_others_have_more():
    sizes = TableSizes()
    sizes.read(infos(nat=50_000), OWN, 0.0, COST)
    assert sizes.look(infos(nat=49_700)) is Finding.LOST


def test_what_we_write_ourselves_is_no_change():
    sizes = settled()
    assert sizes.look(infos()) is Finding.SAME
    sizes.written(infos(nat=1042), {"nat": 1012, "filter": 4})
    assert sizes.suspicion is Finding.SAME
    assert sizes.look(infos(nat=1042)) is Finding.SAME


def test_what_others_do_just_before_our_commit_is_not_taken_for_ours():
    """Between the look and the moment our program has the lock there is time for somebody."""
    sizes = settled()
    sizes.written(infos(nat=1042 - 3), {"nat": 1012, "filter": 4})
    assert sizes.suspicion is Finding.CHANGED


def readings(until: float) -> list[float]:
    """When a reading is made, if somebody adds a rule each half second and nobody read for long."""
    sizes, found = TableSizes(), []
    sizes.read(infos(), OWN, now=0.0, cost=COST)
    start = 10_000.0
    for tick in range(round(2 * until)):
        now = start + tick / 2
        sizes.look(infos(nat=1031 + tick))
        if now >= sizes.due():
            found.append(now - start)
            sizes.read(infos(nat=1031 + tick), OWN, now, COST)
    return found


def test_others_who_add_without_end_cause_a_few_readings_at_once_and_then_one_now_and_then():
    made = readings(1000.0)
    assert made[:BURST] == [0.0, 0.5, 1.0]
    assert made[BURST : BURST + 2] == [SHARE * COST, 2 * SHARE * COST]
    assert COST * len(made) / 1000.0 < 0.022


def test_a_great_loss_does_not_wait():
    sizes = settled()
    sizes.look(infos(nat=1031))
    sizes.look(infos(nat=31))
    assert (sizes.suspicion, sizes.due()) == (Finding.LOST, 0.0)
    assert sizes.look(infos(nat=31)) is Finding.SAME, "it is told once"


def test_after_a_repair_all_is_well_when_others_have_what_they_had():
    sizes = settled()
    sizes.look(infos(nat=30))
    sizes.read(infos(), OWN, 110.0, COST)
    assert sizes.suspicion is Finding.SAME


def test_when_others_were_flushed_too_one_more_reading_makes_sure():
    """Perhaps theirs went with ours; perhaps somebody took of ours what had just been repaired."""
    sizes = settled()
    sizes.look(infos(nat=10))
    sizes.read(infos(nat=1010), OWN, 110.0, COST)
    assert sizes.suspicion is Finding.CHANGED
    assert sizes.due() <= 110.0 + SHARE * COST
    sizes.look(infos(nat=1010))
    sizes.read(infos(nat=1010), OWN, 140.0, COST)
    assert sizes.suspicion is Finding.SAME


def test_after_a_failed_commit_only_a_reading_gives_a_measure_again():
    sizes = settled()
    sizes.forget()
    assert sizes.look(infos(nat=500)) is Finding.SAME
    sizes.read(infos(), OWN, 120.0, COST)
    assert sizes.look(infos()) is Finding.SAME
    assert sizes.look(infos(nat=500)) is Finding.LOST
