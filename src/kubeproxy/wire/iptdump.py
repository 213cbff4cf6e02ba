"""Whole tables ↔ save and restore text: a dump and a restore payload are the same language."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from kubeproxy.wire.iptables import Rule, bad, rule_from, split_words
from kubeproxy.wire.netlink import WireError

_COUNTERS: Final = re.compile(r"\[\d+:\d+\] +")
_HOOKS: Final = {
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "raw": ("PREROUTING", "OUTPUT"),
    "security": ("INPUT", "FORWARD", "OUTPUT"),
}
_COMMANDS: Final = ("-A", "-I", "-N", "-X", "-F")


class Chain(Struct, frozen=True):
    """Rules in the order they are asked; only the kernel's own chains have a policy."""

    name: str
    policy: str = ""
    rules: tuple[Rule, ...] = ()


class Table(Struct, frozen=True):
    """Chains by name."""

    name: str
    chains: dict[str, Chain] = {}


def parse_tables(lines: Iterable[str]) -> dict[str, Table]:
    """The tables of a dump or of a restore payload, as they stand after its last line."""
    reader = _Reader()
    for number, line in enumerate(lines, 1):
        try:
            reader.read(line.strip())
        except WireError as error:
            raise WireError(f"line {number}: {error.thing}", error.problem) from None
    if reader.table:
        raise WireError(f"table {reader.table}", "its COMMIT is missing")
    return {
        name: Table(name, {chain: reader.finished(name, chain) for chain in chains})
        for name, chains in reader.tables.items()
    }


def restore_text(tables: Iterable[Table]) -> str:
    """Text that a restore program takes, and that reads back to equal tables."""
    return "".join(line + "\n" for table in tables for line in _restore_lines(table))


class _Reader:
    """What the lines said so far."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, list[Rule]]] = {}
        self.policies: dict[tuple[str, str], str] = {}
        self.table = ""

    def read(self, line: str) -> None:
        if not line or line[0] == "#":
            return
        if line[0] == "*":
            self._open(line)
        elif not self.table:
            raise bad(line, "it stands outside a table; a table starts with * and its name")
        elif line == "COMMIT":
            self.table = ""
        elif line[0] == ":":
            self._declare(line)
        else:
            self._command(_COUNTERS.sub("", line, count=1))

    def _open(self, line: str) -> None:
        if self.table:
            raise bad(line, f"table {self.table} has no COMMIT before it")
        if not line[1:].strip():
            raise bad(line, "the name of the table is missing")
        self.table = line[1:].strip()
        self.tables.setdefault(self.table, {})

    def _declare(self, line: str) -> None:
        words = line[1:].split()
        if len(words) not in (2, 3):
            raise bad(line, "a chain is declared as :NAME POLICY [PACKETS:BYTES]")
        # Declaring a chain also empties it, in a dump (where it is empty anyway) and in a payload.
        self.tables[self.table][words[0]] = []
        self.policies[self.table, words[0]] = "" if words[1] == "-" else words[1]

    def _command(self, line: str) -> None:
        words = split_words(line)
        if len(words) < 2 or words[0] not in _COMMANDS:
            raise bad(line, f"not one of {', '.join(_COMMANDS)} with the name of a chain")
        chains, (command, chain) = self.tables[self.table], words[:2]
        if command == "-N":
            chains[chain] = []
            self.policies[self.table, chain] = ""
        elif chain not in chains and not self._builtin(chain):
            raise bad(line, f"table {self.table} has no chain {chain}")
        elif command == "-X":
            del chains[chain]
        elif command == "-F":
            chains[chain] = []
        else:
            numbered = command == "-I" and len(words) > 2 and words[2].isdigit()
            at = int(words[2]) - 1 if numbered else 0 if command == "-I" else len(chains[chain])
            chains[chain].insert(at, rule_from(chain, words[2 + numbered :], line))

    def _builtin(self, chain: str) -> bool:
        """The kernel's own chains need no declaration."""
        if chain not in _HOOKS.get(self.table, ()):
            return False
        self.tables[self.table][chain] = []
        self.policies[self.table, chain] = "ACCEPT"
        return True

    def finished(self, table: str, chain: str) -> Chain:
        return Chain(chain, self.policies[table, chain], tuple(self.tables[table][chain]))


def _restore_lines(table: Table) -> Iterator[str]:
    yield f"*{table.name}"
    yield from (f":{chain.name} {chain.policy or '-'} [0:0]" for chain in table.chains.values())
    yield from (str(rule) for chain in table.chains.values() for rule in chain.rules)
    yield "COMMIT"
