"""When the source address must change, so that replies come back through this node.

A hairpin (the chosen endpoint is the client itself) is masqueraded besides all of this, by every dialect.
"""

from typing import Final, TypeAlias

from kubeproxy.model.serviceport import ServicePort
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import Because, Source

Masquerade: TypeAlias = tuple[Source, Because | None]

NEVER: Final[Masquerade] = (Source.NONE, None)
_EVERYBODY: Final[Masquerade] = (Source.ALL, Because.MASQUERADE_ALL)
_OUTSIDERS: Final[Masquerade] = (Source.HOST | Source.OTHER, Because.FROM_OUTSIDE_POD_NETWORK)
_EXTERNAL: Final[Masquerade] = (Source.ALL, Because.EXTERNAL_CLUSTER_POLICY)
_OWN: Final[Masquerade] = (Source.HOST, Because.FROM_THIS_NODE)


def to_cluster_ip(node: NodeView) -> Masquerade:
    """Only pods are known to get their replies by themselves; who cannot tell pods apart leaves all alone."""
    if node.masquerade_all:
        return _EVERYBODY
    return NEVER if node.detector is None else _OUTSIDERS


def from_outside(port: ServicePort) -> Masquerade:
    """Under Local policy the endpoint is here and sees the client; only our own flows have no route back.

    Under Cluster policy even a pod's address changes: it takes the way an outside client would.
    """
    return _OWN if port.external_local else _EXTERNAL
