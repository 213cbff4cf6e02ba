"""The metrics port without its socket: a request as text, an answer as text."""

import asyncio
import re

from kubeproxy.config.effective import effective_config
from kubeproxy.config.invocation import parse_flags
from kubeproxy.runtime.http import Answer, parsed_head, written
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.pages import MetricsPages, metrics_pages
from kubeproxy.runtime.standardmetrics import add_standard_metrics
from kubeproxy.runtime.standing import Standing

#: what differs from one moment or program to the next
MASKS = (
    (r"Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", "Date: *"),
    (r'startTime(["]?): "20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"', r'startTime\1: "*"'),
    (r"uptimeSeconds([\"]?): \d+", r"uptimeSeconds\1: *"),
    (r'goVersion": "python[\d.]+', 'goVersion": "*'),
    (r"goVersion: python[\d.]+", "goVersion: *"),
    (r"Process-Start-Time-Unix: \d{10}\b", "Process-Start-Time-Unix: *"),
)


def masked(text: str) -> str:
    for pattern, star in MASKS:
        text = re.sub(pattern, star, text)
    return text


class Port:
    """The pages of a proxy that was started with these words."""

    def __init__(self, *arguments: str) -> None:
        self.metrics = Metrics()
        add_standard_metrics(self.metrics, {})
        self._pages = self._made(*arguments)

    def _made(self, *arguments: str) -> MetricsPages:
        invocation = parse_flags(arguments)
        self.standing = Standing(effective_config(invocation, None))
        return metrics_pages(invocation, self.standing, self.metrics)

    def raw(self, head: str, body: bytes = b"") -> bytes:
        """The bytes on the wire; the head's lines end in LF here."""
        request = parsed_head(head.replace("\n", "\r\n"))
        answer: Answer = asyncio.run(self._pages.answer(type(request)(*_with_body(request, body))))
        return written(request, answer)

    def ask(self, first: str, *headers: str, body: bytes = b"") -> str:
        """The answer as text, its line ends and what changes from moment to moment made plain."""
        text = self.raw("\n".join([first, "Host: node", *filter(None, headers)]), body).decode()
        head, _, rest = text.partition("\r\n\r\n")
        return masked(head.replace("\r\n", "\n") + "\n\n" + rest)


def _with_body(request, body: bytes):
    fields = {name: getattr(request, name) for name in request.__struct_fields__} | {"body": body}
    return fields.values()
