"""The client of the API server, out of what the operator asked for; only who uses one loads it."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubeproxy.config.invocation import Invocation
from kubeproxy.config.release import KUBERNETES_VERSION
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.restmetrics import RestMetrics

if TYPE_CHECKING:
    from kubeproxy.sources.apiserver.client import Client, Exchange

#: what Go calls the machines that Linux calls otherwise
_MACHINES: Final = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "armv6l": "arm",
    "i686": "386",
    "i386": "386",
    "loongarch64": "loong64",
}


def api_client(invocation: Invocation, config: KubeProxyConfig, metrics: RestMetrics) -> "Client":
    """ConfigError with what keeps the server from being known."""
    from kubeproxy.sources.apiserver.access import find_access
    from kubeproxy.sources.apiserver.client import JSON, Client
    from kubeproxy.sources.apiserver.ratelimit import RateLimit

    wanted = config.clientConnection
    if not (wanted.kubeconfig or invocation.master):
        log.info("Neither --kubeconfig nor --master was specified; using the pod's own service account")
    access = find_access(wanted.kubeconfig, invocation.master, os.environ)
    if access.ca_optional and not Path(access.ca_file).is_file():
        log.error(
            "The pod has no certificate authority of the cluster; those of the system are believed instead",
            file=access.ca_file,
            remedy="mount the service account's ca.crt",
        )
    accept = wanted.acceptContentTypes or JSON
    if "json" not in accept and "*/*" not in accept:
        log.warning("Only JSON is understood here, so it is asked for", acceptContentTypes=accept)
        accept = JSON
    return Client(
        access,
        RateLimit(wanted.qps, wanted.burst, time.monotonic),
        environ=os.environ,
        user_agent=user_agent(),
        accept=accept,
        observe=lambda exchange: _count(metrics, exchange),
    )


def user_agent() -> str:
    """As the original calls itself, except that no commit of Kubernetes made this."""
    machine = os.uname().machine
    return f"kube-proxy/{KUBERNETES_VERSION} (linux/{_MACHINES.get(machine, machine)}) kubernetes/python"


def _count(metrics: RestMetrics, exchange: "Exchange") -> None:
    verb, host = exchange.verb, exchange.host
    metrics.throttled(verb=verb, host=host, seconds=exchange.waited)
    if exchange.watch:
        metrics.request(verb=verb, host=host, code=exchange.code)
        return
    metrics.request(
        verb=verb,
        host=host,
        code=exchange.code,
        seconds=exchange.seconds,
        sent=exchange.sent,
        received=exchange.received,
    )
