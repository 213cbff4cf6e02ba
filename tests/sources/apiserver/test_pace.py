"""How fast a server is asked, and how long it is left alone: time is told."""

import pytest

from kubeproxy.config.complaint import ConfigError
from kubeproxy.sources.apiserver.backoff import Backoff, Pace
from kubeproxy.sources.apiserver.ratelimit import RateLimit


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_so_many_at_once_and_then_so_many_a_second() -> None:
    clock = Clock()
    limit = RateLimit(5.0, 3, clock)
    assert [round(limit.reserve(), 3) for _ in range(6)] == [0, 0, 0, 0.2, 0.4, 0.6]
    clock.now += 0.6
    assert round(limit.reserve(), 3) == 0.2
    clock.now += 1000
    assert [round(limit.reserve(), 3) for _ in range(4)] == [0, 0, 0, 0.2]


def test_no_limit_and_the_usual_one() -> None:
    clock = Clock()
    free = RateLimit(-1.0, 0, clock)
    assert sum(free.reserve() for _ in range(1000)) == 0
    usual = RateLimit(0.0, 0, clock)
    assert [round(usual.reserve(), 3) for _ in range(12)] == [0.0] * 10 + [0.2, 0.4]


def test_a_limit_that_lets_nobody_through_is_refused() -> None:
    with pytest.raises(ConfigError, match="burst is required to be greater than 0"):
        RateLimit(5.0, 0, Clock())


def test_waits_grow_up_to_a_limit_and_begin_anew_after_success() -> None:
    pace = Pace()
    backoff = Backoff(pace.first, pace.longest)
    assert [round(backoff.next(0.0), 2) for _ in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
    assert backoff.next(1.0) == 60
    backoff.reset()
    assert [round(backoff.next(chance), 2) for chance in (0.0, 0.5, 1.0)] == [0.8, 2.4, 6.4]


def test_a_server_that_was_away_is_asked_within_five_seconds_of_its_return() -> None:
    pace = Pace()
    backoff = Backoff(pace.first, pace.away)
    assert max(backoff.next(1.0) for _ in range(10_000)) == 4.0
