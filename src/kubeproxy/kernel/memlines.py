"""The lines of a restore payload as the in-memory kernel understands them."""

import re
from typing import Final

from msgspec import Struct

from kubeproxy.kernel.refusals import Cause, Refused
from kubeproxy.wire.iptables import parse_rule
from kubeproxy.wire.iptsave import as_saved
from kubeproxy.wire.netlink import WireError

DECLARE: Final = ":"


class SavedRule(Struct, frozen=True, gc=False):
    """A rule as it is printed, the target it names, and the counters it needs."""

    text: str
    target: str = ""
    counters: tuple[str, ...] = ()


class Line(Struct, frozen=True):
    """One command; `place` counts from 1, and 0 is none."""

    command: str
    chain: str
    rule: SavedRule | None = None
    place: int = 0
    policy: str = ""
    packets: str = "[0:0]"


_LONGEST_NAME: Final = 28
_COMMANDS: Final = ("-A", "-I", "-D", "-N", "-X", "-F", "-P")
_WITH_RULE: Final = ("-A", "-I", "-D")
_COUNTED: Final = re.compile(r"\[\d+:\d+\] +")
_PACKETS: Final = re.compile(r"\[\d+:\d+\]")
_MATCHES: Final = frozenset(
    {"tcp", "udp", "sctp", "icmp", "icmp6", "comment", "conntrack", "state", "mark", "connmark", "addrtype"}
    | {"nfacct", "statistic", "recent", "multiport", "limit", "set", "physdev", "owner", "iprange", "mac"}
)
_INHIBITED: Final = 'The "nat" table is not intended for filtering, the use of DROP is therefore inhibited.'


def read_line(text: str, table: str, *, ipv6: bool) -> Line:
    """The command of a line, or Refused when it cannot be understood."""
    if text.startswith(DECLARE):
        return _declaration(text)
    text = _COUNTED.sub("", text, count=1)
    command, _, rest = text.partition(" ")
    if command not in _COMMANDS:
        raise _syntax(
            f'unknown option "{command}"' if command.startswith("-") else f"Bad argument `{command}'"
        )
    chain, _, rest = rest.strip().partition(" ")
    if not chain and command != "-F":
        raise _syntax(f'option "{command}" requires an argument')
    if command == "-P":
        return Line(command, chain, policy=rest.strip())
    if command not in _WITH_RULE:
        return Line(command, _named(chain))
    place, rest = _place(rest.strip()) if command != "-A" else (0, rest.strip())
    if command == "-D" and place and not rest:
        return Line(command, chain, place=place)
    return Line(command, chain, _rule(chain, rest, table, ipv6), place)


def _declaration(text: str) -> Line:
    name, *rest = text[1:].split()
    if not rest:
        raise _syntax("policy invalid")
    packets = rest[1] if len(rest) > 1 else "[0:0]"
    if not _PACKETS.fullmatch(packets):
        raise _syntax("invalid policy counters for chain")
    return Line(DECLARE, _named(name), policy=rest[0], packets=packets)


def _named(chain: str) -> str:
    if len(chain) > _LONGEST_NAME:
        raise _syntax(f"chain name `{chain}' too long (must be under {_LONGEST_NAME + 1} chars)")
    return chain


def _place(rest: str) -> tuple[int, str]:
    number, _, behind = rest.partition(" ")
    if not number.isdigit():
        return 0, rest
    if number == "0":
        raise _syntax("Invalid rule number `0'")
    return int(number), behind.strip()


def _rule(chain: str, words: str, table: str, ipv6: bool) -> SavedRule:
    try:
        rule = parse_rule(f"-A {chain} {words}")
    except WireError as error:
        raise _syntax(error.problem) from None
    counters = []
    for match in rule.matches:
        if match.module and match.module not in _MATCHES:
            raise _syntax(f"Couldn't load match `{match.module}':No such file or directory")
        if match.option == "--nfacct-name":
            counters.append(match.value)
    target = rule.target.name if rule.target else ""
    if table == "nat" and target == "DROP":
        raise _syntax(_INHIBITED)
    return SavedRule(as_saved(words, ipv6=ipv6), target, tuple(counters))


def _syntax(why: str) -> Refused:
    return Refused(Cause.SYNTAX, why=why)
