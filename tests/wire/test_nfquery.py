"""Small questions about the ruleset, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.wire.netlink import (
    AF_INET,
    WireError,
    attribute,
    attribute_be32,
    attribute_be64,
    attribute_text,
    frames,
    message,
    nested,
    nfgenmsg,
)
from kubeproxy.wire.nfquery import (
    BaseRule,
    Chain,
    chain_request,
    generation_request,
    read_chain,
    read_generation,
    read_rule,
    rules_request,
)

# iptables-nft -t nat -A PREROUTING -j KUBE-SERVICES, without its comment.
JUMP = (
    "ac 00 00 00 06 0a 02 08 01 00 00 00 cc 25 40 ea 02 00 00 05 08 00 01 00 6e 61 74 00 0f 00 02 00 "
    "50 52 45 52 4f 55 54 49 4e 47 00 00 0c 00 03 00 00 00 00 00 00 00 00 03 74 00 04 00 "
    "2c 00 01 00 0c 00 01 00 63 6f 75 6e 74 65 72 00 1c 00 02 00 0c 00 01 00 00 00 00 00 00 00 00 00 "
    "0c 00 02 00 00 00 00 00 00 00 00 00 "
    "44 00 01 00 0e 00 01 00 69 6d 6d 65 64 69 61 74 65 00 00 00 30 00 02 00 08 00 01 00 00 00 00 00 "
    "24 00 02 00 20 00 02 00 08 00 01 00 ff ff ff fd 12 00 02 00 4b 55 42 45 2d 53 45 52 56 49 43 45 53 00 00 00"
)
CHAIN = (
    "44 00 00 00 03 0a 00 00 01 00 00 00 d8 58 5e a6 02 00 00 05 08 00 01 00 6e 61 74 00 12 00 03 00 "
    "4b 55 42 45 2d 53 45 52 56 49 43 45 53 00 00 00 0c 00 02 00 00 00 00 00 00 00 00 01 08 00 06 00 "
    "00 00 00 01"
)
GENERATION = (
    "30 00 00 00 0f 0a 00 00 01 00 00 00 a6 26 2d d9 00 00 00 05 08 00 01 00 00 00 00 05 08 00 02 00 "
    "00 00 17 f6 0b 00 03 00 70 79 74 68 6f 6e 00 00"
)


def received(answer):
    data = bytes.fromhex(answer) if isinstance(answer, str) else answer
    (frame,) = frames(data, len(data))
    return data, frame


def rule(handle, *expressions):
    """A rule as the kernel would send it, with these expressions."""
    listed = b"".join(nested(1, expression) for expression in expressions)
    return message(0x0A06, 2, 1, nfgenmsg(AF_INET) + attribute_be64(3, handle) + nested(4, listed))


def immediate(*data):
    return attribute_text(1, "immediate") + nested(2, nested(2, *data))


def verdict(code, *more):
    return immediate(nested(2, attribute_be32(1, code & 0xFFFFFFFF), *more))


def test_the_rules_of_one_chain_are_asked_for():
    assert rules_request(AF_INET, "nat", "KUBE-X").encode(1).hex(" ") == (
        "28 00 00 00 07 0a 01 03 01 00 00 00 00 00 00 00 02 00 00 00 "
        "08 00 01 00 6e 61 74 00 0b 00 02 00 4b 55 42 45 2d 58 00 00"
    )


def test_one_chain_is_asked_for():
    assert chain_request(AF_INET, "nat", "KUBE-X").encode(1).hex(" ") == (
        "28 00 00 00 04 0a 01 00 01 00 00 00 00 00 00 00 02 00 00 00 "
        "08 00 01 00 6e 61 74 00 0b 00 03 00 4b 55 42 45 2d 58 00 00"
    )


def test_the_number_of_the_last_commit_is_asked_for():
    assert (
        generation_request().encode(1).hex(" ")
        == "14 00 00 00 10 0a 01 00 01 00 00 00 00 00 00 00 00 00 00 00"
    )
    assert read_generation(*received(GENERATION)) == 5


def test_a_chain_tells_its_handle_and_how_often_it_is_used():
    assert read_chain(*received(CHAIN)) == Chain("KUBE-SERVICES", 1, 1)


@pytest.mark.parametrize(
    "answer, expected",
    [
        (JUMP, BaseRule(3, "KUBE-SERVICES")),
        (rule(4, verdict(-4, attribute_text(2, "KUBE-X"))), BaseRule(4, "KUBE-X")),
        (rule(5, verdict(1)), BaseRule(5)),
        (rule(6, immediate(attribute(1, b"\x01\x02\x03\x04"))), BaseRule(6)),
        (rule(7, attribute_text(1, "counter"), verdict(-3, attribute_text(2, "A"))), BaseRule(7, "A")),
        (rule(8), BaseRule(8)),
        (message(0x0A06, 2, 1, nfgenmsg(AF_INET) + attribute_be64(3, 9)), BaseRule(9)),
    ],
)
def test_a_rule_tells_where_it_jumps_or_goes(answer, expected):
    """Jumps and gotos name a chain; verdicts like accept, loaded data and other expressions do not."""
    assert read_rule(*received(answer)) == expected


@pytest.mark.parametrize(
    "read, answer, complaint",
    [
        (read_rule, message(0x0A06, 2, 1, nfgenmsg(AF_INET)), "rule: its handle is missing"),
        (read_rule, rule(1, verdict(-3)), "verdict: its chain is missing"),
        (read_rule, rule(1, attribute(2, b"")), "expression: its name is missing"),
        (read_chain, message(0x0A03, 0, 1, nfgenmsg(AF_INET)), "chain: its name is missing"),
        (read_generation, message(0x0A0F, 0, 1, nfgenmsg(0)), "ruleset generation: its number is missing"),
    ],
)
def test_an_answer_that_lacks_something_is_refused(read, answer, complaint):
    with pytest.raises(WireError) as refusal:
        read(*received(answer))
    assert str(refusal.value) == complaint


@given(st.binary(max_size=120))
def test_noise_does_no_more_harm_than_a_refusal(noise):
    for read in (read_rule, read_chain, read_generation):
        try:
            read(*received(message(0x0A06, 0, 1, nfgenmsg(AF_INET) + noise)))
        except WireError:
            pass
