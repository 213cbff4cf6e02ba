"""What nf_tables tells about changes of the ruleset: nfnetlink bytes → one Transaction per commit.

The kernel announces each changed thing, and then, in NEWGEN, the commit's number and who made it. Rules of
iptables' nft flavour are announced like any other.
"""

import struct
from collections.abc import Callable, Collection, Container
from enum import IntEnum, StrEnum
from typing import Final

from msgspec import Struct

from kubeproxy.wire.netlink import (
    NFGENMSG_SIZE,
    Data,
    Frame,
    Subsystem,
    WireError,
    attribute_spans,
    attributes,
    be32,
    be64,
    text,
)

GROUP: Final = 7
"""The multicast group that carries the announcements."""


class Happened(StrEnum):
    """What was done; `ADDED` is also said of a thing that was altered."""

    ADDED = "added"
    REMOVED = "removed"


class Thing(StrEnum):
    TABLE = "table"
    CHAIN = "chain"
    RULE = "rule"
    SET = "set"
    ELEMENT = "element"
    OBJECT = "object"
    FLOWTABLE = "flowtable"


class RulesetChange(Struct, frozen=True, gc=False):
    """One thing in the ruleset that was added or removed.

    `name` is of the chain for a chain and for a rule in it, of the set for a set and for elements of it, and
    empty for a table. `handle` is the kernel's number of a rule or chain, 0 where it gives none.
    """

    happened: Happened
    thing: Thing
    family: int
    table: str
    name: str = ""
    handle: int = 0


class Transaction(Struct, frozen=True, gc=False):
    """All that one commit changed, and who made it.

    `port` is the netlink port that sent it, usually the process id as its own pid namespace counts;
    `pid` is the process id as the host counts. So a child is recognised by `port`, and an operator by `pid`.
    """

    generation: int
    port: int
    pid: int
    process: str
    changes: tuple[RulesetChange, ...]
    #: changes beyond those, when there were too many to keep
    more: int = 0


class _Shape(Struct, frozen=True, gc=False):
    """Which attributes name the thing a message is about; 0 where there is none."""

    happened: Happened
    thing: Thing
    table: int = 1
    name: int = 0
    handle: int = 0


_NEW_GENERATION: Final = Subsystem.NFTABLES << 8 | 15
_SHAPES: Final = {
    Subsystem.NFTABLES << 8 | verb: shape
    for verb, shape in (
        (0, _Shape(Happened.ADDED, Thing.TABLE)),
        (2, _Shape(Happened.REMOVED, Thing.TABLE)),
        (3, _Shape(Happened.ADDED, Thing.CHAIN, name=3, handle=2)),
        (5, _Shape(Happened.REMOVED, Thing.CHAIN, name=3, handle=2)),
        (6, _Shape(Happened.ADDED, Thing.RULE, name=2, handle=3)),
        (8, _Shape(Happened.REMOVED, Thing.RULE, name=2, handle=3)),
        (9, _Shape(Happened.ADDED, Thing.SET, name=2)),
        (11, _Shape(Happened.REMOVED, Thing.SET, name=2)),
        (12, _Shape(Happened.ADDED, Thing.ELEMENT, name=2)),
        (14, _Shape(Happened.REMOVED, Thing.ELEMENT, name=2)),
        (18, _Shape(Happened.ADDED, Thing.OBJECT, name=2)),
        (20, _Shape(Happened.REMOVED, Thing.OBJECT, name=2)),
        (22, _Shape(Happened.ADDED, Thing.FLOWTABLE, name=2)),
        (24, _Shape(Happened.REMOVED, Thing.FLOWTABLE, name=2)),
    )
}


class _Generation(IntEnum):
    ID = 1
    PID = 2
    PROCESS = 3


# Classic BPF: opcode, where to jump when true and when false, operand. It reads numbers in network order.
_STEP: Final = struct.Struct("=HBBI")
_LOAD_WORD, _LOAD_HALF, _IF_EQUAL, _RETURN = 0x20, 0x28, 0x15, 0x06
_TYPE_AT, _PORT_AT = 4, 12
_ALL, _NOTHING = 0xFFFFFFFF, 0
_MOST_PORTS: Final = 200


_Step = tuple[int, int, int, int]
_COMMITS: Final[list[_Step]] = [
    (_LOAD_HALF, 0, 0, _TYPE_AT),
    (_IF_EQUAL, 0, 1, int.from_bytes(struct.pack("=H", _NEW_GENERATION), "big")),
    (_RETURN, 0, 0, _ALL),
    (_RETURN, 0, 0, _NOTHING),
]


def silence(ports: Collection[int]) -> bytes:
    """A socket filter that lets nothing pass of what these ports announce, except that they committed."""
    numbers = sorted(ports)[:_MOST_PORTS]  # a jump is at most 255 steps
    count = len(numbers)
    steps: list[_Step] = [
        (_LOAD_WORD, 0, 0, _PORT_AT),
        *(
            (_IF_EQUAL, count - index, 0, int.from_bytes(struct.pack("=I", number), "big"))
            for index, number in enumerate(numbers)
        ),
        (_RETURN, 0, 0, _ALL),
    ]
    return _program(steps + _COMMITS)


def commits_only() -> bytes:
    """A socket filter that lets only commits pass, whoever makes them."""
    return _program(_COMMITS)


def _program(steps: list[_Step]) -> bytes:
    return b"".join(_STEP.pack(*step) for step in steps)


#: changes of one commit that are kept: a flush of hundreds of thousands of rules is as clear with these
MOST_CHANGES: Final = 8192


class TransactionReader:
    """Collects announcements until the commit they belong to is named.

    What the ports in `own` did is not taken apart (a first load announces hundreds of thousands of rules, and
    we know what we wrote), and of what others did only what is `wanted` is kept. But each commit is told,
    even with no changes in it.
    """

    def __init__(
        self, own: Container[int] = (), wanted: Callable[[RulesetChange], bool] = lambda change: True
    ) -> None:
        self._own, self._wanted = own, wanted
        self._port = 0
        self._changes: list[RulesetChange] = []
        self._more = 0

    def read(self, data: Data, frame: Frame) -> Transaction | None:
        """The transaction, once its last message has been read."""
        if frame.kind != _NEW_GENERATION and frame.kind not in _SHAPES:
            return None
        if frame.port != self._port:
            # Commits come one after the other: what is left of another port's has lost its end.
            self.forget()
            self._port = frame.port
        if frame.kind == _NEW_GENERATION:
            transaction = _transaction(data, frame, tuple(self._changes), self._more)
            self.forget()
            return transaction
        if frame.port not in self._own:
            self._keep(read_change(data, frame, _SHAPES[frame.kind]))
        return None

    def forget(self) -> None:
        """Drop the half of a transaction whose other half was lost."""
        self._changes, self._more = [], 0

    def _keep(self, change: RulesetChange) -> None:
        if not self._wanted(change):
            return
        if len(self._changes) < MOST_CHANGES:
            self._changes.append(change)
        else:
            self._more += 1


def read_change(data: Data, frame: Frame, shape: _Shape) -> RulesetChange:
    """The thing a message names; what it holds is not read."""
    what = f"ruleset change ({shape.thing} {shape.happened})"
    start = frame.start + NFGENMSG_SIZE
    if start > frame.end:
        raise WireError(what, "its fixed part is cut off")
    wanted = {kind for kind in (shape.table, shape.name, shape.handle) if kind}
    found: dict[int, tuple[int, int]] = {}
    for kind, first, last in attributes(data, start, frame.end, what):
        if kind in wanted:
            found[kind] = (first, last)
            if len(found) == len(wanted):  # the names come first, long expressions after them
                break
    if shape.table not in found or (shape.name and shape.name not in found):
        raise WireError(what, "it does not say where")
    return RulesetChange(
        shape.happened,
        shape.thing,
        data[frame.start],
        text(data, found[shape.table], what),
        text(data, found[shape.name], what) if shape.name else "",
        be64(data, found[shape.handle], what) if shape.handle in found else 0,
    )


def _transaction(data: Data, frame: Frame, changes: tuple[RulesetChange, ...], more: int) -> Transaction:
    what = "ruleset generation"
    spans = attribute_spans(data, frame.start + NFGENMSG_SIZE, frame.end, what)
    if _Generation.ID not in spans:
        raise WireError(what, "its number is missing")
    # Kernels before 4.9 do not say who.
    return Transaction(
        be32(data, spans[_Generation.ID], what),
        frame.port,
        be32(data, spans[_Generation.PID], what) if _Generation.PID in spans else 0,
        text(data, spans[_Generation.PROCESS], what) if _Generation.PROCESS in spans else "",
        changes,
        more,
    )
