"""The Plan that removes every trace of us, and nothing of anybody else's."""

from collections.abc import Callable, Iterator

from kubeproxy.backends.contract import Plan, Step
from kubeproxy.backends.iptables.names import (
    CANARY,
    EXTERNAL_SERVICES,
    FORWARD,
    MARK_MASQ,
    NODE_PORTS,
    POSTROUTING,
    PROXY_FIREWALL,
    SERVICES,
    is_service_chain,
)
from kubeproxy.backends.iptables.skeleton import FILTER, JUMPS, MANGLE, NAT, SHARED_WITH_KUBELET
from kubeproxy.backends.iptables.text import Payload, Piece
from kubeproxy.wire.iptsave import as_saved
from kubeproxy.wire.restore import Restore, SavedTables

#: in the order in which they go, service chains follow in nat
OURS: dict[str, tuple[str, ...]] = {
    NAT: (SERVICES, NODE_PORTS, POSTROUTING, MARK_MASQ, CANARY),
    FILTER: (SERVICES, EXTERNAL_SERVICES, FORWARD, NODE_PORTS, PROXY_FIREWALL, CANARY),
    MANGLE: (CANARY,),
}


def cleanup(saved: SavedTables, *, ipv6: bool) -> Plan:
    """First the ways in, then what is in the chains, then the chains themselves.

    In steps, because somebody's rule may lead into one of our chains, and such a chain cannot go: that must
    not keep anything else. What was emptied does nothing any more.
    """
    return Plan(_steps(saved, ipv6))


def _steps(saved: SavedTables, ipv6: bool) -> Iterator[Step]:
    for table in (NAT, FILTER, MANGLE):
        chains = _chains(saved, table)
        emptied = [f":{chain} - [0:0]" for chain in chains]
        gone = [*emptied, *(f"-X {chain}" for chain in chains)]
        for lines in ([*_jumps(saved, table, ipv6), *emptied], gone):
            if lines:
                yield Step((Restore(ipv6, Payload(_text(table, lines)), table=table),))


def one_by_one(saved: SavedTables, *, ipv6: bool) -> Plan:
    """Delete each chain in a step of its own, where all at once was refused; what leads into others first."""
    return Plan(
        Step((Restore(ipv6, Payload(_text(table, [f":{chain} - [0:0]", f"-X {chain}"])), table=table),))
        for table in (NAT, FILTER, MANGLE)
        for chain in _chains(saved, table)
    )


def _text(table: str, lines: list[str]) -> Callable[[], Iterator[Piece]]:
    text = "".join(f"{line}\n" for line in (f"*{table}", *lines, "COMMIT"))
    return lambda: iter([(None, text)])


def _jumps(saved: SavedTables, table: str, ipv6: bool) -> Iterator[str]:
    """Every jump into our chains, as often as it stands there; the two that the kubelet has as well stay."""
    for jump in JUMPS:
        place, chain, rule = jump
        if place != table or jump in SHARED_WITH_KUBELET:
            continue
        line = f"-A {chain} {as_saved(rule, ipv6=ipv6)}".encode()
        for found in saved.builtin.get((table, chain), ()):
            if found == line:
                yield f"-D {chain} {rule}"


def _chains(saved: SavedTables, table: str) -> list[str]:
    there = [chain for chain in OURS[table] if (table, chain) in saved.chains]
    if table == NAT:
        there += [chain for place, chain in saved.chains if place == NAT and is_service_chain(chain)]
    return there


def ours_left(saved: SavedTables) -> list[tuple[str, str]]:
    """Chains that should be gone."""
    return [(table, chain) for table in (NAT, FILTER, MANGLE) for chain in _chains(saved, table)]
