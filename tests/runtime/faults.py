"""A kernel in memory that misbehaves on demand: refuses a Service, is busy, dies half-way."""

from collections.abc import Iterator, Sequence
from random import Random

from kubeproxy.kernel.errors import Busy, KernelError, TooLarge, Unsure
from kubeproxy.kernel.memory import Memory
from kubeproxy.kernel.memtables import Chain
from kubeproxy.kernel.processes import Flavour
from kubeproxy.wire.op import Operation
from kubeproxy.wire.restore import Restore

PROGRAM = "iptables-restore"


class Faulty(Memory):
    """Keeps every payload it was given, and counts those it took."""

    def __init__(self, flavour: Flavour = Flavour.NFT) -> None:
        super().__init__(flavour)
        #: lines with one of these texts are refused
        self.refuses: set[str] = set()
        #: the refused line is named, else the COMMIT of its table
        self.names_lines = True
        #: what becomes of the next commits, one after the other: see `fates`
        self.next: Iterator[str] = iter(())
        #: more lines for a table than these are too many at once
        self.most = 1 << 30
        self.given: list[str] = []
        self.taken = 0

    def commit(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            if isinstance(op, Restore):
                self._strike(op)
            super().commit([op])
            self.taken += 1

    def _strike(self, op: Restore) -> None:
        text = b"".join(op.payload).decode()
        self.given.append(text)
        fate = next(self.next, "")
        if fate == "busy":
            raise Busy(PROGRAM, "Another app is currently holding the xtables lock")
        if fate == "refused":
            raise KernelError(PROGRAM, "Memory allocation problem")
        if fate == "killed":
            raise Unsure(PROGRAM, "was killed (SIGKILL)")
        self._refuse(op, text)
        if max(len(table.splitlines()) for table in text.split("*")) > self.most:
            raise TooLarge(PROGRAM, "sendmsg: Message too long")
        if fate == "killed half-way":
            self._commit_before(op, text.rindex("*") if "*" in text else 0)
            raise Unsure(PROGRAM, "was killed (SIGKILL)")
        if fate == "killed afterwards":
            super().commit([op])
            raise Unsure(PROGRAM, "was killed (SIGKILL)")

    def _refuse(self, op: Restore, text: str) -> None:
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            if line.startswith("-") and any(refused in line for refused in self.refuses):
                commit = number + lines[number:].index("COMMIT") + 1
                self._commit_before(op, text.rindex("*", 0, text.index(line)))
                named = number if self.names_lines else commit
                raise KernelError(PROGRAM, f"line {named} failed", line=named)

    def _commit_before(self, op: Restore, end: int) -> None:
        """What stands before that place has happened: every table is taken by itself."""
        before = b"".join(op.payload).decode()[:end].encode()
        super().commit([Restore(op.ipv6, (before,))])


#: all that can become of a commit beside going well
FATES = ("busy", "refused", "killed", "killed half-way", "killed afterwards")


def meddle(kernel: Memory, roll: Random) -> None:
    """What somebody may do to our rules: take one, empty a chain, flush or clear a table, leave an old chain."""
    table = kernel.tables[roll.random() < 0.5][roll.choice(("nat", "nat", "filter", "mangle"))]
    ours = [name for name in table.chains if name.startswith("KUBE-")]
    full = [name for name in ours if table.chains[name].rules]
    what = roll.choice(("rule", "chain", "flush", "clear", "old"))
    if what == "rule" and full:
        name = roll.choice(full)
        table.remove(name, roll.randrange(len(table.chains[name].rules)))
    elif what == "chain" and full:
        table.empty(roll.choice(full))
    elif what == "old" and table.name == "nat":
        table.chains["KUBE-SVC-AAAAAAAAAAAAAAAA"] = Chain()
    elif what in ("flush", "clear"):
        for name in list(table.chains):
            table.empty(name)
        for name in ours if what == "clear" else ():
            del table.chains[name]
