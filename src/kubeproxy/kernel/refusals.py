"""How iptables-restore refuses, in both flavours: in which words, and at which line.

The nft flavour reads a whole table before it looks at chains, and hands it to the kernel after that; the
legacy one looks at every line as it comes. So one mistake is told at different lines, and of two mistakes
each flavour may tell another. Versions 1.8.9 to 1.8.13 agree; 1.8.7's nft flavour names a line too far.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from kubeproxy.kernel.processes import Flavour


class Cause(StrEnum):
    """What can be wrong with a line."""

    SYNTAX = "syntax"
    OUTSIDE = "stands in no table"
    NO_TABLE = "no such table"
    NO_CHAIN = "no such chain"
    NO_TARGET = "no such target"
    NO_RULE = "no such rule"
    TOO_FAR = "no such place to insert at"
    NOTHING_THERE = "no such place to delete from"
    EXISTS = "chain exists"
    USED = "chain has rules, or jumps to it"
    BAD_POLICY = "bad policy"
    NOT_BUILT_IN = "policy for a chain that is not the kernel's own"
    WRONG_TABLE = "target of another table"
    NO_OBJECT = "counter does not exist"
    INTO_BUILT_IN = "jump into the kernel's own chain"


class Words(Struct, frozen=True):
    """What is said of a cause; `at_commit` where the line of the COMMIT is named instead of its own.

    What only the kernel notices is told when there is nothing else to tell.
    """

    text: str
    at_commit: bool = False
    in_kernel: bool = False


class Refused(Exception):
    """A line is wrong, or the table it belongs to (line 0); the words go into what is said of the cause."""

    def __init__(self, cause: Cause, **words: str) -> None:
        super().__init__(cause, words)
        self.cause, self.words, self.line = cause, words, 0


_BARE: Final = Words("line {line} failed")
_BARE_COMMIT: Final = Words("line {line} failed", at_commit=True, in_kernel=True)
_FAILED: Final = "line {{line}} failed: {0}."
_IN_KERNEL: Final = "line {{line}}: {0} failed ({1}): {2} {{chain}}"

_NFT: Final = {
    Cause.SYNTAX: Words("{why}"),
    Cause.OUTSIDE: _BARE,
    Cause.NO_TABLE: Words("line {line} table name '{name}' invalid"),
    Cause.NO_CHAIN: Words(_FAILED.format("No chain/target/match by that name")),
    Cause.NO_TARGET: Words("Chain '{name}' does not exist", at_commit=True),
    Cause.NO_RULE: Words(_FAILED.format("Bad rule (does a matching rule exist in that chain?)")),
    Cause.TOO_FAR: Words(_FAILED.format("Index of insertion too big")),
    Cause.NOTHING_THERE: Words(_FAILED.format("Index of deletion too big")),
    Cause.EXISTS: Words(_FAILED.format("Chain already exists")),
    Cause.USED: Words(_IN_KERNEL.format("CHAIN_DEL", "Device or resource busy", "chain"), in_kernel=True),
    Cause.BAD_POLICY: Words(_FAILED.format("Bad policy name")),
    Cause.WRONG_TABLE: Words(
        _IN_KERNEL.format("RULE_{verb}", "Invalid argument", "rule in chain"), in_kernel=True
    ),
    Cause.NO_OBJECT: Words(
        _IN_KERNEL.format("RULE_{verb}", "No such file or directory", "rule in chain"), in_kernel=True
    ),
    Cause.INTO_BUILT_IN: Words(
        _IN_KERNEL.format("RULE_{verb}", "No such file or directory", "rule in chain"), in_kernel=True
    ),
}
_LEGACY: Final = {
    Cause.SYNTAX: Words("{why}"),
    Cause.OUTSIDE: _BARE,
    Cause.NO_TABLE: Words("unable to initialize table '{name}'"),
    Cause.NO_CHAIN: _BARE,
    Cause.NO_TARGET: Words("Couldn't load target `{name}':No such file or directory"),
    Cause.NO_RULE: _BARE,
    Cause.TOO_FAR: _BARE,
    Cause.NOTHING_THERE: _BARE,
    Cause.EXISTS: _BARE,
    Cause.USED: _BARE,
    Cause.BAD_POLICY: Words("Can't set policy `{name}' on `{chain}' line {line}: Bad policy name"),
    Cause.NOT_BUILT_IN: Words("Can't set policy `{name}' on `{chain}' line {line}: Bad built-in chain name"),
    Cause.WRONG_TABLE: _BARE_COMMIT,
    Cause.NO_OBJECT: _BARE_COMMIT,
    Cause.INTO_BUILT_IN: _BARE,
}
#: a cause that is missing is none in that flavour
WORDS: Final = {Flavour.NFT: _NFT, Flavour.LEGACY: _LEGACY}
