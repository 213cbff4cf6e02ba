"""How a page that scrapers read is sent: as text or as protobuf, packed where the scraper can unpack it."""

from collections.abc import Iterable

from msgspec import structs

from kubeproxy.runtime.exposition import CONTENT_TYPE, exposition
from kubeproxy.runtime.http import Answer, Request
from kubeproxy.runtime.metrics import Metric
from kubeproxy.runtime.negotiation import accepted

_PROTOBUF = "application/vnd.google.protobuf"
_TEXT = "text/plain"
_TEXT_VERSIONS = (None, "0.0.4", "1.0.0")
_FAMILY = {"proto": "io.prometheus.client.MetricFamily", "encoding": "delimited"}
#: how names that are not plain words would be written; ours are plain, so a scraper may have its way
_ESCAPINGS = ("underscores", "allow-utf-8", "dots", "values")


def scraped(request: Request, metrics: Iterable[Metric], *headers: tuple[str, str]) -> Answer:
    """All of the metrics, in the form that the scraper likes best."""
    form, escaping = _wish(request.headers.get("accept", ""))
    if form == _PROTOBUF:
        from kubeproxy.runtime.protobuf import CONTENT_TYPE as PROTOBUF_TYPE
        from kubeproxy.runtime.protobuf import delimited

        kind, body = PROTOBUF_TYPE, delimited(metrics)
    else:
        kind, body = CONTENT_TYPE, exposition(metrics).encode()
    return packed(request, Answer(200, body, (("Content-Type", f"{kind}; escaping={escaping}"), *headers)))


def _wish(header: str) -> tuple[str, str]:
    """The first form of ours that a scraper names, and the last escaping that it named until then."""
    escaping = _ESCAPINGS[0]
    for media in accepted(header):
        asked = media.parameters.get("escaping")
        escaping = asked if asked in _ESCAPINGS else escaping
        if media.type == _PROTOBUF and all(media.parameters.get(k) == v for k, v in _FAMILY.items()):
            return _PROTOBUF, escaping
        if media.type == _TEXT and media.parameters.get("version") in _TEXT_VERSIONS:
            return _TEXT, escaping
    return _TEXT, escaping


def packed(request: Request, answer: Answer) -> Answer:
    """The answer, made smaller for a client that says it can unpack it."""
    codings = accepted(request.headers.get("accept-encoding", ""))
    if not any(coding.type == "gzip" for coding in codings):
        return answer
    import gzip

    body = gzip.compress(answer.body, compresslevel=5, mtime=0)
    return structs.replace(answer, body=body, headers=(*answer.headers, ("Content-Encoding", "gzip")))
