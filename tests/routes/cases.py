"""Endpoints in the short notation of the case tables, and the ServicePorts they stand behind."""

import re

from msgspec.structs import replace

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.serviceport import ServicePort
from kubeproxy.routes.nodeview import DetectBy, Detector, NodeView
from tests.model.objects import V4, port_name

#: ready, serving, terminating
STATES = {
    "ok": (True, True, False),
    "pub": (True, False, True),
    "drain": (False, True, True),
    "dead": (False, False, True),
    "sick": (False, False, False),
    "odd": (False, True, False),
}
_ENDPOINT = re.compile(
    r"(?P<name>\w+)=(?P<state>\w+)@(?P<node>\w+)(?: z:(?P<zones>[\w,]+))?(?: n:(?P<nodes>[\w,]+))?\Z"
)

PODS = Detector(DetectBy.CIDR, "10.128.0.0/9")
ME = NodeView(V4, "me", node_ip="192.0.2.10", addresses=("127.0.0.1", "192.0.2.10"), detector=PODS)

SHAPES = {  # what a ServicePort wants: iTP Local, eTP Local, a frontend outside
    "P": (False, False, False),
    "PL": (True, False, False),
    "X": (False, False, True),
    "XE": (False, True, True),
    "XI": (True, False, True),
    "XB": (True, True, True),
    "P*": (False, True, False),
}


def endpoints(text: str) -> tuple[Endpoint, ...]:
    """ "a=ok@me z:za,zb n:me | b=drain@far": the address is the letter, so the order is that of the letters."""
    return tuple(_endpoint(part.strip()) for part in text.split("|") if part.strip())


def _endpoint(text: str) -> Endpoint:
    found = _ENDPOINT.match(text)
    assert found is not None, text
    zones, nodes = (
        tuple((found[kind] or "").split(",")) if found[kind] else () for kind in ("zones", "nodes")
    )
    return Endpoint(found["name"], 80, *STATES[found["state"]], found["node"], zones, nodes)


def shaped(shape: str) -> ServicePort:
    internal, external, outside = SHAPES[shape]
    port = ServicePort(port_name(), "10.96.3.1", 80, internal_local=internal, external_local=external)
    return replace(port, node_port=31080) if outside else port


def letters(pool: tuple[Endpoint, ...] | None) -> str:
    """ "-" where no traffic is subject to the policy."""
    return "-" if pool is None else " ".join(endpoint.address for endpoint in pool)
