"""The socket filter that keeps our own announcements away: its bytes, and what it lets pass."""

import struct
import sys

import pytest

from kubeproxy.wire.netlink import AF_INET, attribute_text, message, nfgenmsg
from kubeproxy.wire.nfnotify import commits_only, silence

NEW_RULE, NEW_GENERATION, DELETED_RULE = 0x0A06, 0x0A0F, 0x0A08


def passes(program: bytes, data: bytes) -> bool:
    """Run a filter as the kernel's manual says: loads are big-endian, the returned number of bytes is kept."""
    steps = list(struct.iter_unpack("=HBBI", program))
    at, loaded = 0, 0
    while True:
        code, true, false, operand = steps[at]
        at += 1
        match code:
            case 0x20:  # load a word
                loaded = int.from_bytes(data[operand : operand + 4], "big")
            case 0x28:  # load half a word
                loaded = int.from_bytes(data[operand : operand + 2], "big")
            case 0x15:  # jump if equal
                at += true if loaded == operand else false
            case 0x06:  # return
                return operand > 0
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


def announced(kind: int, port: int) -> bytes:
    return message(kind, 0, 1, nfgenmsg(AF_INET) + attribute_text(1, "nat"), port)


@pytest.mark.skipif(sys.byteorder == "big", reason="these bytes are of a little-endian machine")
def test_the_filter_for_one_port_byte_for_byte():
    assert silence([0x1234]).hex(" ", 8).split() == [
        "200000000c000000",  # load the port, at byte 12
        "1500010000001234",  # ours? then go on two steps further
        "06000000ffffffff",  # it is not: let all of it pass
        "2800000004000000",  # load the kind, at byte 4
        "150000010a0f0000",  # is it a commit?
        "06000000ffffffff",  # then let it pass
        "0600000000000000",  # else nothing
    ]


@pytest.mark.parametrize("ports", [[], [77], [77, 5000, 2**32 - 1], range(1, 151)], ids=len)
def test_of_what_we_do_only_the_commit_is_heard_and_all_that_others_do(ports):
    program = silence(ports)
    for port in (*ports, 76, 78, 2**31, 0):
        for kind in (NEW_RULE, DELETED_RULE):
            assert passes(program, announced(kind, port)) is (port not in ports)
        assert passes(program, announced(NEW_GENERATION, port))


def test_more_ports_than_a_jump_reaches_are_left_to_the_reader():
    program = silence(range(1, 1000))
    assert len(program) // 8 < 256
    assert not passes(program, announced(NEW_RULE, 1))
    assert passes(program, announced(NEW_RULE, 999))


def test_a_roll_call_hears_commits_of_everybody_and_nothing_else():
    for port in (0, 77):
        assert passes(commits_only(), announced(NEW_GENERATION, port))
        assert not passes(commits_only(), announced(NEW_RULE, port))
        assert not passes(commits_only(), announced(DELETED_RULE, port))
