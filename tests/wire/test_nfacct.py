"""Named packet counters byte for byte."""

import pytest

from kubeproxy.wire.netlink import WireError, attribute_be64, attribute_text, frames, message
from kubeproxy.wire.nfacct import Counter, EnsureCounter, get_request, new_request, read_counter
from kubeproxy.wire.op import Operation

ANSWER = (
    "58 00 00 00 00 07 02 00 01 00 00 00 24 a2 3a b5 00 00 00 00 22 00 01 00 63 74 5f 73 74 61 74 65 "
    "5f 69 6e 76 61 6c 69 64 5f 64 72 6f 70 70 65 64 5f 70 6b 74 73 00 00 00 0c 00 02 00 00 00 00 00 "
    "00 00 00 07 0c 00 03 00 00 00 00 00 00 00 01 90 08 00 04 00 00 00 00 01"
)


def test_a_counter_is_asked_for_by_name():
    assert get_request("drops").encode(3).hex(" ") == (
        "20 00 00 00 01 07 01 00 03 00 00 00 00 00 00 00 00 00 00 00 0a 00 01 00 64 72 6f 70 73 00 00 00"
    )


def test_a_counter_is_made_and_the_making_confirmed():
    """Request, acknowledge and create; not exclusively, as an existing one is what we want."""
    assert new_request("drops").encode(3).hex(" ") == (
        "20 00 00 00 00 07 05 04 03 00 00 00 00 00 00 00 00 00 00 00 0a 00 01 00 64 72 6f 70 73 00 00 00"
    )


def test_what_the_kernel_counted_is_read():
    data = bytes.fromhex(ANSWER)
    (frame,) = frames(data, len(data))
    assert read_counter(data, frame) == Counter("ct_state_invalid_dropped_pkts", 7, 400)


@pytest.mark.parametrize("name", ["", "x" * 32, "ü" * 16])
def test_names_the_kernel_would_refuse_are_not_sent(name):
    with pytest.raises(WireError, match="a name has 1 to 31 bytes"):
        get_request(name)


def test_the_longest_name_fits():
    assert new_request("x" * 31).payload == bytes(4) + attribute_text(1, "x" * 31)


def test_an_answer_that_lacks_something_is_refused_by_what_it_lacks():
    data = message(0x700, 0, 1, bytes(4) + attribute_be64(2, 1))
    (frame,) = frames(data, len(data))
    with pytest.raises(WireError, match="the answer lacks name, bytes"):
        read_counter(data, frame)


def test_to_ensure_one_is_something_the_hands_can_do():
    assert isinstance(EnsureCounter("drops"), Operation)
