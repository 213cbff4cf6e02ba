"""What a YAML or JSON text says, read as Go's libraries read it."""

import math

import pytest

from kubeproxy.config.yamlscalar import needs_quotes, plain_value
from kubeproxy.config.yamltree import UnreadableText, read_tree


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("yes", True), ("On", True), ("TRUE", True), ("y", True), ("no", False), ("off", False), ("n", False),
        ("", None), ("~", None), ("null", None), ("Null", None), ("nUll", "nUll"), ("tRUE", "tRUE"),
        ("12", 12), ("-3", -3), ("1_000", 1000), ("0x1F", 31), ("0o17", 15), ("017", 15), ("0b11", 3), ("08", 8.0),
        ("1.0", 1.0), (".5", 0.5), ("1e3", 1000.0), ("1e", "1e"), ("-", "-"), (".", "."), ("1.2.3", "1.2.3"),
        ("1:30", "1:30"), ("10.0.0.1", "10.0.0.1"), ("::1", "::1"), ("2020-01-01", "2020-01-01"), ("30s", "30s"),
        ("18446744073709551615", 2**64 - 1), ("99999999999999999999", 1e20), ("1e999", "1e999"), ("9" * 400, "9" * 400),
        ("0x", "0x"), ("-.inf", -math.inf),
    ],
)  # fmt: skip
def test_what_a_bare_word_means(word, value):
    assert plain_value(word) == value
    assert type(plain_value(word)) is type(value)


def test_old_readers_take_minutes_and_seconds_for_a_number():
    assert needs_quotes("1:30")
    assert needs_quotes("2026-11-19T22:34:42Z") and needs_quotes("2026-1-2")
    assert not needs_quotes("node-2026-11-19")
    assert not needs_quotes("::1")


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("", None),
        ("# nothing\n", None),
        ("---\na: 1\n---\n{broken", {"a": 1}),
        ("\ufeffa: 1", {"a": 1}),
        ('{\n\t"a": [1,\t2],\n\t"b": "\\u00e9\\/"\n}', {"a": [1, 2], "b": "é/"}),
        ("a: 'yes'\nb: \"1\"\nc: |\n  1\n", {"a": "yes", "b": "1", "c": "1\n"}),
        ("a: !!str 5\nb: !!int '5'\nc: !custom yes", {"a": "5", "b": 5, "c": "yes"}),
        ("1: a\ntrue: b\n1.5: c", {"1": "a", "true": "b", "1.5": "c"}),
        ("x: &x {b: 1, c: 2}\nk:\n  c: 3\n  <<: *x", {"x": {"b": 1, "c": 2}, "k": {"b": 1, "c": 3}}),
        ("x: &x {b: 1}\nz: &z {b: 2, c: 3}\nk: {<<: [*x, *z]}",
         {"x": {"b": 1}, "z": {"b": 2, "c": 3}, "k": {"b": 1, "c": 3}}),
    ],
)  # fmt: skip
def test_a_document_becomes_plain_values(text, root):
    assert read_tree(text).root == root


def test_lines_and_repetitions_are_remembered_by_path():
    tree = read_tree("a: 1\nb:\n  c: 2\n  d:\n  - x\n  - k: 1\n  c: 3\na: 2\n")
    assert tree.root == {"a": 2, "b": {"c": 3, "d": ["x", {"k": 1}]}}
    assert tree.repeated == ("b.c", "a")
    assert tree.lines == {"a": 8, "b": 2, "b.c": 7, "b.d": 4, "b.d[0]": 5, "b.d[1]": 6, "b.d[1].k": 6}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: b: c", 1, "mapping values are not allowed in this context"),
        ("a: 1\n b: 2", 2, "mapping values are not allowed in this context"),
        ('a: "x', 1, "while scanning a quoted scalar, found unexpected end of stream"),
        ("a:\n\tb: 1", 2, "while scanning for the next token, found character that cannot start any token"),
        ("a: *x", 1, "unknown anchor 'x'"),
        ("a: &x [*x]", 1, "unknown anchor 'x'"),
        ("a: !!int five", 1, "'five' is not what its tag !!int says"),
        ("? [a]\n: 1", 1, "a name in a mapping must be text"),
        ("~: 1", 1, "a name in a mapping must be text"),
        ("<<: 5", 1, "'<<' must be followed by a mapping, or a list of mappings"),
        ("a: \udc80", 0, "there are characters in it that no text has"),
        ("a: \x01", 0, "there are characters in it that no text has"),
        ("[" * 60, 1, "nested too deeply, or too long"),
    ],
)
def test_a_broken_text_is_named_by_line(text, line, problem):
    with pytest.raises(UnreadableText) as caught:
        read_tree(text)
    assert (caught.value.line, caught.value.problem) == (line, problem)


def test_a_text_that_grows_when_it_is_read_stays_small():
    """Each line doubles the one before; what is shared stays shared."""
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    assert len(read_tree("\n".join(lines)).root) == 40
