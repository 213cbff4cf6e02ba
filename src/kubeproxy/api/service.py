"""v1 Service."""

from kubeproxy.api.meta import ObjectMeta, Wire


class ServicePortSpec(Wire, frozen=True, gc=False, kw_only=True):
    name: str = ""
    protocol: str = "TCP"
    port: int
    targetPort: int | str | None = None
    nodePort: int = 0
    appProtocol: str | None = None


class ClientIPConfig(Wire, frozen=True, gc=False):
    timeoutSeconds: int | None = None


class SessionAffinityConfig(Wire, frozen=True, gc=False):
    clientIP: ClientIPConfig | None = None


class ServiceSpec(Wire, frozen=True, gc=False):
    type: str = "ClusterIP"
    clusterIP: str = ""
    clusterIPs: tuple[str, ...] = ()
    ipFamilies: tuple[str, ...] = ()
    ipFamilyPolicy: str | None = None
    ports: tuple[ServicePortSpec, ...] = ()
    externalIPs: tuple[str, ...] = ()
    externalName: str = ""
    externalTrafficPolicy: str | None = None
    internalTrafficPolicy: str | None = None
    sessionAffinity: str = "None"
    sessionAffinityConfig: SessionAffinityConfig | None = None
    healthCheckNodePort: int = 0
    loadBalancerSourceRanges: tuple[str, ...] = ()
    loadBalancerIP: str = ""
    loadBalancerClass: str | None = None
    allocateLoadBalancerNodePorts: bool | None = None
    publishNotReadyAddresses: bool = False
    trafficDistribution: str | None = None
    selector: dict[str, str] | None = None


class Ingress(Wire, frozen=True, gc=False):
    ip: str = ""
    hostname: str = ""
    ipMode: str | None = None


class LoadBalancerStatus(Wire, frozen=True, gc=False):
    ingress: tuple[Ingress, ...] = ()


class ServiceStatus(Wire, frozen=True, gc=False):
    loadBalancer: LoadBalancerStatus = LoadBalancerStatus()


class Service(Wire, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()
