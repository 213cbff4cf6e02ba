"""Amounts such as 64Ki or 1M, kept in the one spelling Kubernetes writes them in."""

import re
from typing import Final

_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?=\.?[0-9])(?P<whole>[0-9]{0,40})(?:\.(?P<fraction>[0-9]{0,40}))?"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3}|)\Z",
    re.ASCII,
)
_RULE: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BINARY: Final = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)}
#: powers of ten, largest first
_DECIMAL: Final = {
    "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "": 0, "m": -3, "u": -6, "n": -9,
}  # fmt: skip
#: amounts are counted in billionths, the finest that is kept
_FINEST: Final = -9
_ONE: Final = 10**9


def canonical_quantity(text: str) -> str:
    """The same amount with the largest suffix that leaves a whole number, or a ValueError."""
    negative, amount, suffix = _parsed(text)
    sign = "-" if negative and amount else ""
    if suffix in _BINARY and amount >= 1024 * _ONE and amount % _ONE == 0:
        return sign + _with_binary_suffix(amount // _ONE)
    return sign + _with_decimal_suffix(amount, exponent=len(suffix) > 1 and suffix not in _BINARY)


def whole_bytes(text: str) -> int:
    """An amount as a number, rounded up; what is less than nothing is nothing."""
    negative, amount, _ = _parsed(text)
    return 0 if negative else -(-amount // _ONE)


def _parsed(text: str) -> tuple[bool, int, str]:
    """Whether it is negative, the amount in billionths, and the suffix it was written with."""
    found = _QUANTITY.match(text)
    if found is None:
        raise ValueError(_RULE)
    suffix, fraction = found["suffix"], found["fraction"] or ""
    digits = int(found["whole"] + fraction or 0)
    if suffix in _BINARY:
        amount = _scaled(digits * _BINARY[suffix], -len(fraction))
    else:
        power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
        amount = _scaled(digits, power - len(fraction))
    return found["sign"] == "-", amount, suffix


def _scaled(digits: int, power: int) -> int:
    """digits · 10^power in billionths; what is finer is rounded away from zero."""
    shift = power - _FINEST
    ten: int = 10 ** abs(shift)
    return digits * ten if shift >= 0 else -(-digits // ten)


def _with_binary_suffix(amount: int) -> str:
    suffix, size = next(((s, size) for s, size in reversed(_BINARY.items()) if amount % size == 0), ("", 1))
    return f"{amount // size}{suffix}"


def _with_decimal_suffix(amount: int, exponent: bool) -> str:
    if amount == 0:
        return "0"
    suffix, power = next((s, p) for s, p in _DECIMAL.items() if amount % 10 ** (p - _FINEST) == 0)
    ending = f"e{power}" if exponent and power else "" if exponent else suffix
    return f"{amount // 10 ** (power - _FINEST)}{ending}"
