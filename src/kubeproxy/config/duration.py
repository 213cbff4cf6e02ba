"""Durations as Go writes them: 1h0m0s, 1m0.25s, 500ms, 0s."""

import re
from typing import Final

from kubeproxy.config.goliteral import quoted

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_SECOND: Final = 1_000_000_000
_LARGEST: Final = 2**63 - 1
_MOST_DIGITS: Final = 40
_FINEST: Final = 18
#: one number with its unit: digits, digits after the point, whatever stands before the next number
_TERM: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
#: below this, one unit is enough
_SMALL: Final = ((1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


class Duration(int):
    """A length of time in nanoseconds, as an exact whole number."""

    @property
    def seconds(self) -> float:
        return self / _SECOND

    def __str__(self) -> str:
        return format_duration(self)

    def __repr__(self) -> str:
        return f"Duration({self})"


class NanosecondCount(Duration):
    """A duration that the file gave as a bare number of nanoseconds, and that is written back as one."""


def parse_duration(text: str) -> Duration:
    """The duration, or a ValueError in the words operators know from the stock proxy."""
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if body == "0":
        return Duration(0)
    if body == "":
        raise ValueError(f"time: invalid duration {quoted(text)}")
    total, position = 0, 0
    while position < len(body):
        found = _TERM.match(body, position)
        if found is None or not (found[1] or found[2]):
            raise ValueError(f"time: invalid duration {quoted(text)}")
        total += _term(found[1], found[2] or "", found[3], text)
        position = found.end()
    if total > _LARGEST + (sign < 0):
        raise ValueError(f"time: invalid duration {quoted(text)}")
    return Duration(sign * total)


def _term(whole: str, fraction: str, unit: str, text: str) -> int:
    if not unit:
        raise ValueError(f"time: missing unit in duration {quoted(text)}")
    if unit not in _UNITS:
        raise ValueError(f"time: unknown unit {quoted(unit)} in duration {quoted(text)}")
    if len(whole) > _MOST_DIGITS:
        raise ValueError(f"time: invalid duration {quoted(text)}")
    digits = fraction[:_FINEST]
    return int(whole or 0) * _UNITS[unit] + int(digits.ljust(_FINEST, "0")) * _UNITS[unit] // 10**_FINEST


def format_duration(nanoseconds: int) -> str:
    """The one spelling of a duration."""
    sign, rest = ("-", -int(nanoseconds)) if nanoseconds < 0 else ("", int(nanoseconds))
    if rest == 0:
        return "0s"
    if rest < _SECOND:
        size, unit = next((size, unit) for size, unit in _SMALL if rest >= size)
        return f"{sign}{_decimal(rest, size)}{unit}"
    minutes, rest = divmod(rest, 60 * _SECOND)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, _SECOND)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _decimal(number: int, size: int) -> str:
    """number / size in full, without trailing zeros."""
    whole, rest = divmod(number, size)
    fraction = f"{rest:0{len(str(size)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)
