"""Wherever the bytes of a watch or a list are cut, the same lines and items come out."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.sources.apiserver.items import Items, ListHead
from kubeproxy.sources.apiserver.lines import Lines, TooLong
from kubeproxy.sources.http.failure import Garbled

CUTS = st.lists(st.integers(0, 100_000), max_size=20)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [data[start:end] for start, end in pairwise(places) if end > start]


LINES = st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"")), max_size=12)


@given(LINES, CUTS)
def test_lines_come_whole(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    splitter = Lines()
    found = [line for piece in pieces(data, cuts) for line in splitter.feed(piece)]
    assert found == [line for line in lines if line]
    assert not splitter.within


@given(LINES, CUTS)
def test_a_line_that_is_too_long_goes_by(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    splitter = Lines(longest=30)
    found = [line for piece in pieces(data, cuts) for line in splitter.feed(piece)]
    wanted = [line for line in lines if line]
    assert len(found) == len(wanted)
    for line, whole in zip(found, wanted, strict=True):
        if isinstance(line, TooLong):
            assert len(whole) > 30 and whole.startswith(line.start)
        else:
            assert line == whole and len(whole) <= 30


def test_a_line_without_an_end_is_not_held() -> None:
    splitter = Lines(longest=1000)
    for _ in range(100):
        assert splitter.feed(b"x" * 500) == []
    assert splitter.within
    assert splitter.feed(b"\nnext\n") == [TooLong(b"x" * 1500), b"next"]
    assert not splitter.within


TEXT = st.sampled_from(["a", '},{"metadata":', "]}", '\\"', "ü", "items", '"items":['])
VALUE = st.recursive(
    TEXT | st.integers(0, 9) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["metadata", "kind", "items", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)
ITEM = st.builds(
    lambda name, spec: {"metadata": {"name": name}, **spec},
    TEXT,
    st.just({}) | st.fixed_dictionaries({"spec": VALUE}),
)


def written(items: list[Any], **meta: str) -> bytes:
    whole = {"kind": "List", "metadata": meta, "items": items}
    return json.dumps(whole, separators=(",", ":")).encode() + b"\n"


def read(data: bytes, cuts: list[int]) -> tuple[ListHead, list[Any], int]:
    """What the list says of itself, its items, and how many of them came before its end."""
    splitter = Items()
    early = [item for piece in pieces(data, cuts) for item in splitter.feed(piece)]
    head, late = splitter.end()
    return head, [json.loads(item) for item in (*early, *late)], len(early)


@given(st.lists(ITEM, max_size=6), CUTS)
def test_items_come_whole_and_all_but_the_last_at_once(items: list[Any], cuts: list[int]) -> None:
    head, found, early = read(written(items, resourceVersion="7", **{"continue": "abc"}), cuts)
    assert (head.version, head.page) == ("7", "abc")
    assert found == items
    assert early == max(0, len(items) - 1)


@pytest.mark.parametrize(
    "text",
    [
        '{"metadata":{"resourceVersion":"7"},"items":null}',
        '{"metadata":{"resourceVersion":"7"},"items":[]}',
        '{"metadata":{"resourceVersion":"7"}}',
        '{"items":[],"metadata":{"resourceVersion":"7"}}',
        '{\n  "metadata": {\n    "resourceVersion": "7"\n  },\n  "items": [\n  ]\n}',
    ],
)
def test_an_empty_list(text: str) -> None:
    head, found, _ = read(text.encode(), list(range(len(text))))
    assert (head.version, head.page, found) == ("7", "", [])


def test_a_list_that_is_written_for_people_is_read_too() -> None:
    items = [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]
    text = json.dumps({"metadata": {"resourceVersion": "7"}, "items": items}, indent=2)
    assert read(text.encode(), [5, 50, 90])[1] == items


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nothing",
        b'{"metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":{"na',
        b'{"metadata":{},"items":[{"metadata":{"name":"a"}}',
        b'{"metadata":{},"items":[{"metadata":{"name":"a"}},{"metadata":}]}',
        b'{"metadata":5,"items":[]}',
    ],
)
def test_a_list_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(Garbled):
        read(text, [10])


def test_neither_an_item_nor_a_list_without_end_is_held() -> None:
    """What is garbled looks like one item for ever, and what has no separators like one too."""
    splitter = Items(longest=10_000, most=100_000)
    with pytest.raises(Garbled, match="an item of more than 10000 bytes"):
        for _ in range(10_000):
            splitter.feed(
                b'{"items":[{"metadata":{"x":!},' if not splitter._head else b'{"y":0},{"metadata":1'
            )
    splitter = Items(longest=10_000, most=100_000)
    with pytest.raises(Garbled, match="goes on for 100000 bytes"):
        for _ in range(10_000):
            splitter.feed(b" " * 50)
