"""What a legacy table tells about itself, byte for byte."""

import pytest

from kubeproxy.wire.netlink import WireError
from kubeproxy.wire.tableinfo import SIZE, TableInfo, question, read_info


def test_the_question_is_the_name_in_the_memory_of_the_answer():
    assert SIZE == 84
    assert question("nat") == b"nat" + bytes(81)


def test_the_answer_ends_with_the_number_of_entries_and_their_size():
    hooks = bytes(4 + 5 * 4 + 5 * 4)
    answer = b"nat".ljust(32, b"\0") + hooks + (6).to_bytes(4, "little") + (936).to_bytes(4, "little")
    assert read_info(answer) == TableInfo(entries=6, size=936)


@pytest.mark.parametrize("name", ["", "t" * 32])
def test_names_the_kernel_would_cut_are_not_asked_for(name):
    with pytest.raises(WireError, match="a name has 1 to 31 bytes"):
        question(name)


def test_an_answer_of_another_size_is_refused():
    with pytest.raises(WireError, match="80 bytes, it has 84"):
        read_info(bytes(80))
