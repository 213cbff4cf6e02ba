"""Which Services lack a node port or a health check port, and what each of them gets."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from kubeproxy.api.meta import Ref
from kubeproxy.api.service import Service, ServicePortSpec, ServiceSpec
from kubeproxy.sources.allocate import Given, Numbered, assign, claimant, pool

_STATIC: Final = (32, 128)


def node_ports(
    services: Mapping[Ref, Service], written: Iterable[Service], first: int, last: int
) -> dict[Ref, Numbered]:
    """Those Services that lacked a port. `written` are all whose own ports nobody else may get."""
    lacking = {ref: service for ref, service in services.items() if _lacks(service.spec)}
    if not lacking:
        return {}
    taken = {number for service in written for number in _written(service.spec)}
    ports = pool([(first, last - first + 1)], *_STATIC)
    claims = {ref: _claims(ref, service.spec) for ref, service in lacking.items()}
    found = assign((claim for asked in claims.values() for claim in asked.values()), taken, ports)
    return {
        ref: _ported(
            service, {field: found[claim] for field, claim in claims[ref].items()}, f"{first} to {last}"
        )
        for ref, service in lacking.items()
    }


def _written(spec: ServiceSpec) -> Iterable[int]:
    yield spec.healthCheckNodePort
    for port in spec.ports:
        yield port.nodePort


_HEALTH: Final = "spec.healthCheckNodePort"


def _lacks(spec: ServiceSpec) -> bool:
    return _lacks_health(spec) or (_has_node_ports(spec) and not all(port.nodePort for port in spec.ports))


def _has_node_ports(spec: ServiceSpec) -> bool:
    balanced = spec.type == "LoadBalancer" and spec.allocateLoadBalancerNodePorts is not False
    return balanced or spec.type == "NodePort"


def _lacks_health(spec: ServiceSpec) -> bool:
    local = spec.type == "LoadBalancer" and spec.externalTrafficPolicy == "Local"
    return local and not spec.healthCheckNodePort


def _claims(ref: Ref, spec: ServiceSpec) -> dict[str, str]:
    """Field → who asks for it. Ports that differ only in protocol share a node port, a written one first."""
    claims: dict[str, str] = {}
    if _has_node_ports(spec):
        beside = _beside(spec)
        for index, port in enumerate(spec.ports):
            if not port.nodePort and port.port not in beside:
                claims[_field(index)] = f"{claimant(ref)}:{port.port}"
    if _lacks_health(spec):
        claims[_HEALTH] = f"{claimant(ref)} health"
    return claims


def _beside(spec: ServiceSpec) -> dict[int, int]:
    return {port.port: port.nodePort for port in spec.ports if port.nodePort}


def _field(index: int) -> str:
    return f"spec.ports[{index}].nodePort"


def _ported(service: Service, found: Mapping[str, int | None], origin: str) -> Numbered:
    spec, values = service.spec, dict(found)
    if _has_node_ports(spec):
        beside = _beside(spec)
        values |= {
            _field(i): beside[p.port] for i, p in enumerate(spec.ports) if not p.nodePort and p.port in beside
        }
    ports = tuple(_numbered(port, values.get(_field(index))) for index, port in enumerate(spec.ports))
    spec = replace(
        spec, ports=ports, healthCheckNodePort=spec.healthCheckNodePort or values.get(_HEALTH) or 0
    )
    given = tuple(Given(field, str(value), origin) for field, value in values.items() if value)
    without = tuple(Given(field, "", origin) for field, value in values.items() if not value)
    return Numbered(replace(service, spec=spec), given, without)


def _numbered(port: ServicePortSpec, value: int | None) -> ServicePortSpec:
    return replace(port, nodePort=value) if value and not port.nodePort else port
