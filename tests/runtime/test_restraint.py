"""Repairs come at once, unless they come again and again: told with a clock that jumps."""

from itertools import pairwise

from kubeproxy.runtime.restraint import ENOUGH, GRAVE, LONGEST, Restraint, Waiting


def repairs_at(breaks: list[float]) -> list[float]:
    """When repairs are made, if somebody breaks things at these moments."""
    restraint, found = Restraint(), []
    for moment in breaks:
        if found and moment < found[-1]:
            continue  # the repair to come covers it
        found.append(max(moment, restraint.not_before()))
        restraint.repaired(found[-1])
    return found


def test_a_few_repairs_are_made_at_once():
    assert repairs_at([0, 1, 2]) == [0, 1, 2]


def test_somebody_who_breaks_everything_each_second_is_answered_ever_more_rarely():
    made = repairs_at([float(second) for second in range(600)])
    gaps = [later - earlier for earlier, later in pairwise(made)]
    assert gaps[:9] == [1, 1, 2, 4, 8, 16, 20, 20, 20]
    assert set(gaps[9:]) == {LONGEST}


def test_after_peace_the_next_repair_is_made_at_once_again():
    """Three quick ones, one after a pause; then nobody does anything for longer than a while."""
    assert repairs_at([0, 1, 2, 3, 60, 61, 62]) == [0, 1, 2, 4, 60, 61, 62]


def test_somebody_who_flushes_each_minute_is_repaired_at_once_each_time():
    minutes = [60.0 * n for n in range(20)]
    assert repairs_at(minutes) == minutes


def test_a_repair_waits_until_it_is_quiet_but_not_for_long():
    """A flush is several commands; somebody without end is not waited for."""
    waiting: Waiting[str] = Waiting()
    due = [waiting.add(second / 20, "more") for second in range(12)]
    assert [round(moment, 2) for moment in due[:3]] == [0.1, 0.15, 0.2]
    assert due[-1] == 0.5
    assert waiting.take() == ["more"] * 12
    assert waiting.add(9.0, "again") == 9.1
    assert waiting.take() == ["again"]


def test_what_waits_for_long_is_not_remembered_without_end():
    waiting: Waiting[int] = Waiting()
    for number in range(10 * ENOUGH):
        waiting.add(0.0, number)
    assert waiting.take() == list(range(ENOUGH))


def test_what_stops_traffic_hardly_waits_whoever_else_had_to():
    restraint = Restraint()
    for second in range(10):
        restraint.repaired(float(second))
    assert restraint.pause == LONGEST
    assert restraint.not_before() == 9.0 + LONGEST
    assert restraint.not_before(grave=True) == 9.0 + GRAVE
