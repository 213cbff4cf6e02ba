"""Service → the ServicePorts it asks for, in each IP family.

Reading is lenient where clusters hold objects from more lenient days, and every value that had to be left out
is named in a Complaint: one bad field never takes the rest of a Service down.
"""

import sys
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.api.addresses import Network, family_of, parse_cidr, parse_ip
from kubeproxy.api.change import ref_of
from kubeproxy.api.service import Service, ServicePortSpec, ServiceSpec
from kubeproxy.model.complaint import Complaint, Complaints, Severity
from kubeproxy.model.identity import Family, PortName, Protocol, ServiceName
from kubeproxy.model.serviceport import ServicePort

#: whoever sets it wants another proxy to serve this Service; its value says which, and does not matter here
OTHER_PROXY_LABEL: Final = "service.kubernetes.io/service-proxy-name"
DEFAULT_AFFINITY_SECONDS: Final = 10800
LONGEST_AFFINITY_SECONDS: Final = 86400

_PROTOCOLS: Final = {str(protocol): protocol for protocol in Protocol}
_EXTERNAL_TYPES: Final = frozenset({"LoadBalancer", "NodePort"})
_LAST_PORT: Final = 65535


class ServiceReading(Struct, frozen=True, gc=False):
    """What was made of a Service; empty in a family that it has no cluster IP of."""

    ipv4: tuple[ServicePort, ...] = ()
    ipv6: tuple[ServicePort, ...] = ()
    complaints: tuple[Complaint, ...] = ()

    def of(self, family: Family) -> tuple[ServicePort, ...]:
        return self.ipv4 if family is Family.IPV4 else self.ipv6


class _Reach(Struct, frozen=True, gc=False):
    """Addresses and networks of both families, sorted out once for all ports."""

    external: tuple[tuple[str, str], ...]
    external_served: bool
    load_balancer: tuple[tuple[str, str], ...]
    ranges: tuple[Network, ...]
    restricted: bool


class _Terms(Struct, frozen=True, gc=False):
    """What all ports of a Service have alike, whatever the family."""

    affinity_seconds: int
    internal_local: bool
    external_local: bool
    health_check_port: int
    created: str


def read_service(service: Service, *, allow_external_ips: bool = True) -> ServiceReading:
    """Everything about a Service that decides where its traffic goes."""
    if not is_proxied(service):
        return ServiceReading()
    said = Complaints(ref_of(service))
    reach, terms = _reach(service, allow_external_ips, said), _terms(service, said)
    specs = _usable_ports(service.spec.ports, said)
    ports = {}
    for family in Family:
        cluster_ip = _cluster_ip(service.spec, family, said)
        if cluster_ip:
            like = _like(service, family, cluster_ip, reach, terms, said)
            ports[family] = tuple(_port(like, spec) for spec in specs)
    return ServiceReading(ports.get(Family.IPV4, ()), ports.get(Family.IPV6, ()), said.all())


def is_proxied(service: Service) -> bool:
    """Headless and external-name Services are names in DNS and nothing more."""
    spec = service.spec
    return (
        spec.clusterIP not in ("", "None")
        and spec.type != "ExternalName"
        and OTHER_PROXY_LABEL not in service.metadata.labels
    )


def service_name(service: Service) -> ServiceName:
    return ServiceName(service.metadata.namespace, service.metadata.name)


def _cluster_ip(spec: ServiceSpec, family: Family, said: Complaints) -> str:
    """The cluster IP of a family, "" if there is none: then nothing of the Service exists in it.

    Objects from before dual-stack name no families; then the address itself tells.
    """
    if spec.ipFamilies:
        index = spec.ipFamilies.index(family) if family in spec.ipFamilies else len(spec.clusterIPs)
        field, text = f"spec.clusterIPs[{index}]", "".join(spec.clusterIPs[index : index + 1])
    else:
        address = parse_ip(spec.clusterIP)
        own = Family.IPV4 if address is None else family_of(address)
        field, text = "spec.clusterIP", spec.clusterIP if own == family else ""
    if not text:
        return ""
    address = parse_ip(text)
    if address is None or family_of(address) != family:
        problem = f"not an {family} address, so the Service has no {family}"
        said.add(field, text, problem, "make clusterIPs and ipFamilies agree")
        return ""
    return str(address)


def _reach(service: Service, external_served: bool, said: Complaints) -> _Reach:
    spec = service.spec
    ranges = _ranges(spec.loadBalancerSourceRanges, said)
    external: list[tuple[str, str]] = []
    for index, text in enumerate(spec.externalIPs):
        if text.strip():
            _add_address(external, f"spec.externalIPs[{index}]", text, said)
    balanced: list[tuple[str, str]] = []
    for index, ingress in enumerate(service.status.loadBalancer.ingress):
        if ingress.ip and ingress.ipMode in (None, "VIP"):
            _add_address(balanced, f"status.loadBalancer.ingress[{index}].ip", ingress.ip, said)
    restricted = any(text.strip() for text in spec.loadBalancerSourceRanges)
    return _Reach(tuple(external), external_served, tuple(balanced), ranges, restricted)


def _add_address(to: list[tuple[str, str]], field: str, text: str, said: Complaints) -> None:
    address = parse_ip(text)
    if address is None:
        said.add(field, text, "not an IP address, so it is left out", "write one address, without blanks")
    else:
        to.append((family_of(address), str(address)))


def _ranges(texts: Sequence[str], said: Complaints) -> tuple[Network, ...]:
    networks = []
    for index, text in enumerate(texts):
        stripped = text.strip()
        network = parse_cidr(stripped)
        if network is not None:
            networks.append(network)
        elif stripped:
            field = f"spec.loadBalancerSourceRanges[{index}]"
            said.add(
                field, text, "not a network, so it is left out", "write address/length, such as 10.0.0.0/8"
            )
    return tuple(networks)


def _source_ranges(
    reach: _Reach, family: Family, addresses: tuple[str, ...], said: Complaints
) -> tuple[str, ...]:
    """The networks that may dial the load balancer addresses of a family; empty means everybody.

    A list without one network of this family means everybody too, as it always did: surprising enough to say.
    """
    mine = [network for network in reach.ranges if family_of(network) == family]
    if any(network.prefixlen == 0 for network in mine):
        return ()
    if reach.restricted and not mine and addresses:
        problem = f"no {family} network in it, so everybody may use {', '.join(addresses)}"
        remedy = f"add the {family} networks that may, or one that nobody has"
        said.add("spec.loadBalancerSourceRanges", "", problem, remedy, Severity.WARNING)
    return tuple(dict.fromkeys(map(str, mine)))


def _terms(service: Service, said: Complaints) -> _Terms:
    spec = service.spec
    reachable = spec.type in _EXTERNAL_TYPES or (spec.type == "ClusterIP" and bool(spec.externalIPs))
    external_local = spec.externalTrafficPolicy == "Local" and reachable
    return _Terms(
        affinity_seconds=_affinity(spec, said),
        internal_local=spec.internalTrafficPolicy == "Local",
        external_local=external_local,
        health_check_port=_health_check_port(spec, said) if external_local else 0,
        created=service.metadata.creationTimestamp or "",
    )


def _affinity(spec: ServiceSpec, said: Complaints) -> int:
    if spec.sessionAffinity != "ClientIP":
        return 0
    client_ip = spec.sessionAffinityConfig and spec.sessionAffinityConfig.clientIP
    seconds = client_ip.timeoutSeconds if client_ip else None
    if seconds is None or 0 < seconds <= LONGEST_AFFINITY_SECONDS:
        return seconds or DEFAULT_AFFINITY_SECONDS
    field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
    problem = f"out of range, so {DEFAULT_AFFINITY_SECONDS} is used"
    said.add(field, seconds, problem, f"write 1 to {LONGEST_AFFINITY_SECONDS}")
    return DEFAULT_AFFINITY_SECONDS


def _health_check_port(spec: ServiceSpec, said: Complaints) -> int:
    if spec.type != "LoadBalancer":
        return 0
    if 0 < spec.healthCheckNodePort <= _LAST_PORT:
        return spec.healthCheckNodePort
    problem = (
        "externalTrafficPolicy Local needs a port for health checks, so load balancers cannot ask this node"
    )
    said.add("spec.healthCheckNodePort", spec.healthCheckNodePort, problem, "set it to a free node port")
    return 0


def _usable_ports(specs: Sequence[ServicePortSpec], said: Complaints) -> list[ServicePortSpec]:
    """Ports that make sense; of two with one name and protocol the later counts, as upstream has it."""
    usable: dict[tuple[str, str], ServicePortSpec] = {}
    for index, spec in enumerate(specs):
        field = f"spec.ports[{index}]"
        if spec.protocol not in _PROTOCOLS:
            problem = "not a protocol that is served, so the port is left out"
            said.add(f"{field}.protocol", spec.protocol, problem, f"write {', '.join(_PROTOCOLS)}")
        elif not 0 < spec.port <= _LAST_PORT:
            problem = "not a port number, so the port is left out"
            said.add(f"{field}.port", spec.port, problem, f"write 1 to {_LAST_PORT}")
        else:
            if (spec.name, spec.protocol) in usable:
                problem = f"two {spec.protocol} ports have this name, so only the last of them is served"
                said.add(f"{field}.name", spec.name, problem, "give every port a name of its own")
            usable[spec.name, spec.protocol] = spec
            if not 0 <= spec.nodePort <= _LAST_PORT:
                problem = "not a port number, so there is no node port"
                said.add(f"{field}.nodePort", spec.nodePort, problem, f"write 1 to {_LAST_PORT}")
    return list(usable.values())


def _like(
    service: Service,
    family: Family,
    cluster_ip: str,
    reach: _Reach,
    terms: _Terms,
    said: Complaints,
) -> ServicePort:
    """What every port of this Service looks like in a family, but for what differs by port."""
    external = tuple(dict.fromkeys(text for kind, text in reach.external if kind == family))
    balanced = tuple(dict.fromkeys(text for kind, text in reach.load_balancer if kind == family))
    meta = service.metadata
    return ServicePort(
        name=PortName(sys.intern(meta.namespace), sys.intern(meta.name), "", Protocol.TCP, family),
        cluster_ip=cluster_ip,
        port=0,
        external_ips=external if reach.external_served else (),
        claims_external_ips=bool(external),
        load_balancer_ips=balanced,
        source_ranges=_source_ranges(reach, family, balanced, said),
        affinity_seconds=terms.affinity_seconds,
        internal_local=terms.internal_local,
        external_local=terms.external_local,
        health_check_port=terms.health_check_port,
        created=terms.created,
    )


def _port(like: ServicePort, spec: ServicePortSpec) -> ServicePort:
    name = like.name
    return replace(
        like,
        name=PortName(
            name.namespace, name.service, sys.intern(spec.name), _PROTOCOLS[spec.protocol], name.family
        ),
        port=spec.port,
        node_port=spec.nodePort if 0 <= spec.nodePort <= _LAST_PORT else 0,
    )
