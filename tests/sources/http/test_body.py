"""Wherever the bytes of an answer are cut, its body is the same."""

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.sources.http.body import Chunked, Counted, Gunzip, UntilClosed, coding_of, framing_of
from kubeproxy.sources.http.failure import Cut, Garbled
from kubeproxy.sources.http.message import Head

CHUNKS = b"5\r\nhello\r\n1;name=value\r\n,\r\n00000B\r\n world\r\n\r\nx\r\n0\r\nTrailer: 1\r\n\r\n"
BODY = b"hello, world\r\n\r\nx"


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [data[start:end] for start, end in pairwise(places) if end > start]


CUTS = st.lists(st.integers(0, 10_000), max_size=12)


@given(CUTS)
def test_chunks_come_together_wherever_they_are_cut(cuts: list[int]) -> None:
    framing = Chunked()
    found = b"".join(framing.feed(piece) for piece in pieces(CHUNKS, cuts))
    assert (found, framing.done, framing.left_over) == (BODY, True, False)
    framing.hang_up()


@pytest.mark.parametrize("size", range(len(CHUNKS)))
def test_chunks_that_break_off_anywhere_are_cut(size: int) -> None:
    framing = Chunked()
    framing.feed(CHUNKS[:size])
    with pytest.raises(Cut):
        framing.hang_up()


@pytest.mark.parametrize(
    "data",
    [
        b"x\r\n",
        b"-1\r\n",
        b"+5\r\n",
        b"0x5\r\n",
        b"5_0\r\n",
        b"\r\n",
        b"ffffffffffffffff\r\n",
        b"5\r\nhello!\r\n",
        b"5" * 5000,
        b"0\r\n" + b"a: b\r\n" * 200,
    ],
)
def test_what_are_no_chunks_is_refused(data: bytes) -> None:
    with pytest.raises(Garbled):
        Chunked().feed(data)


def test_more_than_was_asked_for_is_noticed() -> None:
    """Whatever it is, the next answer on this connection would begin with it."""
    chunked, counted = Chunked(), Counted(2)
    assert (chunked.feed(b"0\r\n\r\nHTTP/1.1"), chunked.done, chunked.left_over) == (b"", True, True)
    assert (counted.feed(b"abc"), counted.done, counted.left_over) == (b"ab", True, True)


def test_a_counted_body_that_ends_early_is_cut() -> None:
    framing = Counted(10)
    assert framing.feed(b"12345") == b"12345"
    with pytest.raises(Cut, match="5 bytes too early"):
        framing.hang_up()


def test_a_body_may_end_with_the_connection() -> None:
    framing = UntilClosed()
    assert (framing.feed(b"abc"), framing.done) == (b"abc", False)
    framing.hang_up()
    assert framing.done


def head(**headers: str) -> Head:
    return Head(200, "OK", {name.replace("_", "-"): value for name, value in headers.items()}, False)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (head(content_length="0"), Counted),
        (head(transfer_encoding="Chunked"), Chunked),
        (head(transfer_encoding="chunked", content_length="5"), Chunked),
        (head(), UntilClosed),
    ],
)
def test_a_head_tells_the_framing(answer: Head, kind: type) -> None:
    assert type(framing_of(answer, "GET")) is kind


def test_some_answers_have_no_body() -> None:
    for answer, method in ((Head(204, "", {}, False), "GET"), (head(content_length="9"), "HEAD")):
        assert framing_of(answer, method).done


@pytest.mark.parametrize(
    "answer",
    [
        head(content_length="-1"),
        head(content_length="5x"),
        head(content_length="9" * 20),
        head(transfer_encoding="gzip, chunked"),
        head(transfer_encoding="identity"),
    ],
)
def test_a_framing_nobody_knows_is_refused(answer: Head) -> None:
    with pytest.raises(Garbled):
        framing_of(answer, "GET")


@given(st.binary(max_size=5000), CUTS)
def test_a_packed_body_is_unpacked_wherever_it_is_cut(body: bytes, cuts: list[int]) -> None:
    coding = Gunzip()
    found = b""
    # Two members, one after the other: together they are the body twice.
    for piece in pieces(gzip.compress(body) * 2, cuts):
        coding.feed(piece)
        while got := coding.take():
            found += got
    coding.finish()
    assert found == body * 2


def test_a_small_answer_that_holds_a_huge_one_comes_in_pieces() -> None:
    bomb = zlib.compressobj(wbits=31)
    packed = bomb.compress(bytes(50_000_000)) + bomb.flush()
    coding = Gunzip()
    coding.feed(packed)
    sizes = []
    while piece := coding.take():
        sizes.append(len(piece))
    coding.finish()
    assert (sum(sizes), max(sizes)) == (50_000_000, 256 * 1024)


def test_a_packed_body_that_breaks_off_is_cut_and_one_that_is_none_is_refused() -> None:
    coding = Gunzip()
    coding.feed(gzip.compress(b"hello" * 100)[:-3])
    while coding.take():
        pass
    with pytest.raises(Cut):
        coding.finish()
    broken = Gunzip()
    broken.feed(b"this is not gzip")
    with pytest.raises(Garbled):
        broken.take()


def test_a_coding_nobody_asked_for_is_refused() -> None:
    assert type(coding_of(head(content_encoding="gzip"))) is Gunzip
    with pytest.raises(Garbled):
        coding_of(head(content_encoding="br"))
