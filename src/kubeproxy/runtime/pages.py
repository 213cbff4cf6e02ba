"""The HTTP servers of the proxy itself: the health port and the metrics port."""

import asyncio

from kubeproxy.runtime.exposition import CONTENT_TYPE, exposition
from kubeproxy.runtime.http import NOT_FOUND, Answer, Handler, Request, Server, listening
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.metrics import Metrics

TEXT_HEADERS = (("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff"))

#: seconds until a port that somebody else has is tried again
RETRY = 5.0


class MetricsPages:
    """The pages of the metrics port."""

    def __init__(self, mode: str, metrics: Metrics) -> None:
        self._mode, self._metrics = mode, metrics

    async def answer(self, request: Request) -> Answer:
        if request.path == "/metrics":
            body = exposition(self._metrics).encode()
            return Answer(200, body, (("Content-Type", CONTENT_TYPE),))
        if request.path == "/proxyMode":
            return Answer(200, self._mode.encode(), TEXT_HEADERS)
        if request.path in ("/healthz", "/healthz/ping"):
            return Answer(200, b"ok", TEXT_HEADERS)
        return NOT_FOUND


async def serve_pages(name: str, address: str, handler: Handler, *, hard_fail: bool) -> None:
    """Serve for ever; a port that is taken is tried again, unless the operator wants that to be the end."""
    host, port = split_host_port(address)
    server = Server(handler)
    while True:
        try:
            sockets = [listening("" if host == "0.0.0.0" else host, port)]
            break
        except OSError as error:
            if hard_fail:
                raise
            log.folded(log.error, f"{name} server failed; it is tried again", err=error, address=address)
            await asyncio.sleep(RETRY)
    await server.listen(sockets)
    try:
        await asyncio.Event().wait()
    finally:
        await server.close()


def split_host_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)
