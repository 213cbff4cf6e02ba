"""Literals as Go reads and writes them: flags and files were always parsed by Go, so its rules hold."""

import json
import re
import struct
from typing import Any, Final

_TRUE: Final = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "false", "FALSE", "False"))
_NUMBER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<x>_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)|0[bB](?P<b>_?[01]+(?:_[01]+)*)"
    r"|0[oO]?(?P<o>_?[0-7]+(?:_[0-7]+)*)|(?P<d>0|[1-9][0-9]*(?:_[0-9]+)*))\Z",
    re.ASCII,
)
_BASES: Final = (("x", 16), ("b", 2), ("o", 8), ("d", 10))
_FLOAT: Final = re.compile(
    r"[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|(?i:inf|infinity))\Z|(?i:nan)\Z", re.ASCII
)
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LONGEST: Final = 200
#: written as escapes in JSON, so that a page can stand inside HTML
_NOT_IN_JSON: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def json_text(value: Any) -> str:
    """JSON without blanks, in the order of the names, and with Go's escapes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(_NOT_IN_JSON)


def quoted(text: str) -> str:
    """Text in double quotes, with the invisible made visible; very long text is cut."""
    return escaped(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")


def escaped(text: str) -> str:
    """Text in double quotes, all of it."""
    chars = (_ESCAPES.get(char) or (char if char.isprintable() else _hex(char)) for char in text)
    return f'"{"".join(chars)}"'


def parse_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"strconv.ParseBool: parsing {quoted(text)}: invalid syntax")


def parse_int(text: str, low: int, high: int) -> int:
    """A whole number whose prefix tells its base: 16, 0x10 and 0o20 are the same."""
    number = literal_int(text)
    if number is None:
        raise ValueError(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")
    if not low <= number <= high:
        raise ValueError(f"strconv.ParseInt: parsing {quoted(text)}: value out of range")
    return number


def parse_decimal(text: str, high: int) -> int:
    """A whole number of decimal digits only, without a sign."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"strconv.ParseUint: parsing {quoted(text)}: invalid syntax")
    if len(text.lstrip("0")) > len(str(high)) or int(text) > high:
        raise ValueError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def literal_int(text: str) -> int | None:
    """The number, however large, or None when it is none."""
    found = _NUMBER.match(text)
    if found is None:
        return None
    base, digits = next((base, found[name]) for name, base in _BASES if found[name] is not None)
    digits = digits.replace("_", "")
    if len(digits) > _LONGEST:
        return None
    return -int(digits, base) if found["sign"] == "-" else int(digits, base)


def parse_float32(text: str) -> float:
    if not _FLOAT.match(text):
        raise ValueError(f"strconv.ParseFloat: parsing {quoted(text)}: invalid syntax")
    try:
        return float32(float(text))
    except OverflowError:
        raise ValueError(f"strconv.ParseFloat: parsing {quoted(text)}: value out of range") from None


def float32(number: float) -> float:
    """The nearest number that four bytes hold; OverflowError when there is none."""
    narrowed: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return narrowed


def float32_text(number: float) -> str:
    """The shortest text that reads back as the same four bytes: 5, 0.1, 1e+10."""
    spellings = (f"{number:.{digits}g}" for digits in range(1, 10))
    return next(text for text in spellings if float32(float(text)) == number)


def split_list(text: str) -> tuple[str, ...]:
    """Comma-separated values, where quotes protect a comma; no text is no value."""
    if text == "":
        return ()
    if '"' not in text and "\n" not in text:
        return tuple(text.split(","))
    return _quoted_list(text)


def _quoted_list(text: str) -> tuple[str, ...]:
    """The rare list with quotes: only its first line counts."""
    values: list[str] = []
    rest = text
    while True:
        if rest.startswith('"'):
            value, rest = _quoted_value(rest, text)
        else:
            value, _, _ = rest.partition("\n")[0].partition(",")
            rest = rest[len(value) :]
            if '"' in value:
                column = len(text) - len(rest) - len(value) + value.index('"') + 1
                raise ValueError(f'parse error on line 1, column {column}: bare " in non-quoted field')
        values.append(value)
        if not rest.startswith(","):
            return tuple(values)
        rest = rest[1:]


def _quoted_value(rest: str, text: str) -> tuple[str, str]:
    """One value in quotes, in which a doubled quote stands for one; and what follows it."""
    found = re.match(r'"((?:[^"]|"")*)"(?=[,\n]|\Z)', rest)
    if found is None:
        column = len(text) - len(rest) + 1
        raise ValueError(f'parse error on line 1, column {column}: extraneous or missing " in quoted-field')
    return found[1].replace('""', '"'), rest[found.end() :]


def _hex(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
