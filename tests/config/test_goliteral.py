"""Flags accept what Go's parsers accept, no more and no less."""

import pytest

from kubeproxy.config import goliteral

INT32 = (-(2**31), 2**31 - 1)


@pytest.mark.parametrize("text", ["1", "t", "T", "true", "TRUE", "True"])
def test_words_for_true(text):
    assert goliteral.parse_bool(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "false", "FALSE", "False"])
def test_words_for_false(text):
    assert goliteral.parse_bool(text) is False


@pytest.mark.parametrize("text", ["", "yes", "on", "tRUE", "2", " true"])
def test_other_words_are_neither(text):
    with pytest.raises(ValueError, match=r"strconv.ParseBool: parsing .*: invalid syntax"):
        goliteral.parse_bool(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("16", 16), ("0x10", 16), ("0X1F", 31), ("0o20", 16), ("020", 16), ("0b101", 5), ("-5", -5), ("+5", 5),
        ("0", 0), ("00", 0), ("1_000", 1000), ("0x_ff", 255), ("-2147483648", -(2**31)), ("2147483647", 2**31 - 1),
    ],
)  # fmt: skip
def test_the_prefix_tells_the_base(text, number):
    assert goliteral.parse_int(text, *INT32) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1.0", "08", "1__0", "_1", "1_", "0x", " 1", "1e3", "½", "٣", "--1"]
)
def test_what_is_no_whole_number(text):
    with pytest.raises(ValueError, match=r"strconv.ParseInt: parsing .*: invalid syntax"):
        goliteral.parse_int(text, *INT32)


@pytest.mark.parametrize("text", ["2147483648", "-2147483649", "0xffffffff"])
def test_more_than_32_bits(text):
    with pytest.raises(ValueError, match="value out of range"):
        goliteral.parse_int(text, *INT32)


@pytest.mark.parametrize(
    ("text", "why"), [("-1", "syntax"), ("0x1", "syntax"), ("", "syntax"), ("2147483648", "range"), ("9" * 5000, "range")]
)  # fmt: skip
def test_a_level_is_decimal(text, why):
    with pytest.raises(ValueError, match=why):
        goliteral.parse_decimal(text, 2**31 - 1)
    assert goliteral.parse_decimal("007", 2**31 - 1) == 7


@pytest.mark.parametrize(
    ("number", "text"), [(5.0, "5"), (0.1, "0.1"), (-1.0, "-1"), (12.5, "12.5"), (16777216.0, "16777216"), (1 / 3, "0.33333334")]
)  # fmt: skip
def test_four_byte_numbers_print_short(number, text):
    assert goliteral.float32_text(goliteral.float32(number)) == text


@pytest.mark.parametrize("text", ["", "five", "1,5", "0x", "1e400x"])
def test_what_is_no_number(text):
    with pytest.raises(ValueError, match=r"strconv.ParseFloat"):
        goliteral.parse_float32(text)


def test_a_number_that_four_bytes_cannot_hold():
    with pytest.raises(ValueError, match="value out of range"):
        goliteral.parse_float32("1e39")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        ("a,,b,", ("a", "", "b", "")),
        (" a, b", (" a", " b")),
        ('"a,b",c', ("a,b", "c")),
        ('"say ""hi""",x', ('say "hi"', "x")),
        ('""', ("",)),
        ("a\nb", ("a",)),
    ],
)
def test_lists_are_comma_separated_values(text, values):
    assert goliteral.split_list(text) == values


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('a"b', 'parse error on line 1, column 2: bare " in non-quoted field'),
        ('x,a"b', 'parse error on line 1, column 4: bare " in non-quoted field'),
        ('"a', 'parse error on line 1, column 1: extraneous or missing " in quoted-field'),
        ('"a"b', 'parse error on line 1, column 1: extraneous or missing " in quoted-field'),
    ],
)
def test_quotes_in_the_wrong_place(text, problem):
    with pytest.raises(ValueError) as caught:
        goliteral.split_list(text)
    assert str(caught.value) == problem


def test_quoting_shows_what_is_invisible():
    assert goliteral.quoted('a"b\\c\n\x07é\u200b') == '"a\\"b\\\\c\\n\\x07é\\u200b"'
    assert goliteral.quoted("x" * 300) == f'"{"x" * 200}…"'
    assert goliteral.escaped("x" * 300) == f'"{"x" * 300}"'


def test_json_is_written_as_go_writes_it():
    text = goliteral.json_text({"b": "<a & b> \u2028 µ", "a": [1, True, None]})
    assert text == '{"b":"\\u003ca \\u0026 b\\u003e \\u2028 µ","a":[1,true,null]}'
