"""Rules ↔ save and restore text.

One rule has many spellings: what is given to iptables-restore comes back from iptables-save with its words in
another order and its numbers in another dress, and each version of the programs has its own taste. Reading
reduces all of them to one value, so that two rules are equal exactly when the kernel treats them alike. What
is not known here (other people's matches) is kept word by word.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_network
from typing import Final

from msgspec import Struct

from kubeproxy.wire.netlink import WireError


class Match(Struct, frozen=True, order=True, gc=False):
    """One condition of a rule; what a rule says before any module has the module ""."""

    module: str
    #: "" for a foreign module, whose words are all in the value
    option: str
    value: str = ""
    negated: bool = False

    def __str__(self) -> str:
        if self.foreign:
            return self.value
        value = _PRINTED.get(self.option, _quoted)(self.value) if self.value or self.takes_value else ""
        return f"{'! ' if self.negated else ''}{self.option} {value}".rstrip()

    @property
    def takes_value(self) -> bool:
        return self.module == "" or _OPTIONS[self.module][self.option] is not None

    @property
    def foreign(self) -> bool:
        """Nobody here knows what it means."""
        return self.option == ""


class Target(Struct, frozen=True, gc=False):
    """What happens to a packet that a rule matches: a verdict, a change, or another chain."""

    name: str
    options: tuple[str, ...] = ()
    goto: bool = False

    def __str__(self) -> str:
        return " ".join(("-g" if self.goto else "-j", *map(_quoted, (self.name, *self.options))))


class Rule(Struct, frozen=True, gc=False):
    """One rule; its matches are sorted, because all of them must hold in whatever order they were said."""

    chain: str
    matches: tuple[Match, ...] = ()
    target: Target | None = None

    @property
    def comment(self) -> str:
        return next((match.value for match in self.matches if match.module == "comment"), "")

    def __str__(self) -> str:
        parts = ["-A", _quoted(self.chain), *_match_words(self.matches)]
        return " ".join([*parts, str(self.target)] if self.target else parts)


def parse_rule(line: str) -> Rule:
    """The rule of one `-A` line, whichever program and version spelled it."""
    words = split_words(line)
    if len(words) < 2 or words[0] not in ("-A", "--append"):
        raise bad(line, "a rule starts with -A and the name of a chain")
    return rule_from(words[1], words[2:], line)


def split_words(line: str) -> list[str]:
    """The words of a line; quotes hold a word together and a backslash in them keeps the next character."""
    if '"' not in line:
        return line.split()
    if _WORD.sub("", line).strip():
        raise bad(line, "a quote is not closed")
    return [_unquoted(word) if '"' in word else word for word in _WORD.findall(line)]


def rule_from(chain: str, words: list[str], line: str) -> Rule:
    """The rule said by the words behind the name of its chain."""
    matches: list[Match] = []
    foreign: dict[int, list[str]] = {}
    modules: list[str] = []
    target: Target | None = None
    rest = iter(words)
    negated = False
    for word in rest:
        if word == "!":
            negated = True
            continue
        option = _SYNONYMS.get(word, word)
        if option in ("-j", "-g"):
            target = _target(_value(rest, word, line), tuple(rest), option == "-g", line)
        elif option == "-m":
            modules.append(_value(rest, word, line) or _nameless(line))
        elif option in _HEADS:
            matches += _head(option, _value(rest, word, line), negated, line)
        elif (module := _owner(option, modules, matches)) is not None:
            matches += _known(module, option, negated, rest, line)
        elif modules:
            foreign.setdefault(len(modules) - 1, []).extend(["!", word] if negated else [word])
        else:
            raise bad(line, f"{word!r} belongs to no match")
        negated = False
    matches += _opaque(modules, foreign)
    return Rule(chain, tuple(sorted(matches)), target)


def _head(option: str, value: str, negated: bool, line: str) -> list[Match]:
    """What a rule says of addresses, interfaces and protocol; nothing where everything is meant."""
    try:
        spelled = _HEADS[option](value)
    except ValueError:
        raise bad(line, f"the value {value!r} of {option} cannot be read") from None
    return [] if spelled in _EVERYTHING and not negated else [Match("", option, spelled, negated)]


def _owner(option: str, modules: list[str], matches: list[Match]) -> str | None:
    """Whose option it is: the latest module's that has it, or the protocol's, which needs no -m.

    A foreign module claims all that follows it, because its options may be called like ours.
    """
    if modules and modules[-1] not in _OPTIONS:
        return None
    for module in reversed(modules):
        if option in _OPTIONS[module]:
            return module
    protocol = next((match.value for match in matches if match.option == "-p"), "")
    return protocol if option in _OPTIONS.get(protocol, ()) else None


def _known(module: str, option: str, negated: bool, rest: Iterator[str], line: str) -> list[Match]:
    """A condition in the one spelling; none if it only says what holds anyway."""
    spell = _OPTIONS[module][option]
    try:
        value = spell(_value(rest, option, line)) if spell else ""
    except ValueError:
        raise bad(line, f"{option} has a value that cannot be read") from None
    match = Match(module, option, value, negated)
    return [] if (option, value) in _DEFAULTS else [match]


def _opaque(modules: list[str], foreign: dict[int, list[str]]) -> Iterator[Match]:
    """Modules nobody here knows; and known ones with words nobody here knows."""
    for place, module in enumerate(modules):
        if place in foreign or module not in _OPTIONS:
            yield Match(module, "", " ".join(map(_quoted, foreign.get(place, []))))


def _value(rest: Iterator[str], option: str, line: str) -> str:
    value = next(rest, None)
    if value is None:
        raise bad(line, f"{option} needs a value")
    return value


def _target(name: str, options: tuple[str, ...], goto: bool, line: str) -> Target:
    """A target in the one spelling: marks as value and mask, defaults left out."""
    if name == "MARK" and len(options) == 2 and options[0] in _MARKS:
        try:
            return Target(name, ("--set-xmark", _MARKS[options[0]](options[1])), goto)
        except ValueError:
            raise bad(line, f"the mark {options[1]!r} is no number") from None
    if options in _DEFAULT_OPTIONS:
        options = ()
    return Target(name, options, goto)


def _match_words(matches: Iterable[Match]) -> Iterator[str]:
    """Conditions of one module share its -m: recent, named twice, would be asked twice."""
    module, said = "", set[str]()
    for match in matches:
        if match.module != module or match.foreign or match.option in said:
            module, said = match.module, set()
            yield from ("-m", _quoted(module)) if module else ()
        said.add(match.option)
        yield from (str(match),) if match.value or match.option else ()


def _nameless(line: str) -> str:
    raise bad(line, "a match without a name")


def bad(line: str, problem: str) -> WireError:
    """An error that names the line."""
    return WireError(repr(line), problem)


def _unquoted(word: str) -> str:
    """Without its quotes, and with what a backslash kept."""
    return "".join(_ESCAPE.sub(r"\1", inside) if inside else plain for inside, plain in _PARTS.findall(word))


def _quoted(word: str) -> str:
    if word and _PLAIN.fullmatch(word):
        return word
    escaped = _SPECIAL.sub(r"\\\g<0>", word)
    return f'"{escaped}"'


_WORD: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s"])+')
_PARTS: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^"]+)')
_ESCAPE: Final = re.compile(r"\\(.)")
_SPECIAL: Final = re.compile(r'["\\]')
_PLAIN: Final = re.compile(r"[^\s\"\\]+")


def _plain(value: str) -> str:
    return value


@lru_cache(maxsize=4096)
def _network(value: str) -> str:
    """A network without host bits; an address without the length that says no more than itself."""
    return str(ip_network(value, strict=False)).removesuffix("/128" if ":" in value else "/32")


def _number(text: str) -> int:
    return int(text, 0)


def _masked(value: str) -> str:
    """A mark and its mask; without one every bit counts."""
    number, _, mask = value.partition("/")
    return f"{_number(number):#x}/{_number(mask) if mask else 0xFFFFFFFF:#x}"


def _set_mark(value: str) -> str:
    """`--set-mark` clears what the mask or the value has, and sets the value: an xor with both."""
    number, _, mask = value.partition("/")
    bits = _number(mask) | _number(number) if mask else 0xFFFFFFFF
    return f"{_number(number):#x}/{bits:#x}"


def _in_31_bits(value: str) -> str:
    """A probability as the kernel keeps it, so that no rounding of the printed digits matters."""
    return str(round(float(value) * (1 << 31)))


def _states(value: str) -> str:
    return ",".join(sorted(value.split(",")))


_PROTOCOLS: Final = {"6": "tcp", "17": "udp", "132": "sctp"}


def _protocol(value: str) -> str:
    return _PROTOCOLS.get(value, value.lower())


#: other names of options, as people write them
_SYNONYMS: Final = {
    "--source": "-s", "--src": "-s", "--destination": "-d", "--dst": "-d",
    "--protocol": "-p", "--proto": "-p", "--in-interface": "-i", "--out-interface": "-o",
    "--match": "-m", "--jump": "-j", "--goto": "-g",
    "--destination-port": "--dport", "--source-port": "--sport",
}  # fmt: skip

_Spelling = Callable[[str], str]
_HEADS: Final[dict[str, _Spelling]] = {
    "-s": _network, "-d": _network, "-p": _protocol, "-i": _plain, "-o": _plain,
}  # fmt: skip

#: addresses and protocols that are no condition
_EVERYTHING: Final = frozenset({"0.0.0.0/0", "::/0", "all", "0", "+"})

_PORTS: Final[dict[str, _Spelling | None]] = {"--dport": _plain, "--sport": _plain}
#: the modules whose options are understood: how a value is brought to its one spelling, None without value
_OPTIONS: Final[dict[str, Mapping[str, _Spelling | None]]] = {
    "tcp": _PORTS, "udp": _PORTS, "sctp": _PORTS,
    "comment": {"--comment": _plain},
    "conntrack": {"--ctstate": _states},
    "state": {"--state": _states},
    "mark": {"--mark": _masked},
    "addrtype": {"--dst-type": _states, "--src-type": _states},
    "nfacct": {"--nfacct-name": _plain},
    "statistic": {"--mode": _plain, "--probability": _in_31_bits},
    "recent": {
        "--name": _plain, "--set": None, "--rcheck": None, "--update": None, "--remove": None,
        "--seconds": _plain, "--reap": None, "--rsource": None, "--rdest": None, "--mask": _plain,
    },
}  # fmt: skip

#: values that are printed otherwise than they are kept
_PRINTED: Final[dict[str, _Spelling]] = {"--probability": lambda value: f"{int(value) / (1 << 31):.11f}"}

#: what iptables-save says although it holds anyway
_DEFAULTS: Final = {
    ("--rsource", ""),
    ("--mask", "255.255.255.255"),
    ("--mask", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
}
_DEFAULT_OPTIONS: Final = {
    ("--reject-with", "icmp-port-unreachable"),
    ("--reject-with", "icmp6-port-unreachable"),
    ("--reject-with", "port-unreach"),
}
_MARKS: Final[dict[str, _Spelling]] = {
    "--set-xmark": _masked,
    "--set-mark": _set_mark,
    "--or-mark": lambda value: f"{_number(value):#x}/{_number(value):#x}",
    "--xor-mark": lambda value: f"{_number(value):#x}/0x0",
    "--and-mark": lambda value: f"0x0/{_number(value) ^ 0xFFFFFFFF:#x}",
}
