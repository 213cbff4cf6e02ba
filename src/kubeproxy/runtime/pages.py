"""The pages of the metrics port: which there are, by path."""

from collections.abc import Iterable, Mapping

from kubeproxy.config.gates import gate_enabled
from kubeproxy.config.goliteral import json_text
from kubeproxy.config.invocation import Invocation, flag_texts
from kubeproxy.config.schema import API_VERSION
from kubeproxy.config.write import plain_config
from kubeproxy.runtime.http import NOT_FOUND, TEXT, Answer, Page, Request
from kubeproxy.runtime.metrics import Metric
from kubeproxy.runtime.processmetrics import process_started, started_metric
from kubeproxy.runtime.scrape import scraped
from kubeproxy.runtime.selfcheck import SelfCheck
from kubeproxy.runtime.standing import Standing
from kubeproxy.runtime.zpages import flagz, statusz

_GROUP = API_VERSION.partition("/")[0]
_JSON = (("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff"))
#: what /statusz tells of the other pages
_LISTED = ("/configz", "/flagz", "/healthz", "/metrics", "/proxyMode")


class MetricsPages:
    """The metrics port's pages, and nothing below or beside them."""

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self._pages = pages

    async def answer(self, request: Request) -> Answer:
        page = self._pages.get(request.path) or self._pages.get(f"{request.path.rpartition('/')[0]}/*")
        return NOT_FOUND if page is None else await page(request)


def metrics_pages(invocation: Invocation, standing: Standing, metrics: Iterable[Metric]) -> MetricsPages:
    config = standing.running
    started = process_started()
    header = ("Process-Start-Time-Unix", str(int(started)))
    check = SelfCheck(started_metric("[ALPHA] "), header)
    pages: dict[str, Page] = {
        "/healthz": check.healthz,
        "/healthz/ping": check.ping,
        "/metrics/slis": check.slis,
        "/metrics": _metrics(metrics, header),
        "/proxyMode": _fixed(config.mode.encode(), TEXT),
        "/configz": _configz(standing),
    }
    if gate_enabled(config.featureGates, "ComponentFlagz"):
        pages["/flagz"] = flagz(dict(flag_texts(invocation, config)))
    if gate_enabled(config.featureGates, "ComponentStatusz"):
        pages["/statusz"] = statusz(started, _LISTED, standing)
    if config.enableProfiling:
        from kubeproxy.runtime.debugpages import debug_pages

        pages |= debug_pages()
    return MetricsPages(pages)


def _metrics(metrics: Iterable[Metric], header: tuple[str, str]) -> Page:
    async def answer(request: Request) -> Answer:
        return scraped(request, metrics, header)

    return answer


def _configz(standing: Standing) -> Page:
    async def answer(_: Request) -> Answer:
        return Answer(200, json_text({_GROUP: plain_config(standing.running)}).encode(), _JSON)

    return answer


def _fixed(body: bytes, headers: tuple[tuple[str, str], ...]) -> Page:
    async def answer(_: Request) -> Answer:
        return Answer(200, body, headers)

    return answer
