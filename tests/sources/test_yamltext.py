"""YAML means what kubectl takes it to mean."""

from typing import Any

import pytest

from kubeproxy.sources.documents import Document, Fault, documents
from kubeproxy.sources.yamltext import YamlError, parts, values


def read(text: str) -> list[Any]:
    return [value for part in parts(text) for value in values(part)]


SCALARS = [
    ("80", 80), ("-1", -1), ("+5", 5), ("1_000", 1000), ("0x1F", 31), ("0b101", 5), ("0o17", 15), ("010", 8), ("0", 0),
    ("080", 80.0), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0), ("20:30", "20:30"), ("2024-01-01", "2024-01-01"),
    ("10.0.0.1", "10.0.0.1"), ("1.2.3", "1.2.3"), ("fd00::1", "fd00::1"), ("yes", True), ("Off", False),
    ("TRUE", True), ("y", "y"), ("n", "n"), ("~", None), ("null", None), ("", None), ("'80'", "80"), ('"yes"', "yes"),
    ("!!str 80", "80"), ("! 80", "80"), ("!!int '80'", 80), ("0x", "0x"), ("0b", "0b"), ("0o_", "0o_"), ("=", "="),
    ("9" * 41, "9" * 41), (".inf", ".inf"), (".nan", ".nan"), ("|\n  a\n  b", "a\nb\n"), (">-\n  a\n  b", "a b"),
]  # fmt: skip


@pytest.mark.parametrize("written, meant", SCALARS)
def test_what_a_value_means(written: str, meant: Any) -> None:
    (found,) = read(f"a: {written}\n")
    assert found == {"a": meant}
    assert type(found["a"]) is type(meant)


def test_the_name_of_a_field_is_text_as_it_was_written() -> None:
    assert read("on: 1\n80: 2\n010: 3\n~: 4\nno: 5\n1.0: 6\n") == [
        {"on": 1, "80": 2, "010": 3, "~": 4, "no": 5, "1.0": 6}
    ]


def test_anchors_and_merges() -> None:
    text = "base: &b {a: 1, b: {x: 1}}\none: {<<: *b, a: 2}\ntwo: {a: 3, <<: [*b, {a: 4, c: 5}]}\nthree: *b\n"
    base = {"a": 1, "b": {"x": 1}}
    expected = {"base": base, "one": base | {"a": 2}, "two": base | {"a": 3, "c": 5}, "three": base}
    assert read(text) == [expected]


DOCUMENTS = [
    ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("---\na: 1\n---\n---\n# nothing\n---\nb: 2", [{"a": 1}, {"b": 2}]),
    ("# a licence\n\n---\na: 1\n", [{"a": 1}]),
    ("%YAML 1.1\n---\na: 1\n", [{"a": 1}]),
    ("a: 1\n...\n---\nb: 2\n...\n", [{"a": 1}, {"b": 2}]),
    ("--- {a: 1}\n--- # c\nb: 2\n", [{"a": 1}, {"b": 2}]),
    ("a: |\n  x\n  ---\n  y\n", [{"a": "x\n---\ny\n"}]),
    ("a: 1\r\n---\r\nb: 2\r\n", [{"a": 1}, {"b": 2}]),
    ('{"a": 1}\n---\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
    ("\ufeffa: 1\n", [{"a": 1}]),
    ("", []),
    ("\n\n# only a comment\n", []),
    ("---\n---\n", []),
]


@pytest.mark.parametrize("text, expected", DOCUMENTS)
def test_documents_are_told_apart_and_empty_ones_do_not_count(text: str, expected: list[Any]) -> None:
    found = list(documents("x.yaml", text.encode()))
    assert [document.raw for document in found if isinstance(document, Document)] == expected
    assert [document.number for document in found] == list(range(1, len(expected) + 1))


def test_utf_16() -> None:
    (found,) = documents("x.yaml", "kind: Größe\n".encode("utf-16"))
    assert isinstance(found, Document) and found.raw == {"kind": "Größe"}


def test_a_broken_document_leaves_its_neighbours_readable_and_lines_count_in_the_file() -> None:
    found = list(documents("x.yaml", b"a: 1\n---\nb: [\n---\nc: 3\n---\nd: 4\ne: f: g\n"))
    assert [d.raw if isinstance(d, Document) else (d.number, d.value, d.problem) for d in found] == [
        {"a": 1},
        (2, "b: [", "line 4: not YAML: did not find expected node content while parsing a flow node"),
        {"c": 3},
        (4, "e: f: g", "line 8: not YAML: mapping values are not allowed in this context"),
    ]  # fmt: skip


def test_several_values_in_a_json_file() -> None:
    found = list(documents("x.json", b'{"a": 1}\n {"b": [2, 99999999999999999999999]}\n{"c": "\\u00e9"}  \n'))
    assert [d.raw for d in found if isinstance(d, Document)] == [
        {"a": 1},
        {"b": [2, 99999999999999999999999]},
        {"c": "é"},
    ]
    first, second = documents("x.json", b'{"a": 1} {"b" 2}')
    assert isinstance(first, Document) and isinstance(second, Fault) and second.unreadable


LISTS = [
    ('{"apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}, {"kind": "B"}]}', [("items[0]", "A"), ("items[1]", "B")]),
    ('{"apiVersion": "v1", "kind": "ServiceList", "items": [{"metadata": {}}]}', [("items[0]", "Service")]),
    ('{"apiVersion": "v1", "kind": "List", "items": [{"kind": "NodeList", "items": [{}]}]}', [("items[0].items[0]", "Node")]),
    ('{"apiVersion": "v1", "kind": "ServiceList", "items": null}', []),
    ('{"apiVersion": "x/v1", "kind": "AllowList"}', [("", "AllowList")]),
]  # fmt: skip


@pytest.mark.parametrize("text, expected", LISTS)
def test_lists_are_taken_apart(text: str, expected: list[tuple[str, str]]) -> None:
    for name in ("x.json", "x.yaml"):
        found = [d for d in documents(name, text.encode()) if isinstance(d, Document)]
        assert [(d.path, d.raw["kind"]) for d in found] == expected


def test_a_typed_list_gives_its_items_the_version() -> None:
    text = b'{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSliceList", "items": [{"addressType": "IPv4"}]}'
    (found,) = documents("x.json", text)
    assert isinstance(found, Document)
    assert found.raw == {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4"}


@pytest.mark.parametrize(
    "opening", ["[", "{a: ", "- ", "? ", "a: &a [", "!x [", "'", '"', "|", "<<: {", "&a ", "*a "]
)
def test_a_million_openings_end_quickly(opening: str) -> None:
    """The scanner is asked for one event at a time, so depth is refused long before it is built."""
    try:
        read(opening * 100_000)
    except YamlError as error:
        assert error.line >= 1
