"""networking.k8s.io/v1 ServiceCIDR."""

from kubeproxy.api.meta import ObjectMeta, Wire


class ServiceCIDRSpec(Wire, frozen=True, gc=False):
    cidrs: tuple[str, ...] = ()


class ServiceCIDR(Wire, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: ServiceCIDRSpec = ServiceCIDRSpec()
