"""What the conditions of a rule ask of a flow: one small function each, found by the name of the match."""

from collections.abc import Callable, Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from msgspec import Struct

from kubeproxy.packets.packet import Packet
from kubeproxy.routes.nodeview import NodeView, within
from kubeproxy.wire.iptables import Match, Rule

#: how much of the flows a condition holds for: none, all, or what the dice say
Share: TypeAlias = Fraction | int


class Fate(Enum):
    """What the rules of a hook have decided about a flow."""

    GOING = "goes on"
    ACCEPTED = "accepted"
    DROPPED = "dropped"
    REJECTED = "rejected"


class Flow(Struct, frozen=True):
    """The packet on one of its possible ways, and how often it takes that one."""

    destination: str
    port: int
    interface: str
    share: Fraction = Fraction(1)
    mark: int = 0
    translated: bool = False
    masqueraded: bool = False
    fate: Fate = Fate.GOING


class Moment(Struct):
    """A flow in front of a rule."""

    packet: Packet
    node: NodeView
    flow: Flow
    rule: Rule
    #: by the name of a list of senders: the endpoints it stands for
    lists: Callable[[], Mapping[str, set[str]]]


Test: TypeAlias = Callable[[str, Moment], Share]


def condition(match: Match) -> Test | None:
    """The question of a match; None where nobody here understands it."""
    return _TESTS.get((match.module, match.option))


def _always(_: str, __: Moment) -> Share:
    return 1


_within = lru_cache(maxsize=65536)(within)


def _from(network: str, moment: Moment) -> Share:
    return _within(moment.packet.source, network)


def _to(network: str, moment: Moment) -> Share:
    return _within(moment.flow.destination, network)


def _protocol(name: str, moment: Moment) -> Share:
    return moment.packet.protocol.lower() == name


def _came_in(name: str, moment: Moment) -> Share:
    """A name that ends in + is a prefix; what this node made came in nowhere, which no name matches."""
    interface = moment.flow.interface
    return interface != "" and (interface.startswith(name[:-1]) if name.endswith("+") else interface == name)


def _port(ports: str, moment: Moment) -> Share:
    first, _, last = ports.partition(":")
    return int(first) <= moment.flow.port <= int(last or first)


def _state(states: str, moment: Moment) -> Share:
    """Every packet with a story is the first of its flow."""
    return "NEW" in (said := states.split(",")) or (moment.flow.translated and "DNAT" in said)


def _mark(wanted: str, moment: Moment) -> Share:
    value, mask = (int(part, 16) for part in wanted.split("/"))
    return moment.flow.mark & mask == value


def _to_type(types: str, moment: Moment) -> Share:
    return _type(moment.flow.destination, moment.node) in types.split(",")


def _from_type(types: str, moment: Moment) -> Share:
    return _type(moment.packet.source, moment.node) in types.split(",")


def _type(address: str, node: NodeView) -> str:
    """The kinds of address told apart here; broadcast needs routes that nobody knows."""
    if node.is_local(address):
        return "LOCAL"
    return "MULTICAST" if within(address, "ff00::/8" if ":" in address else "224.0.0.0/4") else "UNICAST"


def _mode(mode: str, _: Moment) -> Share:
    return mode == "random"


def _probability(count: str, _: Moment) -> Share:
    return _fraction(int(count))


@lru_cache(maxsize=1024)
def _fraction(count: int) -> Fraction:
    """The share its author meant: the kernel keeps 31 bits, in which 1/3 has no exact place."""
    parts = round((1 << 31) / count) if count else 0
    meant = Fraction(1, parts) if parts else Fraction(0)
    return meant if round(meant * (1 << 31)) == count else Fraction(count, 1 << 31)


def _remembered(_: str, moment: Moment) -> Share:
    """Whether the list a rule names holds the sender."""
    names = (match.value for match in moment.rule.matches if match.option == "--name")
    known = moment.packet.remembers
    return known != "" and any(known in moment.lists().get(name, ()) for name in names)


_TESTS: Final[dict[tuple[str, str], Test]] = {
    ("", "-s"): _from,
    ("", "-d"): _to,
    ("", "-p"): _protocol,
    ("", "-i"): _came_in,
    ("tcp", "--dport"): _port,
    ("udp", "--dport"): _port,
    ("sctp", "--dport"): _port,
    ("comment", "--comment"): _always,
    ("conntrack", "--ctstate"): _state,
    ("state", "--state"): _state,
    ("mark", "--mark"): _mark,
    ("addrtype", "--dst-type"): _to_type,
    ("addrtype", "--src-type"): _from_type,
    ("nfacct", "--nfacct-name"): _always,
    ("statistic", "--mode"): _mode,
    ("statistic", "--probability"): _probability,
    ("recent", "--name"): _always,
    ("recent", "--set"): _always,
    ("recent", "--rcheck"): _remembered,
    ("recent", "--update"): _remembered,
    ("recent", "--seconds"): _always,
    ("recent", "--reap"): _always,
}
