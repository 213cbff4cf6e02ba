"""All a source may say: this is how it is now, this is gone, and that was everything of a kind."""

from typing import Final, TypeAlias

from msgspec import Struct

from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.meta import Ref
from kubeproxy.api.node import Node
from kubeproxy.api.service import Service
from kubeproxy.api.servicecidr import ServiceCIDR

KubeObject: TypeAlias = Service | EndpointSlice | Node | ServiceCIDR

KINDS: Final[dict[str, type[KubeObject]]] = {
    "Service": Service,
    "EndpointSlice": EndpointSlice,
    "Node": Node,
    "ServiceCIDR": ServiceCIDR,
}
CLUSTER_SCOPED: Final = frozenset({"Node", "ServiceCIDR"})

_NAME_OF: Final = {cls: kind for kind, cls in KINDS.items()}


class Upsert(Struct, frozen=True, gc=False):
    obj: KubeObject


class Delete(Struct, frozen=True, gc=False):
    ref: Ref


class Synced(Struct, frozen=True, gc=False):
    """Every object of this kind that existed at the start has been said.

    Nothing may be programmed before that: half a cluster looks like a cluster that lost the other half.
    """

    kind: str


Change: TypeAlias = Upsert | Delete | Synced


def kind_of(obj: KubeObject) -> str:
    return _NAME_OF[type(obj)]


def ref_of(obj: KubeObject) -> Ref:
    kind = _NAME_OF[type(obj)]
    return Ref(kind, "" if kind in CLUSTER_SCOPED else obj.metadata.namespace, obj.metadata.name)
