"""Is the proxy itself well: the case table of its health, told with a clock that jumps, and the pages."""

import asyncio
import json
import re

import pytest

from kubeproxy.model.identity import Family
from kubeproxy.runtime import healthz
from kubeproxy.runtime.healthz import Health, HealthPages, stamp
from kubeproxy.runtime.http import NOT_FOUND, Answer, Request
from kubeproxy.runtime.metrics import Metrics

V4, V6 = Family.IPV4, Family.IPV6
TIMEOUT = 10.0


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def after(*events: tuple[float, str, Family]) -> tuple[int, dict]:
    """The answer of /livez at the time of the last event; "" only lets time pass."""
    clock = Clock()
    health = Health(TIMEOUT, clock)
    for now, what, family in events:
        clock.now = 1000.0 + now
        if what:
            getattr(health, what)(family)
    status, body = health.body(None)
    return status, {name: each["healthy"] for name, each in json.loads(body).get("status", {}).items()}


STARTED = ((0, "started", V4), (0, "started", V6))
LATE = (*STARTED, (0, "queued", V4), (25, "", V4))
CASES = [
    ("H1 nothing yet", (), 200, {}),
    ("H2 nobody asks for a long time", (*STARTED, (0, "updated", V4), (0, "updated", V6), (25, "", V4)), 200, {"IPv4": True, "IPv6": True}),
    ("H3 asked, and it does not come", LATE, 503, {"IPv4": False, "IPv6": True}),
    ("H4 the other family does not help", (*LATE, (25, "updated", V6)), 503, {"IPv4": False, "IPv6": True}),
    ("H5 it comes, late", (*LATE, (25, "updated", V4)), 200, {"IPv4": True, "IPv6": True}),
    ("H6 asked twice, the first one counts", (*STARTED, (0, "queued", V4), (9, "queued", V4), (10, "", V4)), 503, {"IPv4": False, "IPv6": True}),
    ("H7 just in time", (*STARTED, (0, "queued", V4), (9.9, "", V4)), 200, {"IPv4": True, "IPv6": True}),
    ("H8 both late, one comes", (*STARTED, (0, "queued", V4), (0, "queued", V6), (25, "updated", V4)), 503, {"IPv4": True, "IPv6": False}),
    ("H8 and then the other", (*STARTED, (0, "queued", V4), (0, "queued", V6), (25, "updated", V4), (26, "updated", V6)), 200, {"IPv4": True, "IPv6": True}),
    ("a family that has not started is not waited for", ((0, "started", V4), (0, "queued", V6), (25, "", V4)), 200, {"IPv4": True}),
]  # fmt: skip


@pytest.mark.parametrize(("story", "events", "status", "families"), CASES, ids=[case[0] for case in CASES])
def test_health_is_being_asked_and_not_coming(story, events, status, families):
    assert after(*events) == (status, families)


def test_what_was_asked_for_during_a_sync_still_waits():
    """Otherwise a proxy that fails from then on would look well until somebody asks again."""
    clock = Clock()
    health = Health(TIMEOUT, clock)
    health.started(V4)
    health.updated(V4, still_waiting_since=clock.now)
    clock.now += TIMEOUT
    assert not health.healthy


def pages(
    monkeypatch, health: Health, *, eligible: bool = True, now_ns: int = 1_700_000_123_456_000_000
) -> tuple[HealthPages, Metrics]:
    monkeypatch.setattr(healthz.time, "time_ns", lambda: now_ns)
    metrics = Metrics()
    return HealthPages(health, lambda: eligible, metrics), metrics


def ask(page: HealthPages, path: str) -> Answer:
    return asyncio.run(page.answer(Request("GET", path, "", {})))


@pytest.fixture
def utc(monkeypatch):
    """The machine's zone is UTC."""
    monkeypatch.setenv("TZ", "UTC")
    healthz.time.tzset()
    yield
    monkeypatch.undo()
    healthz.time.tzset()


def sick(monkeypatch) -> Health:
    """Both families synced at 22:13:20; IPv4 is overdue since."""
    monkeypatch.setattr(healthz.time, "time_ns", lambda: 1_700_000_000_000_000_000)
    clock = Clock()
    health = Health(TIMEOUT, clock)
    for family in Family:
        health.started(family)
    health.queued(V4)
    clock.now += 30
    return health


def test_the_page_of_a_healthy_proxy_word_by_word(monkeypatch, utc):
    monkeypatch.setattr(healthz.time, "time_ns", lambda: 1_700_000_000_500_000_000)
    health = Health(TIMEOUT, Clock())
    health.started(V4)
    page, metrics = pages(monkeypatch, health)
    assert ask(page, "/healthz") == Answer(
        200,
        b'{"lastUpdated":"2023-11-14T22:15:23.456Z","currentTime":"2023-11-14T22:15:23.456Z","nodeEligible":true,'
        b'"healthy":true,"status":{"IPv4":{"lastUpdated":"2023-11-14T22:13:20.5Z","healthy":true}}}',
        (("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff")),
    )
    assert metrics.healthz.values == {("200",): 1.0}


def test_the_page_of_a_sick_proxy_word_by_word(monkeypatch, utc):
    """At the top is the newest real update then, and no node."""
    page, metrics = pages(monkeypatch, sick(monkeypatch))
    assert ask(page, "/livez") == Answer(
        503,
        b'{"lastUpdated":"2023-11-14T22:13:20Z","currentTime":"2023-11-14T22:15:23.456Z",'
        b'"healthy":false,"status":{"IPv4":{"lastUpdated":"2023-11-14T22:13:20Z","healthy":false},'
        b'"IPv6":{"lastUpdated":"2023-11-14T22:13:20Z","healthy":true}}}',
        healthz.JSON_HEADERS,
    )
    assert metrics.livez.values == {("503",): 1.0}


def test_before_anything_has_started_there_are_no_families(monkeypatch, utc):
    page, _ = pages(monkeypatch, Health(TIMEOUT))
    assert ask(page, "/livez").body == (
        b'{"lastUpdated":"2023-11-14T22:15:23.456Z","currentTime":"2023-11-14T22:15:23.456Z","healthy":true}'
    )


def test_h9_a_node_that_is_to_go_gets_no_clients_but_lives(monkeypatch):
    """The body says healthy all the same: load balancers read the status."""
    page, metrics = pages(monkeypatch, Health(TIMEOUT), eligible=False)
    answer = ask(page, "/healthz")
    assert answer.status == 503
    assert b'"nodeEligible":false,"healthy":true' in answer.body
    assert ask(page, "/livez").status == 200
    assert (metrics.healthz.values, metrics.livez.values) == ({("503",): 1.0}, {("200",): 1.0})


@pytest.mark.parametrize("path", ["/", "/healthz/", "/livez/x", "/readyz", "/metrics"])
def test_there_is_nothing_beside_the_two_pages(monkeypatch, path):
    page, metrics = pages(monkeypatch, Health(TIMEOUT))
    assert ask(page, path) == NOT_FOUND
    assert (metrics.healthz.values, metrics.livez.values) == ({}, {})


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
        (1_700_000_000_120_000_000, "2023-11-14T22:13:20.12Z"),
        (1_700_000_000_999_999_999, "2023-11-14T22:13:20.999999999Z"),
        (None, "0001-01-01T00:00:00Z"),
    ],
)
def test_times_have_the_digits_they_need(nanoseconds, text, utc):
    assert stamp(nanoseconds) == text


def test_times_are_of_the_machines_zone(monkeypatch):
    monkeypatch.setenv("TZ", "IST-5:30")
    healthz.time.tzset()
    try:
        assert stamp(0) == "1970-01-01T05:30:00+05:30"
        assert re.fullmatch(r"[-\d]+T[:\d]+\.\d{1,9}\+05:30", stamp(123_000_000))
    finally:
        monkeypatch.undo()
        healthz.time.tzset()
