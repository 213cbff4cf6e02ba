"""Requests to the API server, in numbers: whoever makes them says what became of each."""

from collections.abc import Iterator
from typing import Final

from kubeproxy.runtime.metrics import Counter, Gauge, Histogram, Metric

_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
_BYTES: Final = (64, 256, 512, *(4**n for n in range(5, 13)))
_AGES: Final = (600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000)
_WHERE: Final = ("host", "verb")


class RestMetrics:
    """`verb` and `code` are as HTTP spells them; a request that got no answer has the code <error>."""

    def __init__(self) -> None:
        def histogram(name: str, text: str, bounds: tuple[float, ...]) -> Histogram:
            return Histogram(f"rest_client_{name}", f"[ALPHA] {text}", _WHERE, bounds)

        self.requests = Counter(
            "rest_client_requests_total",
            "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
            ("code", "method", "host"),
        )
        self.retries = Counter(
            "rest_client_request_retries_total",
            "[ALPHA] Number of request retries, partitioned by status code, verb, and host.",
            ("code", "verb", "host"),
        )
        said, short = "Broken down by verb, and host.", "Broken down by verb and host."
        self.seconds = histogram("request_duration_seconds", f"Request latency in seconds. {said}", _SECONDS)
        self.waited = histogram(
            "rate_limiter_duration_seconds",
            f"Client side rate limiter latency in seconds. {said}",
            _SECONDS,
        )
        self.sent = histogram("request_size_bytes", f"Request size in bytes. {short}", _BYTES)
        self.received = histogram("response_size_bytes", f"Response size in bytes. {short}", _BYTES)
        self.plugin_ttl = Gauge(
            "rest_client_exec_plugin_ttl_seconds",
            "[ALPHA] Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the "
            "auth exec plugin. The value is in seconds until certificate expiry (negative if already "
            "expired). If auth exec plugins are unused or manage no TLS certificates, the value will be "
            "+INF.",
        )
        self.plugin_ttl.set(float("inf"))
        self.plugin_ages = Histogram(
            "rest_client_exec_plugin_certificate_rotation_age",
            "[ALPHA] Histogram of the number of seconds the last auth exec plugin client certificate lived "
            "before being rotated. If auth exec plugin client certificates are unused, histogram will "
            "contain no data.",
            (),
            _AGES,
        )

    def __iter__(self) -> Iterator[Metric]:
        yield from (self.requests, self.retries, self.seconds, self.waited, self.sent, self.received)
        yield from (self.plugin_ttl, self.plugin_ages)

    def request(
        self,
        *,
        verb: str,
        host: str,
        code: str,
        seconds: float | None = None,
        sent: int | None = None,
        received: int | None = None,
    ) -> None:
        """A request has ended, or a watch has begun: of a watch only that it happened is counted."""
        self.requests.inc(code=code, method=verb, host=host)
        for metric, value in ((self.seconds, seconds), (self.sent, sent), (self.received, received)):
            if value is not None:
                metric.observe(value, verb=verb, host=host)

    def throttled(self, *, verb: str, host: str, seconds: float) -> None:
        """How long our own limit held a request back, also when it did not."""
        self.waited.observe(seconds, verb=verb, host=host)

    def retried(self, *, verb: str, host: str, code: str) -> None:
        self.retries.inc(code=code, verb=verb, host=host)
