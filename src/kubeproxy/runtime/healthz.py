"""Is the proxy itself well: what load balancers and the kubelet ask, and the answers."""

import json
import time
from collections.abc import Callable

from msgspec import Struct

from kubeproxy.model.identity import Family
from kubeproxy.runtime.http import NOT_FOUND, Answer, Request
from kubeproxy.runtime.metrics import Metrics

JSON_HEADERS = (("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff"))


class Pulse(Struct):
    """One family's syncs: when the last one succeeded, and since when one has been waiting."""

    updated_ns: int
    waiting_since: float | None = None


class Health:
    """Unhealthy is who was asked to sync and could not for too long; an idle proxy never goes stale."""

    def __init__(self, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout, self._clock = timeout, clock
        self._pulses: dict[Family, Pulse] = {}

    def allow(self, timeout: float) -> None:
        """From now on a sync may take this long."""
        self._timeout = timeout

    def started(self, family: Family) -> None:
        self._pulses[family] = Pulse(time.time_ns())

    def queued(self, family: Family) -> None:
        """A sync is wanted; the first of several counts."""
        pulse = self._pulses.get(family)
        if pulse is not None and pulse.waiting_since is None:
            pulse.waiting_since = self._clock()

    def updated(self, family: Family, *, still_waiting_since: float | None = None) -> None:
        """A sync succeeded; what was asked for while it ran still waits."""
        self._pulses[family] = Pulse(time.time_ns(), still_waiting_since)

    def healthy_family(self, family: Family) -> bool:
        since = self._pulses[family].waiting_since
        return since is None or self._clock() - since < self._timeout

    @property
    def healthy(self) -> bool:
        return all(self.healthy_family(family) for family in self._pulses)

    def body(self, eligible: bool | None) -> tuple[int, bytes]:
        """Status and body; `eligible` is None where the node does not matter."""
        now, healthy = time.time_ns(), self.healthy
        status = 200 if healthy and eligible is not False else 503
        newest = max((pulse.updated_ns for pulse in self._pulses.values()), default=None)
        record: dict[str, object] = {
            "lastUpdated": stamp(now if status == 200 else newest),
            "currentTime": stamp(now),
        }
        if eligible is not None:
            record["nodeEligible"] = eligible
        record["healthy"] = healthy
        families = {
            family.value: {"lastUpdated": stamp(pulse.updated_ns), "healthy": self.healthy_family(family)}
            for family, pulse in sorted(self._pulses.items())
        }
        if families:
            record["status"] = families
        return status, json.dumps(record, separators=(",", ":")).encode()


def stamp(nanoseconds: int | None) -> str:
    """RFC 3339 in the local zone, with as many digits of the second as it takes."""
    if nanoseconds is None:
        return "0001-01-01T00:00:00Z"
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    local = time.localtime(seconds)
    digits = f".{fraction:09d}".rstrip("0").rstrip(".")
    zone = time.strftime("%z", local)
    zone = "Z" if zone in ("+0000", "") else f"{zone[:3]}:{zone[3:]}"
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', local)}{digits}{zone}"


class HealthPages:
    """The pages of the health port."""

    def __init__(self, health: Health, eligible: Callable[[], bool], metrics: Metrics) -> None:
        self._health, self._eligible, self._metrics = health, eligible, metrics

    async def answer(self, request: Request) -> Answer:
        if request.path == "/healthz":
            status, body = self._health.body(self._eligible())
            self._metrics.healthz.inc(code=str(status))
        elif request.path == "/livez":
            status, body = self._health.body(None)
            self._metrics.livez.inc(code=str(status))
        else:
            return NOT_FOUND
        return Answer(status, body, JSON_HEADERS)
