"""iptables' programs, both families and both flavours.

All of it blocks, so it belongs in a worker thread; calls share nothing but the record of children, so several
threads may use one Programs at once. iptables before 1.6.2 leaves locking to its callers; such old programs
are not catered for.
"""

import re
import subprocess
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from kubeproxy.kernel.atwork import at_work, claimed
from kubeproxy.kernel.child import Child
from kubeproxy.kernel.errors import Busy, KernelError, TooLarge
from kubeproxy.kernel.rights import needed
from kubeproxy.wire.restore import Refusal, Restore, read_refusal

_VERSION: Final = re.compile(r"v(\d+(?:\.\d+)+)")
_WAIT: Final = ("-w", "5")
_REMEMBERED: Final = 256
_FORBIDDEN: Final = ("Permission denied", "Operation not permitted")
_TOO_LARGE: Final = "Message too long"
_REMEDIES: Final = {
    # In a user namespace the program may not make itself a larger buffer.
    _TOO_LARGE: "raise the sysctl net.core.wmem_max of the host",
}


class Flavour(StrEnum):
    """The two kinds of tables in the kernel that iptables' programs write to."""

    NFT = "nft"
    LEGACY = "legacy"


#: the legacy programs talk to the kernel over a raw socket
_RIGHTS: Final = {
    Flavour.NFT: ("CAP_NET_ADMIN",),
    Flavour.LEGACY: ("CAP_NET_ADMIN", "CAP_NET_RAW"),
}


class Outcome(Struct, frozen=True):
    """How a program ended, and what it said."""

    status: int
    output: bytes
    words: str


class Programs:
    """The programs of one flavour, both families; `infix` is part of their names, `-nft` for example."""

    def __init__(self, flavour: Flavour, infix: str = "") -> None:
        self.flavour, self.infix = flavour, infix
        #: children at work now
        self.running: set[int] = set()
        #: those and recent ones: what they did to the kernel is told a little later
        self.children: set[int] = set()
        #: is told who is at work whenever that changes, and always before it does anything
        self.tell: Callable[[Collection[int]], None] = lambda running: None
        self._ended: deque[int] = deque()
        self._version: tuple[int, ...] = ()

    def name(self, ipv6: bool, verb: str = "") -> str:
        """What the program is called: `ip6tables-nft-restore`."""
        return f"ip{'6' if ipv6 else ''}tables{self.infix}{verb}"

    def version(self) -> tuple[int, ...]:
        """Such as (1, 8, 9); asked once."""
        if not self._version:
            said = self.run(self.name(False), ["--version"]).output.decode(errors="replace")
            found = _VERSION.search(said)
            if not found:
                raise KernelError(self.name(False), f"tells no version: {said.strip()!r}")
            self._version = tuple(map(int, found[1].split(".")))
        return self._version

    @property
    def supports_random_fully(self) -> bool:
        return self.version() >= (1, 6, 2)

    def usable(self, ipv6: bool) -> bool:
        """Whether this family works here at all: kernels without IPv6 have no such tables."""
        return self.chain_exists(ipv6, "nat", "POSTROUTING")

    def chain_exists(self, ipv6: bool, table: str, chain: str) -> bool:
        """Asked for the first rule only: a chain of ours may have thousands."""
        outcome = self.run(self.name(ipv6), [*_WAIT, "-t", table, "-S", chain, "1"])
        if outcome.status in (0, 1):
            return outcome.status == 0
        raise self._refused(self.name(ipv6), read_refusal(outcome.status, outcome.words))

    def restore(self, op: Restore) -> None:
        """One payload, streamed as it is made; KernelError names the line where the program does."""
        options = ["--counters"] if op.counters else []
        options += ["-T", op.table] if op.table else []
        program = self.name(op.ipv6, "-restore")
        words = [*_WAIT, "--noflush", *options]
        with (
            claimed(program) as name,
            Child(self, program, words, stdin=subprocess.PIPE, inherits=name) as child,
        ):
            child.write(op.payload)
            status = child.wait()
            if status:
                raise self._refused(program, read_refusal(status, child.words()))

    def writing(self, ipv6: bool) -> bool:
        """Whether somebody's restore is at work: one of ours, or of another proxy, which may be gone."""
        return at_work(self.name(ipv6, "-restore"))

    def save(self, ipv6: bool, tables: Iterable[str] = ()) -> Iterator[bytes]:
        """The lines of these tables, or of all that exist, as they come; nothing is held."""
        program = self.name(ipv6, "-save")
        for options in [["-t", table] for table in tables] or [[]]:
            with Child(self, program, options, stdout=subprocess.PIPE) as child:
                yield from child.lines()
                if child.wait():
                    thing = " ".join((program, *options))
                    raise KernelError(thing, child.words() or "failed without a word")

    def run(self, program: str, args: Sequence[str]) -> Outcome:
        """A short command, whatever it answers."""
        with Child(self, program, args, stdout=subprocess.PIPE) as child:
            output = b"".join(child.lines())
            return Outcome(child.wait(), output, child.words())

    def started(self, pid: int) -> None:
        self.running.add(pid)
        self.children.add(pid)
        self.tell(tuple(self.running))

    def ended(self, pid: int) -> None:
        """Remember it for a while, but not for ever: numbers are given again."""
        self.running.discard(pid)
        self.tell(tuple(self.running))
        self._ended.append(pid)
        while len(self._ended) > _REMEMBERED:
            self.children.discard(self._ended.popleft())

    def _refused(self, program: str, refusal: Refusal) -> KernelError:
        kind = Busy if refusal.busy else TooLarge if _TOO_LARGE in refusal.text else KernelError
        remedy = next((remedy for words, remedy in _REMEDIES.items() if words in refusal.text), "")
        if any(words in refusal.text for words in _FORBIDDEN):
            remedy = needed(*_RIGHTS[self.flavour])
        return kind(program, refusal.text, remedy=remedy, line=refusal.line)
