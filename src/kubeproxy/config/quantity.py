"""Amounts such as 64Ki or 1M, kept in the one spelling Kubernetes writes them in."""

import re
from fractions import Fraction
from typing import Final

_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3}|)\Z",
    re.ASCII,
)
_BINARY: Final = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_SMALLEST: Final = Fraction(1, 10**9)


def canonical_quantity(text: str) -> str:
    """The same amount with the largest suffix that leaves a whole number, or a ValueError."""
    found = _QUANTITY.match(text)
    if found is None:
        raise ValueError("quantities must match the regular expression " + _DESCRIBED)
    suffix = found["suffix"]
    amount = Fraction(found["number"] if found["number"] != "." else "0") * _factor(suffix)
    amount = -(-amount // _SMALLEST) * _SMALLEST  # finer than a billionth is rounded away from zero
    sign = "-" if found["sign"] == "-" and amount else ""
    if suffix in _BINARY and amount >= 1024 and amount.denominator == 1:
        return sign + _with_binary_suffix(int(amount))
    return sign + _with_decimal_suffix(amount, exponent=suffix[:1] in ("e", "E") and len(suffix) > 1)


_DESCRIBED: Final = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def _factor(suffix: str) -> Fraction:
    if suffix in _BINARY:
        return Fraction(_BINARY[suffix])
    if suffix in _DECIMAL:
        return Fraction(10) ** _DECIMAL[suffix]
    return Fraction(10) ** int(suffix[1:])


def _with_binary_suffix(amount: int) -> str:
    for suffix, size in reversed(_BINARY.items()):
        if amount % size == 0:
            return f"{amount // size}{suffix}"
    return str(amount)


def _with_decimal_suffix(amount: Fraction, exponent: bool) -> str:
    if amount == 0:
        return "0"
    for suffix, power in reversed(_DECIMAL.items()):
        scaled = amount / Fraction(10) ** power
        if scaled.denominator == 1:
            ending = (f"e{power}" if power else "") if exponent else suffix
            return f"{scaled.numerator}{ending}"
    raise AssertionError("every amount is a whole number of billionths")
