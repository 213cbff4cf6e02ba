"""What stands before the first Service: fixed chains, and the jumps that lead into ours."""

from collections.abc import Iterator

from kubeproxy.backends.iptables.dialect import Dialect
from kubeproxy.backends.iptables.names import (
    CANARY,
    EXTERNAL_SERVICES,
    FIREWALL,
    FORWARD,
    MARK_MASQ,
    NODE_PORTS,
    POSTROUTING,
    PROXY_FIREWALL,
    SERVICES,
)
from kubeproxy.backends.iptables.phrases import drop_invalid_words

FILTER, NAT, MANGLE = "filter", "nat", "mangle"

_NEW = "-m conntrack --ctstate NEW "


def _jump(comment: str, target: str, condition: str = "") -> str:
    return f'{condition}-m comment --comment "{comment}" -j {target}'


_OUTSIDE = _jump("kubernetes externally-visible service portals", EXTERNAL_SERVICES, _NEW)
_PORTALS = _jump("kubernetes service portals", SERVICES, _NEW)
_GUARD = _jump("kubernetes load balancer firewall", PROXY_FIREWALL, _NEW)
_NAT_PORTALS = _jump("kubernetes service portals", SERVICES)

#: table, built-in chain, rule; in the order of insertion, each goes before those already there
JUMPS: tuple[tuple[str, str, str], ...] = (
    (FILTER, "INPUT", _OUTSIDE),
    (FILTER, "FORWARD", _OUTSIDE),
    (FILTER, "INPUT", _jump("kubernetes health check service ports", NODE_PORTS)),
    (FILTER, "FORWARD", _PORTALS),
    (FILTER, "OUTPUT", _PORTALS),
    (FILTER, "FORWARD", _jump("kubernetes forwarding rules", FORWARD)),
    (FILTER, "INPUT", _GUARD),
    (FILTER, "OUTPUT", _GUARD),
    (FILTER, "FORWARD", _GUARD),
    (NAT, "OUTPUT", _NAT_PORTALS),
    (NAT, "PREROUTING", _NAT_PORTALS),
    (NAT, "POSTROUTING", _jump("kubernetes postrouting rules", POSTROUTING)),
    (FILTER, "INPUT", f"-j {FIREWALL}"),
    (FILTER, "OUTPUT", f"-j {FIREWALL}"),
)

#: the kubelet has these two as well, so cleaning up leaves them
SHARED_WITH_KUBELET = JUMPS[-2:]

#: chains we fill and hook, in the order in which they are declared
FIXED_CHAINS: tuple[tuple[str, str], ...] = (
    (FILTER, SERVICES),
    (FILTER, EXTERNAL_SERVICES),
    (FILTER, FORWARD),
    (FILTER, NODE_PORTS),
    (FILTER, PROXY_FIREWALL),
    (FILTER, FIREWALL),
    (NAT, SERVICES),
    (NAT, NODE_PORTS),
    (NAT, POSTROUTING),
    (NAT, MARK_MASQ),
)

_LAST_RULE = "kubernetes service nodeports; NOTE: this must be the last rule in this chain"


#: the rule against spoofed loopback traffic, in the chain shared with the kubelet
MARTIANS = (
    '-m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 '
    "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP"
)


def bare_chains(dialect: Dialect) -> tuple[tuple[str, str], ...]:
    """Chains that must exist, but whose content is not ours to say."""
    canaries = ((MANGLE, CANARY), (FILTER, CANARY), (NAT, CANARY))
    return canaries if dialect.guards_loopback else (*canaries, (FILTER, FIREWALL))


def fixed_rules(dialect: Dialect) -> dict[tuple[str, str], tuple[str, ...]]:
    """The rules of the chains that no Service adds to."""
    mark = dialect.mark_text
    randomly = " --random-fully" if dialect.facts.random_fully else ""
    forward = [
        f'-m comment --comment "kubernetes forwarding rules" -m mark --mark {mark}/{mark} -j ACCEPT',
        (
            '-m comment --comment "kubernetes forwarding conntrack rule" '
            "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"
        ),
    ]
    if not dialect.facts.liberal:
        forward.insert(0, drop_invalid_words(dialect))
    guarded = {(FILTER, FIREWALL): (MARTIANS,)} if dialect.guards_loopback else {}
    return {
        **guarded,
        (FILTER, FORWARD): tuple(forward),
        (NAT, POSTROUTING): (
            f"-m mark ! --mark {mark}/{mark} -j RETURN",
            # Clearing the bit keeps a packet that passes the stack again from being masqueraded twice.
            f"-j MARK --xor-mark {mark}",
            f'-m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE{randomly}',
        ),
        (NAT, MARK_MASQ): (f"-j MARK --or-mark {mark}",),
    }


def tail(dialect: Dialect) -> Iterator[str]:
    """The last rules of nat's dispatch chain: what leads to the node ports."""
    head = f'-m comment --comment "{_LAST_RULE}" '
    if not dialect.match_all_node_ports:
        yield from (f"{head}-d {address} -j {NODE_PORTS}" for address in dialect.node_port_addresses)
    elif dialect.ipv6:
        yield f"{head}-m addrtype --dst-type LOCAL ! -d ::1/128 -j {NODE_PORTS}"
    elif dialect.loopback_node_ports:
        yield f"{head}-m addrtype --dst-type LOCAL -j {NODE_PORTS}"
    else:
        yield f"{head}-m addrtype --dst-type LOCAL ! -d 127.0.0.0/8 -j {NODE_PORTS}"
