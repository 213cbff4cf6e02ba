"""What the API server would refuse in a Service, said before it can reach a rule."""

from collections.abc import Callable, Iterator
from typing import Final

from kubeproxy.api.addresses import families_of
from kubeproxy.api.service import Service, ServicePortSpec, ServiceSpec
from kubeproxy.sources import rules
from kubeproxy.sources.rules import FAMILIES, PROTOCOLS, Name, Wrong

_TYPES: Final = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_POLICIES: Final = ("SingleStack", "PreferDualStack", "RequireDualStack")
_LONGEST_AFFINITY: Final = 86400


def check_service(service: Service) -> Iterator[Wrong]:
    """Everything wrong with a Service that has its defaults; the type first, as the rest depends on it."""
    yield from rules.metadata(service.metadata, Name.SERVICE)
    wrong_type = tuple(rules.one_of("spec.type", service.spec.type, _TYPES))
    yield from wrong_type
    if not wrong_type:
        for check in _CHECKS:
            yield from check(service.spec)
    yield from _status(service)


def _families(spec: ServiceSpec) -> Iterator[Wrong]:
    for index, family in enumerate(spec.ipFamilies):
        yield from rules.one_of(f"spec.ipFamilies[{index}]", family, FAMILIES)
    yield from rules.distinct("spec.ipFamilies", spec.ipFamilies)
    if spec.ipFamilyPolicy is not None:
        yield from rules.one_of("spec.ipFamilyPolicy", spec.ipFamilyPolicy, _POLICIES)
    if spec.ipFamilyPolicy == "SingleStack" and max(len(spec.ipFamilies), len(spec.clusterIPs)) > 1:
        remedy = "write RequireDualStack, or keep one family"
        yield Wrong("spec.ipFamilyPolicy", spec.ipFamilyPolicy, "the Service has two IP families", remedy)


def _cluster_ips(spec: ServiceSpec) -> Iterator[Wrong]:
    if spec.type == "ExternalName":
        yield from _external_name(spec)
    elif spec.clusterIP == "None":
        yield from _headless(spec)
    else:
        yield from _given_ips(spec)


def _external_name(spec: ServiceSpec) -> Iterator[Wrong]:
    if spec.clusterIP or spec.clusterIPs:
        given = spec.clusterIP or spec.clusterIPs[0]
        yield Wrong(
            "spec.clusterIP", given, "an ExternalName Service has none", "remove it, or change the type"
        )
    yield from rules.named("spec.externalName", spec.externalName.removesuffix("."), Name.SUBDOMAIN)


def _headless(spec: ServiceSpec) -> Iterator[Wrong]:
    if spec.type != "ClusterIP":
        problem = f"a Service of type {spec.type} cannot be headless"
        yield Wrong(
            "spec.clusterIP", spec.clusterIP, problem, "remove clusterIP, or change the type to ClusterIP"
        )
    if spec.clusterIPs not in ((), ("None",)):
        yield Wrong("spec.clusterIPs[0]", spec.clusterIPs[0], "spec.clusterIP is None", "make both the same")


def _given_ips(spec: ServiceSpec) -> Iterator[Wrong]:
    if spec.clusterIPs and spec.clusterIP != spec.clusterIPs[0]:
        problem = f"not the same as spec.clusterIPs[0], which is {spec.clusterIPs[0]!r}"
        yield Wrong("spec.clusterIP", spec.clusterIP, problem, "make both the same, or leave one out")
    for index, text in enumerate(spec.clusterIPs):
        field = "spec.clusterIP" if index == 0 else f"spec.clusterIPs[{index}]"
        yield from rules.address(field, text)
    if len(spec.clusterIPs) > len(FAMILIES):
        yield Wrong(
            "spec.clusterIPs[2]", spec.clusterIPs[2], "more than one address a family", "keep one of each"
        )
        return
    given = families_of(spec.clusterIPs)
    if len(given) != len(spec.clusterIPs):
        return
    if len(set(given)) != len(given):
        remedy = "write one IPv4 and one IPv6 address"
        yield Wrong("spec.clusterIPs[1]", spec.clusterIPs[1], f"a second {given[1]} address", remedy)
    for index, (text, family) in enumerate(zip(spec.clusterIPs, spec.ipFamilies, strict=False)):
        if family in FAMILIES and given[index] != family:
            remedy = f"write an {family} address, or change spec.ipFamilies"
            yield Wrong(f"spec.clusterIPs[{index}]", text, f"spec.ipFamilies[{index}] is {family}", remedy)


def _ports(spec: ServiceSpec) -> Iterator[Wrong]:
    if not spec.ports and spec.type != "ExternalName" and spec.clusterIP != "None":
        yield Wrong("spec.ports", None, "no ports, so nothing to serve", "add at least one port")
    seen: set[tuple[int, str]] = set()
    for index, entry in enumerate(spec.ports):
        field = f"spec.ports[{index}]"
        yield from _port(field, entry)
        if not entry.name and len(spec.ports) > 1:
            yield Wrong(f"{field}.name", None, "required when there are several ports", "name each port")
        if (entry.port, entry.protocol) in seen:
            problem = f"{entry.port}/{entry.protocol} is already used above"
            yield Wrong(f"{field}.port", entry.port, problem, "change the port or the protocol")
        seen.add((entry.port, entry.protocol))
    names = [entry.name or f"\0{index}" for index, entry in enumerate(spec.ports)]
    yield from rules.distinct("spec.ports", names, ".name")
    yield from _node_ports(spec)


def _port(field: str, entry: ServicePortSpec) -> Iterator[Wrong]:
    if entry.name:
        yield from rules.named(f"{field}.name", entry.name, Name.LABEL)
    yield from rules.one_of(f"{field}.protocol", entry.protocol, PROTOCOLS)
    yield from rules.port(f"{field}.port", entry.port)
    if isinstance(entry.targetPort, str):
        yield from rules.named(f"{field}.targetPort", entry.targetPort, Name.CONTAINER_PORT)
    elif entry.targetPort is not None and entry.targetPort != entry.port:
        yield from rules.port(f"{field}.targetPort", entry.targetPort)


def _node_ports(spec: ServiceSpec) -> Iterator[Wrong]:
    seen: set[tuple[int, str]] = set()
    for index, entry in enumerate(spec.ports):
        field = f"spec.ports[{index}].nodePort"
        yield from rules.number(field, entry.nodePort, 0, 65535)
        if entry.nodePort and spec.type not in ("NodePort", "LoadBalancer"):
            problem = f"a Service of type {spec.type} has no node ports"
            yield Wrong(field, entry.nodePort, problem, "change the type to NodePort, or remove nodePort")
        elif entry.nodePort and (entry.nodePort, entry.protocol) in seen:
            yield Wrong(
                field, entry.nodePort, "already used above", "give each port its own, or leave it out"
            )
        seen.add((entry.nodePort, entry.protocol))


def _external_ips(spec: ServiceSpec) -> Iterator[Wrong]:
    for index, text in enumerate(spec.externalIPs):
        yield from rules.address(f"spec.externalIPs[{index}]", text)


def _policies(spec: ServiceSpec) -> Iterator[Wrong]:
    if spec.internalTrafficPolicy is not None:
        yield from rules.one_of(
            "spec.internalTrafficPolicy", spec.internalTrafficPolicy, ("Cluster", "Local")
        )
    if spec.externalTrafficPolicy is None:
        return
    field, policy = "spec.externalTrafficPolicy", spec.externalTrafficPolicy
    if not externally_accessible(spec):
        problem = "the Service has no address for clients outside"
        yield Wrong(
            field, policy, problem, "change the type to NodePort or LoadBalancer, or remove the policy"
        )
    else:
        yield from rules.one_of(field, policy, ("Cluster", "Local"))


def externally_accessible(spec: ServiceSpec) -> bool:
    return spec.type in ("NodePort", "LoadBalancer") or (spec.type == "ClusterIP" and bool(spec.externalIPs))


def _affinity(spec: ServiceSpec) -> Iterator[Wrong]:
    yield from rules.one_of("spec.sessionAffinity", spec.sessionAffinity, ("None", "ClientIP"))
    config = spec.sessionAffinityConfig
    if config is not None and config.clientIP is not None and config.clientIP.timeoutSeconds is not None:
        field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        yield from rules.number(field, config.clientIP.timeoutSeconds, 1, _LONGEST_AFFINITY)


def _balancer(spec: ServiceSpec) -> Iterator[Wrong]:
    balanced = spec.type == "LoadBalancer"
    yield from rules.number("spec.healthCheckNodePort", spec.healthCheckNodePort, 0, 65535)
    if spec.healthCheckNodePort and not (balanced and spec.externalTrafficPolicy == "Local"):
        problem = "only a LoadBalancer Service with externalTrafficPolicy Local is asked for its health"
        yield Wrong(
            "spec.healthCheckNodePort", spec.healthCheckNodePort, problem, "remove healthCheckNodePort"
        )
    for index, text in enumerate(spec.loadBalancerSourceRanges):
        field = f"spec.loadBalancerSourceRanges[{index}]"
        if balanced:
            yield from rules.cidr(field, text.strip())
        else:
            problem = f"a Service of type {spec.type} has no source ranges"
            yield Wrong(field, text, problem, "change the type to LoadBalancer, or remove the ranges")


def _status(service: Service) -> Iterator[Wrong]:
    for index, ingress in enumerate(service.status.loadBalancer.ingress):
        field = f"status.loadBalancer.ingress[{index}]"
        if ingress.ip:
            yield from rules.address(f"{field}.ip", ingress.ip, special=True)
        if ingress.ipMode is not None and not ingress.ip:
            yield Wrong(
                f"{field}.ipMode", ingress.ipMode, "there is no ip beside it", "add ip, or remove ipMode"
            )
        elif ingress.ipMode is not None:
            yield from rules.one_of(f"{field}.ipMode", ingress.ipMode, ("VIP", "Proxy"))


_CHECKS: Final[tuple[Callable[[ServiceSpec], Iterator[Wrong]], ...]] = (
    _families,
    _cluster_ips,
    _ports,
    _external_ips,
    _policies,
    _affinity,
    _balancer,
)
