"""Which Services lack a cluster IP, and the addresses and families each of them gets."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Final

from msgspec.structs import replace

from kubeproxy.api.addresses import Network, family_of, parse_ip
from kubeproxy.api.meta import Ref
from kubeproxy.api.service import Service, ServiceSpec
from kubeproxy.sources.allocate import Given, Numbered, Pool, assign, claimant, pool
from kubeproxy.sources.rules import FAMILIES

_STATIC: Final = (16, 256)


def cluster_ips(
    services: Mapping[Ref, Service], written: Iterable[Service], networks: Sequence[Network]
) -> dict[Ref, Numbered]:
    """Those Services that lacked an address. `written` are all whose own addresses nobody else may get."""
    lacking = {ref: service for ref, service in services.items() if _lacks(service.spec)}
    if not lacking:
        return {}
    available = tuple(dict.fromkeys(family_of(network) for network in networks))
    families = {ref: _families(service.spec, available) for ref, service in lacking.items()}
    texts = tuple(text for service in written for text in service.spec.clusterIPs)
    found: dict[str, dict[str, int | None]] = {}
    for family in FAMILIES:
        asking = [claimant(r) for r, s in lacking.items() if family in families[r][len(s.spec.clusterIPs) :]]
        if asking:
            found[family] = assign(asking, _taken(texts, family), _pool(networks, family))
    return {ref: _addressed(ref, service, families[ref], networks, found) for ref, service in lacking.items()}


def _lacks(spec: ServiceSpec) -> bool:
    """All that is proxied has one address a family; those written in full need no second look."""
    if spec.type == "ExternalName" or spec.clusterIP == "None":
        return False
    complete = 0 < len(spec.ipFamilies) == len(spec.clusterIPs)
    return not complete or (len(spec.clusterIPs) == 1 and spec.ipFamilyPolicy not in (None, "SingleStack"))


def _families(spec: ServiceSpec, available: Sequence[str]) -> tuple[str, ...]:
    """The families a Service shall have: those written down, else the primary one, and two if it asks so."""
    wanted = spec.ipFamilies or available[:1]
    if spec.ipFamilyPolicy in ("PreferDualStack", "RequireDualStack"):
        wanted = (*wanted, *(family for family in (*available, *FAMILIES) if family not in wanted))[:2]
    if spec.ipFamilyPolicy == "PreferDualStack":
        given = len(spec.clusterIPs)
        wanted = (*wanted[:given], *(family for family in wanted[given:] if family in available))
    return tuple(dict.fromkeys(wanted))


def _addressed(
    ref: Ref,
    service: Service,
    families: tuple[str, ...],
    networks: Sequence[Network],
    found: Mapping[str, Mapping[str, int | None]],
) -> Numbered:
    ips, given = list(service.spec.clusterIPs), []
    for index in range(len(ips), len(families)):
        family = families[index]
        origin = ", ".join(str(network) for network in networks if family_of(network) == family)
        value = found[family][claimant(ref)]
        field = "spec.clusterIP" if index == 0 else f"spec.clusterIPs[{index}]"
        if value is None:
            return Numbered(service, (), (Given(field, "", origin, family),))
        ips.append(str(ip_address(value.to_bytes(4 if family == "IPv4" else 16, "big"))))
        given.append(Given(field, ips[-1], origin))
    if not ips:
        return Numbered(service, (), (Given("spec.clusterIP", "", ""),))
    policy = service.spec.ipFamilyPolicy or ("SingleStack" if len(ips) == 1 else "RequireDualStack")
    spec = replace(
        service.spec, clusterIP=ips[0], clusterIPs=tuple(ips), ipFamilies=families, ipFamilyPolicy=policy
    )
    return Numbered(replace(service, spec=spec), tuple(given))


def _taken(texts: Iterable[str], family: str) -> set[int]:
    found = (address for text in texts if (address := parse_ip(text)) is not None)
    return {int(address) for address in found if family_of(address) == family}


def _pool(networks: Sequence[Network], family: str) -> Pool:
    """All addresses but the network's own and, in IPv4, the broadcast address."""
    reserved = 2 if family == "IPv4" else 1
    return pool(
        (
            (int(network.network_address) + 1, network.num_addresses - reserved)
            for network in networks
            if family_of(network) == family and network.num_addresses > reserved
        ),
        *_STATIC,
    )
