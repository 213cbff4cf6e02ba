"""The values that say what should happen to traffic, in nobody's dialect."""

from enum import Enum, IntFlag, StrEnum

from msgspec import Struct

from kubeproxy.model.endpoint import Endpoint
from kubeproxy.model.identity import PortName, Protocol
from kubeproxy.model.serviceport import ServicePort


class Because(StrEnum):
    """Why something was decided, in words an operator understands."""

    # why an endpoint is not in a pool
    NOT_READY = "not ready"
    DRAINING = "terminating, and ready endpoints exist"
    DEAD = "terminating and no longer serving"
    OTHER_NODE = "on another node, and the policy is Local"
    OTHER_NODE_HINT = "its node hints do not name this node"
    OTHER_ZONE = "its zone hints do not name this node's zone"
    # why a verdict
    NO_ENDPOINTS = "no usable endpoint anywhere"
    NO_LOCAL_ENDPOINTS = "the policy is Local and this node has no usable endpoint"
    SOURCE_NOT_ALLOWED = "the source is outside loadBalancerSourceRanges"
    CLAIMED_BY_OLDER = "an older Service has this address and port"
    # why the source address changes
    FROM_OUTSIDE_POD_NETWORK = "the client is not a local pod, so replies must return through this node"
    MASQUERADE_ALL = "masqueradeAll is set"
    EXTERNAL_CLUSTER_POLICY = "externalTrafficPolicy is Cluster, so the endpoint may be on another node"
    HAIRPIN = "the endpoint is the client itself"
    FROM_THIS_NODE = "the client is this node itself"
    # why pools are what they are
    TOPOLOGY_NODE = "every ready endpoint has node hints, and some name this node"
    TOPOLOGY_ZONE = "every ready endpoint has zone hints, and some name this node's zone"
    DRAINING_FALLBACK = "no ready endpoint is left, so those still draining are used"
    SHORTCUT = "a client inside the cluster need not go out and come back in"
    AFFINITY = "the Service keeps a client with its endpoint"
    # why nothing is touched
    NO_FRONTEND = "no Service has this address and port"
    NOT_A_NODE_PORT_ADDRESS = "node ports answer on the node's selected addresses only"
    NOT_REFUSED_HERE = "this way past the node is not watched for refusals in this mode"
    LOOPBACK_GUARD = "only this node itself may use its loopback addresses"


class FrontendKind(StrEnum):
    """The kinds of address a Service answers on."""

    CLUSTER_IP = "cluster IP"
    EXTERNAL_IP = "external IP"
    LOAD_BALANCER = "load balancer IP"
    NODE_PORT = "node port"


class Frontend(Struct, frozen=True, order=True, gc=False):
    """An address, protocol and port that clients dial; a node port has the address ""."""

    kind: FrontendKind
    address: str
    protocol: Protocol
    port: int

    @property
    def claim(self) -> tuple[str, Protocol, int]:
        """What two Services cannot both have, whatever kind of address each thinks it is."""
        return self.address, self.protocol, self.port


class Source(IntFlag):
    """Classes of clients; every client is in exactly one. POD is asked first, then HOST."""

    NONE = 0
    POD = 1
    HOST = 2
    OTHER = 4
    ALL = 7


class Verdict(Enum):
    """What meets a new flow that no endpoint may answer."""

    REJECT = "reject"
    DROP = "drop"


class Pool(Struct, frozen=True, gc=False):
    """The endpoints a Frontend may choose from, in order of their address text, and how sticky."""

    endpoints: tuple[Endpoint, ...] = ()
    affinity_seconds: int = 0

    def __bool__(self) -> bool:
        return bool(self.endpoints)


class Allowed(Struct, frozen=True, gc=False):
    """The clients that may use a Frontend; everybody else is dropped before anything is rewritten."""

    ranges: tuple[str, ...]
    #: addresses that may dial as well, because the node's own address is inside the ranges and the
    #: platform may have bound them here
    own_addresses: tuple[str, ...] = ()


class Route(Struct, frozen=True, gc=False):
    """Frontend → Pool, and everything about the way there."""

    frontend: Frontend
    pool: Pool
    #: clients of this class use `inside` instead of `pool` (externalTrafficPolicy Local's short cut)
    shortcut: Source = Source.NONE
    inside: Pool = Pool()
    #: clients whose address is replaced by this node's; a hairpin is masqueraded always
    masquerade: Source = Source.NONE
    masquerade_because: Because | None = None
    #: what meets a flow whose pool is empty
    verdict: Verdict | None = None
    because: Because | None = None
    allowed: Allowed | None = None

    def pool_for(self, source: Source) -> Pool:
        return self.inside if source & self.shortcut else self.pool


class Excluded(Struct, frozen=True, gc=False):
    """An endpoint that a pool does not hold, and why."""

    endpoint: Endpoint
    because: Because


class Lost(Struct, frozen=True, gc=False):
    """A Frontend that an older Service holds."""

    frontend: Frontend
    holder: PortName


class Topology(StrEnum):
    """Which hints narrow the cluster-wide pool."""

    NONE = "everyone"
    NODE = "same node"
    ZONE = "same zone"


class PortRoutes(Struct, frozen=True, gc=False):
    """All that was decided about one ServicePort."""

    port: ServicePort
    routes: tuple[Route, ...]
    #: pool of Cluster policy, pool of Local policy; None where the policy is not in use
    cluster: tuple[Endpoint, ...] | None
    local: tuple[Endpoint, ...] | None
    #: everything this node may send to, the union of both
    reachable: tuple[Endpoint, ...]
    #: a usable endpoint exists somewhere: what makes the difference between reject and drop
    usable_anywhere: bool
    #: how many endpoints are known at all, usable or not
    known_endpoints: int = 0
    topology: Topology = Topology.NONE
    lost: tuple[Lost, ...] = ()

    @property
    def name(self) -> PortName:
        return self.port.name

    def route(self, kind: FrontendKind) -> Route | None:
        """The first route of a kind: all routes of one kind differ in their address alone."""
        return next((route for route in self.routes if route.frontend.kind is kind), None)
