"""Values as a file spells them: what its reader found becomes ours, or a ValueError says why not."""

import math
from typing import Any, Final, TypeAlias

from msgspec import Struct

from kubeproxy.config.duration import Duration, NanosecondCount, parse_duration
from kubeproxy.config.goliteral import float32
from kubeproxy.config.quantity import canonical_quantity

#: what a YAML or JSON reader makes of a document
Plain: TypeAlias = Any
INT32: Final = (-(2**31), 2**31 - 1)
UINT32: Final = (0, 2**32 - 1)
_INT64: Final = (-(2**63), 2**63 - 1)


class VModuleItem(Struct, frozen=True, gc=False):
    """More detail from the source files whose name matches a pattern."""

    filePattern: str
    verbosity: int


def found(value: Plain) -> str:
    """What stood there, for the end of a sentence."""
    names: tuple[tuple[Any, str], ...] = (
        (bool, "true or false"),
        ((int, float), "a number"),
        (str, "text"),
        (list, "a list"),
        (dict, "a mapping"),
    )
    return next((name for cls, name in names if isinstance(value, cls)), "nothing")


def _mismatch(wanted: str, value: Plain) -> ValueError:
    return ValueError(f"must be {wanted}, not {found(value)}")


def text(value: Plain) -> str:
    if not isinstance(value, str):
        raise _mismatch("text", value)
    return value


def boolean(value: Plain) -> bool:
    if not isinstance(value, bool):
        raise _mismatch("true or false", value)
    return value


def whole(value: Plain, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _mismatch("a whole number", value)
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("must be a whole number")
    if not low <= value <= high:
        raise ValueError(f"must be within the range [{low}, {high}]")
    return int(value)


def number(value: Plain) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _mismatch("a number", value)
    try:
        number = float32(float(value))
    except OverflowError:
        raise ValueError("is too large") from None
    if not math.isfinite(number):
        raise ValueError("must be a finite number")
    return number


def duration(value: Plain) -> Duration:
    if value is None:
        raise ValueError('time: invalid duration ""')
    if not isinstance(value, str):
        raise _mismatch("a duration with a unit", value)
    return parse_duration(value)


def flush_frequency(value: Plain) -> Duration:
    if isinstance(value, str):
        return parse_duration(value)
    return NanosecondCount(whole(value, *_INT64))


def strings(value: Plain) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _mismatch("a list", value)
    for place, entry in enumerate(value):
        if entry is not None and not isinstance(entry, str):
            raise ValueError(f"entry {place} must be text, not {found(entry)}")
    return tuple(entry or "" for entry in value)


def switches(value: Plain) -> dict[str, bool]:
    if not isinstance(value, dict):
        raise _mismatch("a mapping of names to true or false", value)
    for name, entry in value.items():
        if entry is not None and not isinstance(entry, bool):
            raise ValueError(f"{name} must be true or false, not {found(entry)}")
    return {name: bool(entry) for name, entry in value.items()}


def patterns(value: Plain) -> tuple[VModuleItem, ...]:
    if not isinstance(value, list):
        raise _mismatch("a list", value)
    return tuple(_pattern(entry, place) for place, entry in enumerate(value))


def _pattern(entry: Plain, place: int) -> VModuleItem:
    if not isinstance(entry, dict):
        raise ValueError(f"entry {place} must be a mapping of filePattern and verbosity, not {found(entry)}")
    given = {"filePattern": "", "verbosity": 0} | {
        key: value for key, value in entry.items() if value is not None
    }
    try:
        return VModuleItem(text(given["filePattern"]), whole(given["verbosity"], *UINT32))
    except ValueError as error:
        raise ValueError(f"entry {place}: {error}") from None


def quantity(value: Plain) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _mismatch("a quantity", value)
    return canonical_quantity(str(value))
