"""Small questions about the ruleset: nfnetlink bytes ↔ values.

Listing everything costs seconds on a large node. Whether our jumps still stand, in which order, and whether a
chain still exists, are questions about one chain.
"""

from enum import IntEnum
from typing import Final

from msgspec import Struct

from kubeproxy.wire.netlink import (
    AF_UNSPEC,
    NFGENMSG_SIZE,
    Data,
    Flag,
    Frame,
    Request,
    Span,
    Subsystem,
    WireError,
    attribute_spans,
    attribute_text,
    attributes,
    be32,
    be64,
    nfgenmsg,
    text,
)


class BaseRule(Struct, frozen=True, gc=False):
    """A rule as far as order and jumps go: where it jumps or goes to, None when it does neither."""

    handle: int
    target: str | None = None


class Chain(Struct, frozen=True, gc=False):
    """A chain that exists; `uses` counts its rules and the jumps to it."""

    name: str
    handle: int
    uses: int


class _Verb(IntEnum):
    NEW_CHAIN = Subsystem.NFTABLES << 8 | 3
    GET_CHAIN = Subsystem.NFTABLES << 8 | 4
    GET_RULE = Subsystem.NFTABLES << 8 | 7
    GET_GENERATION = Subsystem.NFTABLES << 8 | 16


_CHAIN_TABLE, _CHAIN_HANDLE, _CHAIN_NAME, _CHAIN_USES = 1, 2, 3, 6
_RULE_TABLE, _RULE_CHAIN, _RULE_HANDLE, _RULE_EXPRESSIONS = 1, 2, 3, 4
_LIST_ELEMENT, _EXPRESSION_NAME, _EXPRESSION_DATA = 1, 1, 2
_IMMEDIATE_DATA, _DATA_VERDICT, _VERDICT_CODE, _VERDICT_CHAIN = 2, 2, 1, 2
_GENERATION_ID: Final = 1
_JUMP_OR_GOTO: Final = (0xFFFFFFFD, 0xFFFFFFFC)  # -3 and -4


def rules_request(family: int, table: str, chain: str) -> Request:
    """The rules of one chain, in order; none where the table or chain does not exist."""
    where = attribute_text(_RULE_TABLE, table) + attribute_text(_RULE_CHAIN, chain)
    thing = f"rules of chain {table} {chain}"
    return Request(thing, _Verb.GET_RULE, nfgenmsg(family) + where, Flag.REQUEST | Flag.DUMP)


def chain_request(family: int, table: str, chain: str) -> Request:
    where = attribute_text(_CHAIN_TABLE, table) + attribute_text(_CHAIN_NAME, chain)
    return Request(f"chain {table} {chain}", _Verb.GET_CHAIN, nfgenmsg(family) + where)


def generation_request() -> Request:
    """The number of the last commit: it grows by one with each, whoever makes it."""
    return Request("ruleset generation", _Verb.GET_GENERATION, nfgenmsg(AF_UNSPEC))


def read_generation(data: Data, frame: Frame) -> int:
    spans = attribute_spans(data, frame.start + NFGENMSG_SIZE, frame.end, "ruleset generation")
    return be32(data, _present(spans, _GENERATION_ID, "ruleset generation", "number"), "ruleset generation")


def read_chain(data: Data, frame: Frame) -> Chain:
    spans = attribute_spans(data, frame.start + NFGENMSG_SIZE, frame.end, "chain")
    return Chain(
        text(data, _present(spans, _CHAIN_NAME, "chain", "name"), "chain name"),
        be64(data, _present(spans, _CHAIN_HANDLE, "chain", "handle"), "chain handle"),
        be32(data, _present(spans, _CHAIN_USES, "chain", "use count"), "chain use count"),
    )


def read_rule(data: Data, frame: Frame) -> BaseRule:
    spans = attribute_spans(data, frame.start + NFGENMSG_SIZE, frame.end, "rule")
    handle = be64(data, _present(spans, _RULE_HANDLE, "rule", "handle"), "rule handle")
    if _RULE_EXPRESSIONS not in spans:
        return BaseRule(handle)
    for kind, start, end in attributes(data, *spans[_RULE_EXPRESSIONS], "rule"):
        if kind == _LIST_ELEMENT and (target := _target(data, (start, end))) is not None:
            return BaseRule(handle, target)
    return BaseRule(handle)


def _target(data: Data, expression: Span) -> str | None:
    """Where an expression sends the packet, if it is an immediate verdict that names a chain."""
    spans = attribute_spans(data, *expression, "expression")
    name = text(data, _present(spans, _EXPRESSION_NAME, "expression", "name"), "expression name")
    if name != "immediate" or _EXPRESSION_DATA not in spans:
        return None
    immediate = attribute_spans(data, *spans[_EXPRESSION_DATA], "immediate")
    loaded = attribute_spans(
        data, *_present(immediate, _IMMEDIATE_DATA, "immediate", "data"), "immediate data"
    )
    if _DATA_VERDICT not in loaded:
        return None
    verdict = attribute_spans(data, *loaded[_DATA_VERDICT], "verdict")
    code = be32(data, _present(verdict, _VERDICT_CODE, "verdict", "code"), "verdict code")
    if code not in _JUMP_OR_GOTO:
        return None
    return text(data, _present(verdict, _VERDICT_CHAIN, "verdict", "chain"), "verdict chain")


def _present(spans: dict[int, Span], kind: int, thing: str, part: str) -> Span:
    if kind not in spans:
        raise WireError(thing, f"its {part} is missing")
    return spans[kind]
