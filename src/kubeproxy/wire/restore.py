"""One restore of iptables' programs: what goes in, what a refusal says, and what a dump holds.

A dump of a large node has hundreds of thousands of rules, most of them ours. Only a digest of each of our
chains is kept, so that a restart can tell what is right without holding the text.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from kubeproxy.wire.netlink import WireError
from kubeproxy.wire.op import Operation

Place = tuple[str, str]
"""A table and a chain in it."""


class Restore(Operation, frozen=True):
    """One payload for iptables-restore; chains it does not name stay as they are.

    `payload` is made anew by each iteration, so that a refused one can be looked at again, and a large one
    is never in memory at once. `counters` sets the counters of written chains as the payload says.
    `table` restores only that table of it.
    """

    ipv6: bool
    payload: Iterable[bytes]
    counters: bool = True
    table: str = ""


class Refusal(Struct, frozen=True, gc=False):
    """Why a restore was refused, in the program's words.

    `line` is 0 where none is named, and a hint at best: some refusals name the line of the COMMIT, because
    the kernel sees a table as a whole, and 1.8.7 names the line behind the one it means. Somebody who is
    `busy` may be done in a moment.
    """

    line: int
    text: str
    busy: bool = False


_LINE: Final = re.compile(r"\bat line:? (\d+)|\bline (\d+)")
_USAGE: Final = re.compile(r"Try `|Error occurred at line|\s*$")
_PROGRAM: Final = re.compile(r"^(?:ip6?tables\S*(?: v[\d.]+ \(\w+\))?: *)+")

# Exit status 4 stands for the held lock, and as well for a chain that is still used and for a missing
# capability: only the words tell which of them passes by itself.
_RESOURCE_PROBLEM: Final = 4
_PASSES: Final = ("xtables lock", "Resource temporarily unavailable", "Interrupted system call")


def read_refusal(status: int, words: str) -> Refusal:
    """What the error output of a restore program means."""
    lines = [line for line in words.splitlines() if not _USAGE.match(line)]
    text = "; ".join(said for line in lines if (said := _PROGRAM.sub("", line).strip()))
    found = _LINE.search(words.partition("Error occurred ")[2]) or _LINE.search(words)
    number = int(found[1] or found[2]) if found else 0
    busy = status == _RESOURCE_PROBLEM and any(passing in words for passing in _PASSES)
    return Refusal(number, text or f"exit status {status} without a word", busy)


def digest(lines: Iterable[bytes]) -> int:
    """Stands for the rules of a chain, in this process only: each process salts its hashes anew."""
    return hash(b"\n".join(lines))


#: what another version of iptables-save prints, and 1.8.9 in its place. 1.8.11 and 1.8.13 agree with it in
#: all our rules, and so does the legacy flavour of each.
_SPELLINGS: Final = (
    # 1.8.7 leaves a blank behind a rule without target.
    (re.compile(rb" +$", re.MULTILINE), b""),
    # 1.8.9 puts two blanks before a counter's name, an oversight that somebody will mend.
    (re.compile(rb"--nfacct-name +"), b"--nfacct-name  "),
)
# Nearly no chain needs respelling, and a single look is cheaper than two replacements.
_RESPELLED: Final = re.compile(rb" $|--nfacct-name ", re.MULTILINE)


def _text(name: bytes) -> str:
    """Other people's names may be any bytes."""
    return name.decode("utf-8", "backslashreplace")


_NO_RULE: Final = b"\0"


def canonical(rules: bytes) -> bytes:
    """Rules, one a line, as iptables-save 1.8.9 prints them."""
    if _RESPELLED.search(rules):
        for other, ours in _SPELLINGS:
            rules = other.sub(ours, rules)
    return rules


class SavedTables:
    """What a dump says: a digest of each chain of ours, and the rules of the kernel's own chains.

    Other people's chains are not looked at. `policies` are of the kernel's own chains.
    """

    def __init__(self, prefix: bytes = b"KUBE-") -> None:
        self.chains: dict[Place, int] = {}
        self.builtin: dict[Place, tuple[bytes, ...]] = {}
        self.policies: dict[Place, str] = {}
        self._prefix = prefix
        self._totals: Counter[str] = Counter()
        self._table = ""
        self._head, self._chain = _NO_RULE, ""
        self._rules: list[bytes] = []

    @classmethod
    def read(cls, lines: Iterable[bytes], prefix: bytes = b"KUBE-") -> "SavedTables":
        """All of a dump; one that is cut off would make chains look wrong, so it is refused."""
        saved = cls(prefix)
        for line in lines:
            saved.feed(line)
        if saved._table:
            raise WireError(f"dump of table {saved._table}", "its COMMIT is missing")
        return saved

    def rules(self, table: str) -> int:
        """How many rules the table holds, whoever's they are."""
        return self._totals[table]

    def feed(self, line: bytes) -> None:
        """The next line of the dump."""
        if line.startswith(self._head):
            self._rules.append(line)
        elif line.startswith(b"-A "):
            self._open_chain(line[3:].split(b" ", 1)[0].rstrip())
            self._rules.append(line)
        elif line.startswith(b":"):
            self._declare(line)
        elif line.startswith(b"*"):
            self._table = _text(line[1:].strip())
        elif line.startswith(b"COMMIT"):
            self._close_chain()
            self._table = ""
        elif line.startswith(b"# Table `") and b"is incompatible" in line:
            # Nothing of it is shown then, so that everything of ours would seem to be missing.
            table = line.split(b"`")[1].partition(b"'")[0].decode()
            raise WireError(f"table {table}", "holds rules that iptables cannot show; see `nft list ruleset`")

    def _declare(self, line: bytes) -> None:
        words = _text(line[1:]).split()
        if len(words) < 2:
            raise WireError(repr(line), "a chain is declared as :NAME POLICY [PACKETS:BYTES]")
        name, policy = words[:2]
        if policy != "-":
            self.policies[self._table, name] = policy
            self.builtin[self._table, name] = ()
        elif line.startswith(self._prefix, 1):
            self.chains[self._table, name] = digest(())

    def _open_chain(self, chain: bytes) -> None:
        """Rules of another chain begin; or a rule without words comes, which only counts what passes it."""
        if _text(chain) != self._chain:
            self._close_chain()
            self._head, self._chain = b"-A %b " % chain, _text(chain)

    def _close_chain(self) -> None:
        """The rules of a chain stand together: they are summed up when another one begins."""
        place = (self._table, self._chain)
        if place in self.chains or place in self.builtin:
            rules = canonical(b"".join(self._rules).removesuffix(b"\n"))
            if place in self.chains:
                self.chains[place] = digest((rules,))
            else:
                self.builtin[place] = tuple(rules.splitlines())
        self._totals[self._table] += len(self._rules)
        self._head, self._chain, self._rules = _NO_RULE, "", []
