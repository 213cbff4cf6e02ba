"""The runner's timelines, told with a clock that jumps."""

from collections.abc import Callable

import pytest

from kubeproxy.runtime.schedule import Pace, Timetable

USUAL = Pace(min_gap=1, retry=5, max_gap=10)


def starts(
    requests: list[float],
    until: float,
    *,
    fails: Callable[[int], bool] = lambda run: False,
    lasts: Callable[[int], float] = lambda run: 0.0,
    pace: Pace = USUAL,
) -> list[float]:
    """When the runs start, given when somebody asks, which runs fail and how long they last."""
    table = Timetable(pace)
    table.start(0.0)
    pending, now, found = sorted(requests), 0.0, []
    while True:
        due = max(now, table.next_run())
        if pending and pending[0] <= due:
            now = max(now, pending.pop(0))
            table.ask()
            continue
        if due > until:
            return found
        found.append(due)
        table.begin()
        end = due + lasts(len(found))
        while pending and pending[0] <= end:
            pending.pop(0)
            table.ask()
        now = end
        table.end(now, ok=not fails(len(found)))


TIMELINES = [
    ("R1 one request, then nobody asks", [0.0], {}, 25, [0, 10, 20]),
    ("R2 requests in between become one", [0.0, 0.5, 0.999], {}, 20, [0, 1, 11]),
    ("R3 a later request is served at once", [0.0, 3.0], {}, 20, [0, 3, 13]),
    ("R4 a failure is retried", [0.0], {"fails": lambda run: run == 1}, 20, [0, 5, 15]),
    ("R5 a success cancels the retry", [0.0, 0.1], {"fails": lambda run: run == 1}, 20, [0, 1, 11]),
    ("R6 it fails always", [0.0], {"fails": lambda run: True}, 19, [0, 5, 10, 15]),
    (
        "R7 a retry waits for the shortest gap",
        [0.0],
        {"fails": lambda run: run == 1, "pace": Pace(min_gap=5, retry=1, max_gap=10)},
        20,
        [0, 5, 15],
    ),
    (
        "R8 asked while running, it runs once more",
        [0.0, 1.0],
        {"lasts": lambda run: 2.0 if run == 1 else 0.0},
        10,
        [0, 3],
    ),
    ("R9 nobody ever asks", [], {}, 25, [10, 20]),
    ("R10 a hundred requests are two runs", [0.0, *(n / 100 for n in range(1, 100))], {}, 15, [0, 1, 11]),
]


@pytest.mark.parametrize(("story", "requests", "settings", "until", "expected"), TIMELINES)
def test_runs_start_when_they_should(story, requests, settings, until, expected):
    assert starts(requests, until, **settings) == expected, story
