"""iptables' tables of one family in memory, with the manners of iptables-restore and iptables-save."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final

from msgspec import Struct

from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.memlines import DECLARE, Line, SavedRule, read_line
from kubeproxy.kernel.processes import Flavour
from kubeproxy.kernel.refusals import WORDS, Cause, Refused

BUILT_IN: Final = {
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "raw": ("PREROUTING", "OUTPUT"),
    "security": ("INPUT", "FORWARD", "OUTPUT"),
}
_POLICIES: Final = ("ACCEPT", "DROP")
_VERDICTS: Final = frozenset({"", "ACCEPT", "DROP", "RETURN", "QUEUE"})
#: targets that the kernel takes in one table only
_AT_HOME: Final = {"REJECT": "filter", "DNAT": "nat", "SNAT": "nat", "MASQUERADE": "nat", "REDIRECT": "nat"}
_TARGETS: Final = _VERDICTS | _AT_HOME.keys() | {"MARK", "CONNMARK", "LOG", "NFLOG", "TCPMSS", "CHECKSUM"}


class Chain(Struct):
    """`policy` is empty for chains that are not the kernel's own."""

    policy: str = ""
    packets: str = "[0:0]"
    rules: list[SavedRule] = []


class Table:
    """One table, or the draft of one, which shares with it the chains it did not touch."""

    def __init__(self, name: str, chains: dict[str, Chain], jumps: Counter[str]) -> None:
        self.name, self.chains, self.jumps = name, chains, jumps
        self._own: set[str] = set()

    def draft(self) -> "Table":
        return Table(self.name, dict(self.chains), self.jumps.copy())

    def chain(self, name: str) -> Chain:
        """The chain, to be changed."""
        found = self.chains.get(name)
        if found is None:
            raise Refused(Cause.NO_CHAIN)
        if name not in self._own:
            found = self.chains[name] = Chain(found.policy, found.packets, list(found.rules))
            self._own.add(name)
        return found

    def insert(self, name: str, place: int, rule: SavedRule) -> None:
        self.chain(name).rules.insert(place, rule)
        self.jumps[rule.target] += 1

    def remove(self, name: str, place: int) -> None:
        self.jumps[self.chain(name).rules.pop(place).target] -= 1

    def empty(self, name: str) -> None:
        self.jumps.subtract([rule.target for rule in self.chain(name).rules])
        self.chain(name).rules = []

    def dump(self) -> Iterator[str]:
        """As iptables-save prints it: the kernel's own chains first, the others by name."""
        ordered = [*BUILT_IN[self.name], *sorted(self.chains.keys() - set(BUILT_IN[self.name]))]
        yield f"*{self.name}"
        for name in ordered:
            yield f":{name} {self.chains[name].policy or '-'} {self.chains[name].packets}"
        for name in ordered:
            yield from (f"-A {name} {rule.text}".rstrip() for rule in self.chains[name].rules)
        yield "COMMIT"


class Tables:
    """All tables of a family."""

    def __init__(self, ipv6: bool, flavour: Flavour, counters: Container[str]) -> None:
        self._ipv6, self._flavour, self._counters = ipv6, flavour, counters
        self._tables = {
            name: Table(name, {chain: Chain("ACCEPT") for chain in chains}, Counter())
            for name, chains in BUILT_IN.items()
        }

    def __getitem__(self, table: str) -> Table:
        return self._tables[table]

    def restore(self, payload: Iterable[bytes], only: str = "") -> None:
        """Table by table; what a COMMIT has taken stays, whatever is refused after it."""
        draft: Draft | None = None
        number = 0
        for number, text in enumerate(b"".join(payload).decode().splitlines(), 1):
            if not text or text.startswith("#"):
                continue
            try:
                if draft is None:
                    draft = self._open(text)
                elif text != "COMMIT":
                    draft.read(number, read_line(text, draft.table.name, ipv6=self._ipv6))
                else:
                    self._take(draft, number, only)
                    draft = None
            except Refused as refused:
                raise self._error(refused, refused.line or number) from None
        if draft is not None:
            why = f"COMMIT expected at line {number + 1}"
            raise self._error(Refused(Cause.SYNTAX, why=why), number + 1)

    def _open(self, text: str) -> "Draft":
        name = text[1:].strip()
        if not text.startswith("*"):
            raise Refused(Cause.OUTSIDE)
        if name not in self._tables:
            raise Refused(Cause.NO_TABLE, name=name)
        return Draft(self._tables[name].draft(), self._flavour, self._counters)

    def _take(self, draft: "Draft", number: int, only: str) -> None:
        draft.commit(number)
        if only in ("", draft.table.name):
            self._tables[draft.table.name] = draft.table

    def _error(self, refused: Refused, number: int) -> KernelError:
        said = WORDS[self._flavour][refused.cause].text.format(line=number, **refused.words)
        program = f"ip{'6' if self._ipv6 else ''}tables-{self._flavour}-restore"
        return KernelError(program, said, line=number)


class Draft:
    """What a table will be when its COMMIT comes."""

    def __init__(self, table: Table, flavour: Flavour, counters: Container[str]) -> None:
        self.table, self._flavour, self._counters = table, flavour, counters
        self._waiting: list[tuple[int, Line]] = []
        #: what the kernel alone will notice, and where
        self._hidden: Refused | None = None
        self._number = 0
        self._commands: dict[str, Callable[[Line], None]] = {
            DECLARE: self._declare,
            "-A": self._add,
            "-I": self._add,
            "-D": self._delete,
            "-N": self._create,
            "-X": self._drop,
            "-F": self._flush,
            "-P": self._set_policy,
        }

    def read(self, number: int, line: Line) -> None:
        """The legacy flavour does it at once, the other when all lines are read."""
        if self._flavour is Flavour.LEGACY:
            self._carry_out(number, line)
        else:
            self._waiting.append((number, line))

    def commit(self, number: int) -> None:
        for own, line in self._waiting:
            self._carry_out(own, line)
        if self._hidden is not None:
            raise self._hidden

    def _carry_out(self, number: int, line: Line) -> None:
        self._number = number
        try:
            self._commands[line.command](line)
        except Refused as refused:
            refused.line = 0 if WORDS[self._flavour][refused.cause].at_commit else number
            raise

    def _mind(self, cause: Cause, **words: str) -> None:
        """Refuse, unless this flavour does not mind, or the kernel has to be asked first."""
        said = WORDS[self._flavour].get(cause)
        if said is None:
            return
        refused = Refused(cause, **words)
        if not said.in_kernel:
            raise refused
        refused.line = 0 if said.at_commit else self._number
        self._hidden = self._hidden or refused

    def _declare(self, line: Line) -> None:
        """Of a chain of the kernel's own the policy is set, any other is created or emptied."""
        if line.chain in BUILT_IN[self.table.name]:
            if line.policy != "-":
                self._set_policy(line)
            return
        if line.policy != "-":
            self._mind(Cause.NOT_BUILT_IN, chain=line.chain, name=line.policy)
        if line.chain in self.table.chains:
            self.table.empty(line.chain)
        else:
            self.table.chains[line.chain] = Chain()

    def _set_policy(self, line: Line) -> None:
        if line.policy not in _POLICIES:
            self._mind(Cause.BAD_POLICY, chain=line.chain, name=line.policy)
        chain = self.table.chain(line.chain)
        chain.policy, chain.packets = line.policy, line.packets

    def _add(self, line: Line) -> None:
        assert line.rule is not None
        rules = self.table.chain(line.chain).rules
        if line.place > len(rules) + 1:
            self._mind(Cause.TOO_FAR)
        self._check(line, line.rule)
        at = len(rules) if line.command == "-A" else max(0, line.place - 1)
        self.table.insert(line.chain, at, line.rule)

    def _check(self, line: Line, rule: SavedRule) -> None:
        words = {"chain": line.chain, "verb": "APPEND" if line.command == "-A" else "INSERT"}
        if rule.target in BUILT_IN[self.table.name]:
            self._mind(Cause.INTO_BUILT_IN, **words)
        elif rule.target not in _TARGETS and rule.target not in self.table.chains:
            self._mind(Cause.NO_TARGET, name=rule.target)
        if _AT_HOME.get(rule.target, self.table.name) != self.table.name:
            self._mind(Cause.WRONG_TABLE, **words)
        if any(name not in self._counters for name in rule.counters):
            self._mind(Cause.NO_OBJECT, **words)

    def _delete(self, line: Line) -> None:
        rules = self.table.chain(line.chain).rules
        if line.rule is None:
            if line.place > len(rules):
                self._mind(Cause.NOTHING_THERE)
            self.table.remove(line.chain, line.place - 1)
        elif line.rule not in rules:
            self._mind(Cause.NO_RULE)
        else:
            self.table.remove(line.chain, rules.index(line.rule))

    def _create(self, line: Line) -> None:
        if line.chain in self.table.chains:
            self._mind(Cause.EXISTS)
        self.table.chains[line.chain] = Chain()

    def _drop(self, line: Line) -> None:
        chain = self.table.chain(line.chain)
        if chain.policy or chain.rules or self.table.jumps[line.chain]:
            self._mind(Cause.USED, chain=line.chain)
        self.table.empty(line.chain)
        del self.table.chains[line.chain]

    def _flush(self, line: Line) -> None:
        for chain in [line.chain] if line.chain else list(self.table.chains):
            self.table.empty(chain)
