"""How a rule that was given to iptables-restore reads when iptables-save prints it.

The words come back in another order and some in another spelling. A restart compares what the
kernel holds with what it should hold, so both must be put the same way; the spelling here is that of
iptables 1.8.9, and what other versions print differently is brought to it while reading.
"""

import re
from collections.abc import Callable
from typing import Final

_WORD = re.compile(r'"[^"]*"|\S+')
_PLAIN = re.compile(r"[-_0-9A-Za-z]+")

#: the parts of a rule that are printed before every match, in this order
_HEADS = ("-s", "-d", "-i", "-o", "-p")


def words(rule: str) -> list[str]:
    """The words of a rule; a quoted text is one word and keeps its quotes."""
    return _WORD.findall(rule)


def as_saved(rule: str, *, ipv6: bool) -> str:
    """The arguments of one rule (without `-A CHAIN`) as iptables-save prints them."""
    heads: dict[str, str] = {}
    rest: list[str] = []
    pending = words(rule)
    position = 0
    while position < len(pending):
        negated = pending[position] == "!"
        option = pending[position + negated]
        if option in _HEADS:
            value = pending[position + negated + 1]
            heads[option] = f"{'! ' if negated else ''}{option} {_head_value(option, value, ipv6)}"
            position += negated + 2
        else:
            rest.append(pending[position])
            position += 1
    return " ".join([*(heads[option] for option in _HEADS if option in heads), *_matches(rest, ipv6)])


def _head_value(option: str, value: str, ipv6: bool) -> str:
    if option in ("-s", "-d") and "/" not in value:
        return f"{value}/{128 if ipv6 else 32}"
    return value


def _matches(parts: list[str], ipv6: bool) -> list[str]:
    """Everything behind the head: matches in their order, each with its options respelled."""
    spoken: list[str] = []
    position = 0
    while position < len(parts):
        word = parts[position]
        if word == "-m" and parts[position + 1] == "recent":
            end = _next_match(parts, position + 2)
            spoken += ["-m", "recent", *_recent(parts[position + 2 : end], ipv6)]
            position = end
        elif word in _RESPELLED:
            spoken += _RESPELLED[word](parts[position + 1])
            position += 2
        elif parts[position : position + 2] == ["-j", "REJECT"] and position + 2 == len(parts):
            spoken += ["-j", "REJECT", "--reject-with", f"icmp{'6' if ipv6 else ''}-port-unreachable"]
            position += 2
        else:
            spoken.append(word)
            position += 1
    return spoken


def _next_match(parts: list[str], position: int) -> int:
    while position < len(parts) and parts[position] not in ("-m", "-j"):
        position += 1
    return position


def _recent(options: list[str], ipv6: bool) -> list[str]:
    """The list's name goes behind the action, and the defaults are spelled out."""
    at = options.index("--name")
    name = options[at + 1]
    mask = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" if ipv6 else "255.255.255.255"
    return [*options[:at], *options[at + 2 :], "--name", name, "--mask", mask, "--rsource"]


def quoted(text: str) -> str:
    """A comment as it is printed: quoted unless every character is harmless."""
    bare = text.strip('"')
    return bare if _PLAIN.fullmatch(bare) else f'"{bare}"'


def probability(text: str) -> str:
    """A probability as the kernel keeps it: 31 bits, printed with 11 digits."""
    if not text.replace(".", "").isdigit():
        return text
    return f"{round(float(text) * 0x80000000) / 0x80000000:.11f}"


def _short_hex(text: str) -> str:
    return "/".join(f"{int(part, 16):#x}" for part in text.split("/"))


_RESPELLED: Final[dict[str, Callable[[str], list[str]]]] = {
    "--comment": lambda value: ["--comment", quoted(value)],
    "--probability": lambda value: ["--probability", probability(value)],
    "--mark": lambda value: ["--mark", _short_hex(value)],
    "--or-mark": lambda value: ["--set-xmark", f"{_short_hex(value)}/{_short_hex(value)}"],
    "--xor-mark": lambda value: ["--set-xmark", f"{_short_hex(value)}/0x0"],
    "--nfacct-name": lambda value: ["--nfacct-name", "", value],
}
