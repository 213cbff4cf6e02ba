"""What follows a sync that succeeded: health ports, stale flows, and the numbers."""

import asyncio
import time
from collections.abc import Callable, Iterable

from kubeproxy.kernel.errors import KernelError
from kubeproxy.model.changed import FamilyChanges
from kubeproxy.model.identity import Family
from kubeproxy.model.snapshot import Snapshot
from kubeproxy.routes.healthports import health_ports
from kubeproxy.routes.staleflows import stale_flows
from kubeproxy.runtime.healthservers import HealthServers
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.sync import AnyLane, Report
from kubeproxy.wire.conntrack import Flow

#: reads the UDP flows of a family that pass a test
ReadFlows = Callable[[Family], Iterable[Flow]]
DeleteFlows = Callable[[Iterable[Flow]], int]


class FollowUp:
    """One family's, after each of its syncs."""

    def __init__(
        self, lane: AnyLane, servers: HealthServers, metrics: Metrics, flows: ReadFlows, forget: DeleteFlows
    ) -> None:
        self._lane, self._servers, self._metrics = lane, servers, metrics
        self._flows, self._forget = flows, forget
        #: flows could not be looked at when it was time
        self._owed = False

    async def after(self, taken: FamilyChanges, snapshot: Snapshot, report: Report) -> None:
        """Flows are looked at last: only now does every rule lead to an endpoint that serves."""
        family = self._lane.family.value
        await self._servers.apply(health_ports(snapshot, self._lane.node, taken.names))
        now = time.time()
        for triggered in taken.triggered:
            self._metrics.programming.observe(max(0.0, now - triggered), ip_family=family)
        self._metrics.last_sync.set(now, ip_family=family)
        totals = self._lane.routes.totals
        missing = {"internal": totals.internal_without_local, "external": totals.external_without_local}
        for policy, count in missing.items():
            self._metrics.no_local_endpoints.set(count, ip_family=family, traffic_policy=policy)
        self._metrics.quarantined.set(len(self._lane.quarantine), ip_family=family)
        if taken.udp or self._owed:
            await asyncio.to_thread(self._forget_stale_flows, snapshot)

    def _forget_stale_flows(self, snapshot: Snapshot) -> None:
        started = time.perf_counter()
        family = self._lane.family.value
        try:
            flows = self._flows(self._lane.family)
            stale = stale_flows(flows, self._lane.routes, snapshot, self._lane.node)
            deleted = self._forget(stale) if stale else 0
        except KernelError as error:
            self._owed = True
            log.error("Failed to clean up UDP flows; it is tried again", err=error, ipFamily=family)
            return
        self._owed = False
        self._metrics.conntrack.observe(time.perf_counter() - started, ip_family=family)
        self._metrics.conntrack_deleted.inc(deleted, ip_family=family)
        if deleted:
            log.info("Forgot UDP flows whose endpoint no longer serves", count=deleted, ipFamily=family, v=2)
