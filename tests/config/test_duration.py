"""Durations are read and printed as Go does, because that is what every file in use was written for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproxy.config.duration import Duration, format_duration, parse_duration

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("0s", 0),
        ("30s", 30 * SECOND),
        ("1h30m", 5400 * SECOND),
        ("1h0m0s", 3600 * SECOND),
        ("1m0.25s", 60_250_000_000),
        (".5s", SECOND // 2),
        ("1.s", SECOND),
        ("-1.5h", -5400 * SECOND),
        ("+2m", 120 * SECOND),
        ("500ms", 500_000_000),
        ("100us", 100_000),
        ("100µs", 100_000),
        ("100μs", 100_000),
        ("7ns", 7),
        ("0.0000000019s", 1),
        ("2562047h47m16.854775807s", 2**63 - 1),
        ("-2562047h47m16.854775808s", -(2**63)),
    ],
)
def test_a_duration_is_read(text, nanoseconds):
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("30", 'time: missing unit in duration "30"'),
        ("1h30", 'time: missing unit in duration "1h30"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 h", 'time: unknown unit " h" in duration "1 h"'),
        ("1m-5s", 'time: unknown unit "m-" in duration "1m-5s"'),
        ("s", 'time: invalid duration "s"'),
        (".s", 'time: invalid duration ".s"'),
        ("abc", 'time: invalid duration "abc"'),
        ("--1s", 'time: invalid duration "--1s"'),
        ("2562047h47m16.854775808s", 'time: invalid duration "2562047h47m16.854775808s"'),
        ("9" * 50 + "s", f'time: invalid duration "{"9" * 50}s"'),
    ],
)
def test_what_is_no_duration_is_named(text, problem):
    with pytest.raises(ValueError) as caught:
        parse_duration(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1µs"),
        (100_000, "100µs"),
        (2_200_000, "2.2ms"),
        (500_000_000, "500ms"),
        (SECOND, "1s"),
        (3_300_000_000, "3.3s"),
        (60_250_000_000, "1m0.25s"),
        (245_000_000_000, "4m5s"),
        (3600 * SECOND, "1h0m0s"),
        (86_400 * SECOND, "24h0m0s"),
        (-90 * SECOND, "-1m30s"),
        (-(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_has_one_spelling(nanoseconds, text):
    assert format_duration(nanoseconds) == text
    assert str(Duration(nanoseconds)) == text


@given(st.integers(-(2**63), 2**63 - 1))
def test_what_is_printed_is_read_back(nanoseconds):
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


def test_seconds_are_for_arithmetic():
    assert parse_duration("1m0.25s").seconds == 60.25
