"""Wires one of each, and lets them run until somebody says stop."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from kubeproxy.api.node import Node
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.model.changed import Counts
from kubeproxy.model.identity import Family
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.runtime.drift import Drift
from kubeproxy.runtime.followup import FollowUp
from kubeproxy.runtime.healthservers import HealthServers
from kubeproxy.runtime.healthz import Health
from kubeproxy.runtime.host import check_consistency
from kubeproxy.runtime.lane import Lane
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.nodewatch import eligible, health_hosts, node_view
from kubeproxy.runtime.reporting import count_report, say_complaint, say_notice, say_report
from kubeproxy.runtime.schedule import Pace, Runner
from kubeproxy.runtime.sync import AnyBackend, Kernel, sync
from kubeproxy.sources.notice import Source
from kubeproxy.sources.recording import Recorder
from kubeproxy.wire.conntrack import Flow
from kubeproxy.wire.rtnetlink import LocalAddress

#: nothing is programmed before everything of these kinds is known
NEEDED = ("Service", "EndpointSlice")
#: the longest time between two syncs
HOUR = 3600.0
#: once an hour the kernel is read as a whole, where that takes less CPU seconds than this
CHEAP = 0.1


class Machine(Kernel, Protocol):
    """The kernel and this machine, as the proxy needs them."""

    def addresses(self) -> tuple[LocalAddress, ...]: ...

    def udp_flows(self, family: Family) -> Iterable[Flow]: ...

    def delete_flows(self, flows: Iterable[Flow]) -> int: ...


def pace_of(config: KubeProxyConfig) -> Pace:
    return Pace(config.min_sync_period.seconds, config.sync_period.seconds, HOUR)


class Wheel:
    """One family's lane, and what turns with it."""

    def __init__(self, proxy: "Proxy", family: Family, backend: AnyBackend) -> None:
        self.proxy, self.family = proxy, family
        self.lane = Lane(family, backend, proxy.view(family))
        self.runner = Runner(pace_of(proxy.config), self.turn)
        self.servers = HealthServers(lambda: health_hosts(self.lane.node), lambda: proxy.health.healthy)
        machine = proxy.machine
        self.followup = FollowUp(
            self.lane, self.servers, proxy.metrics, machine.udp_flows, machine.delete_flows
        )
        self.asked_at: float | None = None
        self.read_at = 0.0
        self.reading_cost = 0.0
        self.failures = 0

    def ask(self) -> None:
        """Somebody wants a sync; health watches from now on that it comes."""
        if not self.proxy.ready:
            return
        self.asked_at = self.asked_at or time.monotonic()
        self.proxy.health.queued(self.family)
        self.proxy.metrics.last_queued.set(time.time(), ip_family=self.family.value)
        self.runner.ask()

    def doubt(self) -> None:
        """What is known of the kernel is not true any more: the next sync reads it."""
        self.lane.doubt()
        self.ask()

    async def turn(self) -> float | None:
        """One sync; None when it went well, else the seconds to the next try."""
        if not self.proxy.ready:
            return None
        self.asked_at = None
        self.proxy.metrics.service_changes_pending.set(0)
        self.proxy.metrics.endpoint_changes_pending.set(0)
        started = time.monotonic()
        if started - self.read_at > HOUR and self.reading_cost < CHEAP:
            self.lane.doubt()
        snapshot = self.proxy.tracker.snapshot
        taken = self.lane.take(snapshot)
        await self.proxy.drift.before(self.family)
        report = await sync(self.lane, taken.names, snapshot, self.proxy.machine, started)
        await self.proxy.drift.after(self.family, report)
        seconds = time.monotonic() - started
        say_report(self.lane, report, seconds)
        count_report(self.lane, report, seconds, self.proxy.metrics)
        if report.error is not None:
            self.lane.give_back(taken)
            return self._retry()
        if report.complete:
            self.read_at, self.reading_cost = time.monotonic(), report.reading
        self.proxy.health.updated(self.family, still_waiting_since=self.asked_at)
        await self.followup.after(taken, snapshot, report)
        return self._next_quarantined()

    def _retry(self) -> float:
        """Soon at first, then ever later, at most the sync period."""
        self.failures += 1
        return min(self.proxy.config.sync_period.seconds, 0.5 * 2.0 ** min(self.failures, 10))

    def _next_quarantined(self) -> float | None:
        self.failures = 0
        when = self.lane.next_retry()
        return None if when is None else max(0.0, when - time.monotonic())


class Proxy:
    """Changes come in, every family syncs at its own pace, and health and metrics tell how it goes."""

    def __init__(
        self,
        config: KubeProxyConfig,
        node_name: str,
        source: Source,
        machine: Machine,
        backends: Mapping[Family, AnyBackend],
        recorder: Recorder | None = None,
    ) -> None:
        self.config, self.node_name, self.machine = config, node_name, machine
        self._source, self._recorder = source, recorder
        gates = config.featureGates
        self.tracker = Tracker(
            started=time.time(), allow_external_ips=gates.get("AllowServiceExternalIPs", True)
        )
        self.metrics = Metrics()
        self.health = Health(2 * config.sync_period.seconds)
        #: what of our Node to work with, given what was heard: that, unless somebody knows better
        self.believe: Callable[[Node | None], Node | None] = lambda heard: heard
        self._addresses = machine.addresses()
        self.wheels = {family: Wheel(self, family, backend) for family, backend in backends.items()}
        #: notices what others do to our rules; unless somebody gives it ears, nothing
        self.drift = Drift()

    @property
    def ready(self) -> bool:
        """Everything there was at the start has been heard."""
        return self.tracker.synced(NEEDED)

    @property
    def node(self) -> Node | None:
        return self.believe(self.tracker.node(self.node_name))

    @property
    def eligible(self) -> bool:
        return eligible(self.node)

    def view(self, family: Family) -> NodeView:
        return node_view(self.config, self.node_name, family, self.node, self._addresses)

    async def run(self) -> None:
        """Until cancelled; a defect in any part ends all of it, and whoever supervises starts it again."""
        for family in self.wheels:
            self.health.started(family)
        try:
            async with asyncio.TaskGroup() as group:
                for wheel in self.wheels.values():
                    group.create_task(wheel.runner.forever(), name=f"sync {wheel.family}")
                group.create_task(self.drift.run(), name="drift")
                group.create_task(self._listen(), name="changes")
        finally:
            for wheel in self.wheels.values():
                await wheel.servers.close()

    async def _listen(self) -> None:
        started = time.monotonic()
        async for reading in self._source.watch():
            for notice in reading.notices:
                say_notice(notice)
            if self._recorder is not None and reading.changes:
                self._recorder.record(reading.changes, time.monotonic() - started)
            was_ready = self.ready
            self.tracker.hear(reading.changes)
            if self.ready and not was_ready:
                check_consistency(self.config, self.node, self.wheels)
            if self.ready:
                # Before everything is known nothing is taken: the tracker lets cancel out what does.
                self._hand_on(first=not was_ready)

    def _hand_on(self, *, first: bool) -> None:
        """Give every lane what concerns it; the first time, also when there is nothing at all to program."""
        pending = {family: self.tracker.counts(family) for family in self.wheels}
        changed = self.tracker.take()
        for complaint in changed.complaints:
            say_complaint(complaint)
        self._count_changes(pending)
        if self.node_name in changed.nodes:
            self.node_changed()
        for family, wheel in self.wheels.items():
            if wheel.lane.hear(changed.of(family)) or first:
                wheel.ask()

    def _count_changes(self, pending: dict[Family, Counts]) -> None:
        metrics, counts = self.metrics, pending.values()
        metrics.service_changes_pending.inc(max((count.pending_services for count in counts), default=0))
        metrics.endpoint_changes_pending.inc(sum(count.pending_slices for count in counts))
        metrics.service_changes.advance_to(sum(count.service_events for count in counts))
        metrics.endpoint_changes.advance_to(sum(count.slice_events for count in counts))

    def configure(self, config: KubeProxyConfig) -> None:
        """Another configuration from now on, as far as one can change under way."""
        self.config = config
        self.health.allow(2 * config.sync_period.seconds)
        for wheel in self.wheels.values():
            wheel.runner.follow(pace_of(config))
            if wheel.lane.mark_with(config.masquerade_bit):
                wheel.ask()
        self.node_changed()

    def addresses_changed(self) -> None:
        self._addresses = self.machine.addresses()
        self.node_changed()

    def node_changed(self) -> None:
        for family, wheel in self.wheels.items():
            if wheel.lane.move_to(self.view(family)):
                wheel.ask()
