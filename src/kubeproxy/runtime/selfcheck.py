"""The metrics port's own health page: it answers, so the process lives; and what is counted of it."""

from kubeproxy.runtime.http import TEXT, Answer, Request
from kubeproxy.runtime.metrics import Counter, Gauge, Metric
from kubeproxy.runtime.scrape import scraped

_CHECK = {"name": "ping", "type": "healthz"}


class SelfCheck:
    """The pages /healthz, /healthz/ping and /metrics/slis."""

    def __init__(self, started: Metric, *headers: tuple[str, str]) -> None:
        self._headers = headers
        self.metrics: tuple[Metric, ...] = ()
        self.reset()
        self.metrics = (self._state, self._checks, started)

    def reset(self) -> None:
        """Forget all; what is asked for again begins anew, and the start of the process is not told again."""
        self._state = Gauge(
            "kubernetes_healthcheck",
            "[STABLE] This metric records the result of a single healthcheck.",
            ("name", "type"),
        )
        self._checks = Counter(
            "kubernetes_healthchecks_total",
            "[STABLE] This metric records the results of all healthcheck.",
            ("name", "status", "type"),
        )
        self.metrics = (self._state, self._checks)

    async def healthz(self, request: Request) -> Answer:
        """`verbose` tells what was looked at, `exclude` leaves a check out."""
        fields = request.fields
        excluded = {name for value in fields.get("exclude", ()) for name in value.split(",") if name}
        lines = []
        if "ping" in excluded:
            lines.append("[+]ping excluded: ok")
        else:
            self._look()
            lines.append("[+]ping ok")
        if unknown := sorted(excluded - {"ping"}):
            names = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if "verbose" not in fields:
            return Answer(200, b"ok", TEXT)
        return Answer(200, "\n".join([*lines, "healthz check passed\n"]).encode(), TEXT)

    async def ping(self, _: Request) -> Answer:
        return Answer(200, b"ok", guessed="text/plain; charset=utf-8")

    async def slis(self, request: Request) -> Answer:
        if request.method == "DELETE":
            self.reset()
            return Answer(200, b"metrics reset\n", guessed="text/plain; charset=utf-8")
        return scraped(request, self.metrics, *self._headers)

    def _look(self) -> None:
        self._state.set(1, **_CHECK)
        self._checks.inc(1, status="success", **_CHECK)
