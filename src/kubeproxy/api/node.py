"""v1 Node, as far as a proxy reads it."""

from kubeproxy.api.meta import ObjectMeta, Wire


class Taint(Wire, frozen=True, gc=False):
    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True, gc=False):
    podCIDR: str = ""
    podCIDRs: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()


class NodeAddress(Wire, frozen=True, gc=False):
    type: str
    address: str


class NodeStatus(Wire, frozen=True, gc=False):
    addresses: tuple[NodeAddress, ...] = ()


class Node(Wire, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
