"""Every metric, declared once. Names, types, labels, help and buckets are what dashboards already ask for."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

#: label values, in the order in which the metric names its labels
Key: TypeAlias = tuple[str, ...]


class Sample(Struct, frozen=True):
    """One line of the exposition, without the metric's own name."""

    suffix: str
    labels: tuple[tuple[str, str], ...]
    value: float


class Metric:
    """What counters, gauges and histograms have in common."""

    kind = ""

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name, self.text, self.labels = name, text, tuple(sorted(labels))
        self.values: dict[Key, float] = {} if labels else {(): 0.0}

    def key(self, labels: dict[str, str]) -> Key:
        if tuple(sorted(labels)) != self.labels:
            raise TypeError(f"{self.name} has the labels {self.labels}, not {tuple(labels)}")
        return tuple(labels[name] for name in self.labels)

    def samples(self) -> Iterator[Sample]:
        for key, value in sorted(self.values.items()):
            yield Sample("", tuple(zip(self.labels, key, strict=True)), value)


class Counter(Metric):
    kind = "counter"

    def inc(self, amount: float = 1.0, **labels: str) -> None:
        key = self.key(labels)
        self.values[key] = self.values.get(key, 0.0) + amount

    def advance_to(self, total: float, **labels: str) -> None:
        """For what somebody else counts: the total only ever grows."""
        key = self.key(labels)
        self.values[key] = max(self.values.get(key, 0.0), total)


class Gauge(Metric):
    kind = "gauge"

    def set(self, value: float, **labels: str) -> None:
        self.values[self.key(labels)] = value

    def inc(self, amount: float = 1.0, **labels: str) -> None:
        key = self.key(labels)
        self.values[key] = self.values.get(key, 0.0) + amount


class Histogram(Metric):
    kind = "histogram"

    def __init__(self, name: str, text: str, labels: Sequence[str], bounds: Sequence[float]) -> None:
        super().__init__(name, text, labels)
        self.bounds = tuple(bounds)
        self.buckets: dict[Key, list[int]] = {} if labels else {(): [0] * (len(bounds) + 1)}

    def observe(self, value: float, **labels: str) -> None:
        key = self.key(labels)
        self.buckets.setdefault(key, [0] * (len(self.bounds) + 1))[bisect_left(self.bounds, value)] += 1
        self.values[key] = self.values.get(key, 0.0) + value

    def samples(self) -> Iterator[Sample]:
        for key, buckets in sorted(self.buckets.items()):
            labels = tuple(zip(self.labels, key, strict=True))
            total = 0
            for bound, count in zip((*self.bounds, float("inf")), buckets, strict=True):
                total += count
                yield Sample("_bucket", (*labels, ("le", number(bound))), total)
            yield Sample("_sum", labels, self.values.get(key, 0.0))
            yield Sample("_count", labels, total)


class Observed(Metric):
    """A counter or gauge somebody else keeps; it is asked for when the metrics are read."""

    def __init__(self, name: str, text: str, kind: str, ask: Callable[[], float | None]) -> None:
        super().__init__(name, text)
        self.kind, self._ask = kind, ask

    def samples(self) -> Iterator[Sample]:
        value = self._ask()
        if value is not None:
            yield Sample("", (), value)


def number(value: float) -> str:
    """The shortest text that reads back as the same number, with an exponent from a million on."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    shortest = next(text for places in range(18) if float(text := f"{value:.{places}e}") == value)
    mantissa, exponent = shortest.split("e")
    if -4 <= int(exponent) < 6:
        return repr(float(value)).removesuffix(".0")
    return f"{mantissa}e{exponent}"


_EXPONENTIAL = [0.001 * 2**n for n in range(15)]
_PROGRAMMING = [0, 0.25, 0.5, *range(1, 60), *range(60, 120, 5), *range(120, 301, 30)]
_FAMILY = ("ip_family",)
_TABLE = ("ip_family", "table")


class Metrics:
    """The proxy's own metrics; one object for the process, handed to whoever counts."""

    def __init__(self) -> None:
        self.all: list[Metric] = []
        self._sync()
        self._changes()
        self._iptables()
        self._rest()

    def __iter__(self) -> Iterator[Metric]:
        return iter(sorted(self.all, key=lambda metric: metric.name))

    def add(self, metric: Metric) -> None:
        self.all.append(metric)

    def _counter(self, name: str, text: str, labels: Sequence[str] = ()) -> Counter:
        self.all.append(metric := Counter(f"kubeproxy_{name}", f"[ALPHA] {text}", labels))
        return metric

    def _gauge(self, name: str, text: str, labels: Sequence[str] = ()) -> Gauge:
        self.all.append(metric := Gauge(f"kubeproxy_{name}", f"[ALPHA] {text}", labels))
        return metric

    def _histogram(
        self, name: str, text: str, labels: Sequence[str], bounds: Sequence[float] = _EXPONENTIAL
    ) -> Histogram:
        self.all.append(metric := Histogram(f"kubeproxy_{name}", f"[ALPHA] {text}", labels, bounds))
        return metric

    def _sync(self) -> None:
        latency = "SyncProxyRules latency in seconds"
        histogram, gauge = self._histogram, self._gauge
        self.sync = histogram("sync_proxy_rules_duration_seconds", latency, _FAMILY)
        self.sync_full = histogram(
            "sync_full_proxy_rules_duration_seconds", f"{latency} for full resyncs", _FAMILY
        )
        self.sync_partial = histogram(
            "sync_partial_proxy_rules_duration_seconds", f"{latency} for partial resyncs", _FAMILY
        )
        self.last_sync = gauge(
            "sync_proxy_rules_last_timestamp_seconds",
            "The last time proxy rules were successfully synced",
            _FAMILY,
        )
        self.last_queued = gauge(
            "sync_proxy_rules_last_queued_timestamp_seconds",
            "The last time a sync of proxy rules was queued",
            _FAMILY,
        )
        self.programming = histogram(
            "network_programming_duration_seconds",
            "In Cluster Network Programming Latency in seconds",
            _FAMILY,
            _PROGRAMMING,
        )
        self.no_local_endpoints = gauge(
            "sync_proxy_rules_no_local_endpoints_total",
            "Number of services with a Local traffic policy and no endpoints",
            ("ip_family", "traffic_policy"),
        )

    def _changes(self) -> None:
        counter, gauge = self._counter, self._gauge
        pending, total = "Pending proxy rules", "Cumulative proxy rules"
        prefix = "sync_proxy_rules"
        self.endpoint_changes_pending = gauge(
            f"{prefix}_endpoint_changes_pending", f"{pending} Endpoint changes"
        )
        self.endpoint_changes = counter(f"{prefix}_endpoint_changes_total", f"{total} Endpoint changes")
        self.service_changes_pending = gauge(
            f"{prefix}_service_changes_pending", f"{pending} Service changes"
        )
        self.service_changes = counter(f"{prefix}_service_changes_total", f"{total} Service changes")

    def _iptables(self) -> None:
        prefix = "sync_proxy_rules_iptables"
        self.rules_total = self._gauge(
            f"{prefix}_total", "Total number of iptables rules owned by kube-proxy", _TABLE
        )
        self.rules_last = self._gauge(
            f"{prefix}_last", "Number of iptables rules written by kube-proxy in last sync", _TABLE
        )
        self.restore_failures = self._counter(
            f"{prefix}_restore_failures_total", "Cumulative proxy iptables restore failures", _FAMILY
        )
        self.partial_restore_failures = self._counter(
            f"{prefix}_partial_restore_failures_total",
            "Cumulative proxy iptables partial restore failures",
            _FAMILY,
        )

    def _rest(self) -> None:
        self.healthz = self._counter("proxy_healthz_total", "Cumulative proxy healthz HTTP status", ("code",))
        self.livez = self._counter("proxy_livez_total", "Cumulative proxy livez HTTP status", ("code",))
        self.conntrack = self._histogram(
            "conntrack_reconciler_sync_duration_seconds",
            "ReconcileConntrackFlowsLatency latency in seconds",
            _FAMILY,
        )
        self.conntrack_deleted = self._counter(
            "conntrack_reconciler_deleted_entries_total",
            "Cumulative conntrack flows deleted by conntrack reconciler",
            _FAMILY,
        )
        # Ours: what upstream has no number for.
        self.quarantined = self._gauge(
            "quarantined_service_ports", "Service ports the kernel refused and that are withheld", _FAMILY
        )
        self.config_pending = self._gauge(
            "config_pending_changes", "Fields the configuration file changed that wait for the next start"
        )
        self.config_changes = self._counter(
            "config_changes_total", "Times the configuration file changed, by what became of it", ("result",)
        )
        self.drift = self._counter(
            "drift_repairs_total", "Times the kernel's rules were changed by somebody else", _FAMILY
        )
