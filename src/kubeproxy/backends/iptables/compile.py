"""PortRoutes → the rules of one ServicePort.

Every `if` here asks what `routes` decided; nothing is decided again.
"""

from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

from kubeproxy.backends.iptables.names import (
    EXTERNAL_SERVICES,
    NODE_PORTS,
    PROTOCOL_WORD,
    PROXY_FIREWALL,
    SERVICES,
    Kind,
    endpoint_hashes,
    port_hash,
)
from kubeproxy.backends.iptables.phrases import Phrase, Phrases, chance_text
from kubeproxy.backends.iptables.skeleton import FILTER, NAT
from kubeproxy.model.endpoint import Endpoint
from kubeproxy.routes.route import Allowed, Because, FrontendKind, PortRoutes, Route, Source, Verdict


class Shared(IntEnum):
    """Chains that many ServicePorts add rules to."""

    FILTER_SERVICES = 0
    FILTER_EXTERNAL = 1
    FILTER_NODE_PORTS = 2
    FILTER_FIREWALL = 3
    NAT_SERVICES = 4
    NAT_NODE_PORTS = 5

    @property
    def place(self) -> tuple[str, str]:
        return SHARED_PLACES[self]


SHARED_PLACES: tuple[tuple[str, str], ...] = (
    (FILTER, SERVICES),
    (FILTER, EXTERNAL_SERVICES),
    (FILTER, NODE_PORTS),
    (FILTER, PROXY_FIREWALL),
    (NAT, SERVICES),
    (NAT, NODE_PORTS),
)

#: a chain and its rules, without `-A chain`
Chain = tuple[str, list[str]]
SharedRule = tuple[Shared, str]

_REASONS = {Because.NO_ENDPOINTS: "has no endpoints", Because.NO_LOCAL_ENDPOINTS: "has no local endpoints"}


class Names:
    """The chains one ServicePort may use."""

    def __init__(self, routes: PortRoutes) -> None:
        digest = port_hash(routes.name)
        self.cluster = Kind.CLUSTER.value + digest
        self.local = Kind.LOCAL.value + digest
        self.external = Kind.EXTERNAL.value + digest
        self.firewall = Kind.FIREWALL.value + digest


def compile_port(
    routes: PortRoutes, phrases: Phrases, *, large: bool
) -> tuple[list[Chain], list[SharedRule]]:
    """The chains of one ServicePort, and the rules it adds to shared chains, each in their order."""
    names = Names(routes)
    return own_chains(routes, names, phrases, large=large), shared_rules(routes, names, phrases)


def shared_rules(routes: PortRoutes, names: Names, phrases: Phrases) -> list[SharedRule]:
    """One rule for each Frontend: the way to its chain, or what refuses it."""
    port = routes.port
    title, word = str(port.name), PROTOCOL_WORD[port.name.protocol]
    rules: list[SharedRule] = []
    for route in routes.routes:
        if route.frontend.kind is FrontendKind.NODE_PORT:
            rules += _node_port_rules(route, routes, title, word, names, phrases)
        else:
            rules += _address_rules(route, routes, title, word, names, phrases)
    if port.health_check_port:
        rules.append((Shared.FILTER_NODE_PORTS, phrases.accept_health(title, port.health_check_port)))
    return rules


def _address_rules(
    route: Route, routes: PortRoutes, title: str, word: str, names: Names, phrases: Phrases
) -> list[SharedRule]:
    frontend = route.frontend
    inside = frontend.kind is FrontendKind.CLUSTER_IP
    rules: list[SharedRule] = []
    if route.allowed is not None and routes.usable_anywhere:
        rule = phrases.drop_unlisted(title, word, frontend.address, frontend.port, names.firewall)
        rules.append((Shared.FILTER_FIREWALL, rule))
    if route.verdict is not None and route.because is not None:
        refuse = phrases.reject if route.verdict is Verdict.REJECT else phrases.drop
        where = Shared.FILTER_SERVICES if inside else Shared.FILTER_EXTERNAL
        rules.append((where, refuse(title, word, frontend.address, frontend.port, _REASONS[route.because])))
    if (inside and not route.pool) or not routes.usable_anywhere:
        return rules
    if inside:
        target = names.local if routes.port.internal_local else names.cluster
    else:
        target = names.external if route.allowed is None else names.firewall
    rule = phrases.dispatch[frontend.kind](title, word, frontend.address, frontend.port, target)
    rules.append((Shared.NAT_SERVICES, rule))
    return rules


def _node_port_rules(
    route: Route, routes: PortRoutes, title: str, word: str, names: Names, phrases: Phrases
) -> list[SharedRule]:
    port = route.frontend.port
    rules: list[SharedRule] = []
    if route.verdict is not None and route.because is not None:
        refuse = phrases.reject_node_port if route.verdict is Verdict.REJECT else phrases.drop_node_port
        rules.append((Shared.FILTER_EXTERNAL, refuse(title, word, port, _REASONS[route.because])))
    if routes.usable_anywhere:
        ways = [phrases.dispatch_node_port]
        if phrases.dialect.counts_loopback:
            ways.insert(0, phrases.dispatch_loopback)
        rules += [(Shared.NAT_NODE_PORTS, way(title, word, port, names.external)) for way in ways]
    return rules


class Size(Struct, frozen=True, gc=False):
    """How many chains and rules of its own a ServicePort has."""

    chains: int = 0
    rules: int = 0


def own_size(routes: PortRoutes) -> Size:
    """The size of `own_chains`, counted: to make the text takes thirty times as long."""
    if not routes.usable_anywhere:
        return Size()
    pools = [members for members in (routes.cluster, routes.local) if members]
    chains = len(pools) + len(routes.reachable)
    # An endpoint is chosen by one rule, remembered by another where clients stay, and has two of its own.
    rules = sum(map(len, pools)) * (2 if routes.port.affinity_seconds else 1) + 2 * len(routes.reachable)
    inside = routes.route(FrontendKind.CLUSTER_IP)
    rules += inside is not None and bool(inside.pool) and bool(inside.masquerade)
    outside = _external_route(routes)
    if outside is not None:
        chains += 1
        rules += (outside.masquerade is Source.ALL) + bool(outside.pool)
        rules += bool(outside.shortcut & Source.POD) + 2 * bool(outside.shortcut & Source.HOST)
    allowed = _allowed(routes)
    if allowed is not None:
        chains += 1
        rules += len(allowed.ranges) + len(allowed.own_addresses) + 1
    return Size(chains, rules)


def chain_names(routes: PortRoutes) -> list[str]:
    """The names of `own_chains`, in their order, without the rules."""
    if not routes.usable_anywhere:
        return []
    names = Names(routes)
    there = (
        (names.external, _external_route(routes) is not None),
        (names.firewall, _allowed(routes) is not None),
        (names.cluster, bool(routes.cluster)),
        (names.local, bool(routes.local)),
    )
    prefix = Kind.ENDPOINT.value
    hashes = endpoint_hashes(routes.name, [str(endpoint) for endpoint in routes.reachable])
    return [*(name for name, is_there in there if is_there), *[prefix + letters for letters in hashes]]


def own_chains(routes: PortRoutes, names: Names, phrases: Phrases, *, large: bool) -> list[Chain]:
    """EXT, FW, SVC, SVL, then one chain for each endpoint: the order in which they are declared."""
    if not routes.usable_anywhere:
        return []
    cluster: Chain = (names.cluster, [])
    local: Chain = (names.local, [])
    external, firewall = _external_chain(routes, names, phrases), _firewall_chain(routes, names, phrases)
    inner = local if routes.port.internal_local else cluster
    inner[1].extend(_cluster_ip_masquerade(routes, phrases))
    endpoints = _Endpoints(routes, phrases, large=large)
    chains = [chain for chain in (external, firewall) if chain is not None]
    for chain, members in ((cluster, routes.cluster), (local, routes.local)):
        if members:
            endpoints.balance(chain[1], members)
            chains.append(chain)
    chains.extend(endpoints.chains())
    return chains


def _cluster_ip_masquerade(routes: PortRoutes, phrases: Phrases) -> list[str]:
    route = routes.route(FrontendKind.CLUSTER_IP)
    if route is None or not route.pool or not route.masquerade:
        return []
    mark = phrases.mark_all if route.masquerade is Source.ALL else phrases.mark_outsiders
    name, frontend = routes.name, route.frontend
    return [mark(str(name), PROTOCOL_WORD[name.protocol], frontend.address, frontend.port)]


def _external_route(routes: PortRoutes) -> Route | None:
    """Any route from outside: all of them share one chain, as they differ in their address alone."""
    inside = FrontendKind.CLUSTER_IP
    return next((route for route in routes.routes if route.frontend.kind is not inside), None)


def _external_chain(routes: PortRoutes, names: Names, phrases: Phrases) -> Chain | None:
    route = _external_route(routes)
    if route is None:
        return None
    title = str(routes.name)
    rules = []
    if route.masquerade is Source.ALL:
        rules.append(phrases.mark_external(title))
    if route.shortcut & Source.POD:
        rules.append(phrases.pods_inside(title, names.cluster))
    if route.shortcut & Source.HOST:
        rules.append(phrases.mark_host(title))
        rules.append(phrases.host_inside(title, names.cluster))
    if route.pool:
        rules.append(phrases.go(names.local if routes.port.external_local else names.cluster))
    return names.external, rules


def _allowed(routes: PortRoutes) -> Allowed | None:
    """Who may come through the load balancer, where not everybody may."""
    route = routes.route(FrontendKind.LOAD_BALANCER)
    return None if route is None else route.allowed


def _firewall_chain(routes: PortRoutes, names: Names, phrases: Phrases) -> Chain | None:
    allowed = _allowed(routes)
    if allowed is None:
        return None
    title, target = str(routes.name), names.external
    rules = [phrases.allow(title, *network.split("/"), target) for network in allowed.ranges]
    rules += [phrases.allow_address(title, address, target) for address in allowed.own_addresses]
    return names.firewall, [*rules, phrases.rest_is_dropped(title)]


class _Endpoints:
    """The chains of a ServicePort's endpoints, and the rules that choose among them."""

    def __init__(self, routes: PortRoutes, phrases: Phrases, *, large: bool) -> None:
        name = routes.name
        self.title, self.word = str(name), PROTOCOL_WORD[name.protocol]
        self.addresses = [endpoint.address for endpoint in routes.reachable]
        self.texts = [str(endpoint) for endpoint in routes.reachable]
        prefix = Kind.ENDPOINT.value
        self.names = [prefix + digest for digest in endpoint_hashes(name, self.texts)]
        self.by_text = dict(zip(self.texts, self.names, strict=True))
        self.sticky = routes.port.affinity_seconds
        self.saved = phrases.saved
        self.say = phrases.bare if large else phrases.commented

    def balance(self, rules: list[str], members: Sequence[Endpoint]) -> None:
        """The endpoint a client had before, else each with the same chance."""
        texts = [str(member) for member in members] if len(members) != len(self.texts) else self.texts
        title, by_text, say = self.title, self.by_text, self.say
        if self.sticky:
            rules.extend([say.remember(title, text, by_text[text], self.sticky) for text in texts])
        chance: Phrase = say.chance
        left = len(texts)
        for text in texts[:-1]:
            rules.append(chance(title, text, by_text[text], chance_text(left, saved=self.saved)))
            left -= 1
        rules.append(say.last(title, texts[-1], by_text[texts[-1]]))

    def chains(self) -> list[Chain]:
        """A client that is the endpoint itself is masqueraded, or the answer would not come back this way."""
        title, word, hairpin = self.title, self.word, self.say.hairpin
        members = zip(self.names, self.addresses, self.texts, strict=True)
        if self.sticky:
            keep = self.say.rewrite_sticky
            return [(name, [hairpin(title, ip), keep(title, word, text, name)]) for name, ip, text in members]
        rewrite = self.say.rewrite
        return [(name, [hairpin(title, ip), rewrite(title, word, text)]) for name, ip, text in members]
