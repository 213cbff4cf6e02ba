"""Which plain words mean more than text to a YAML reader: the rules of 1.1, as Go's library applies them."""

import re
from typing import Any, Final

from kubeproxy.config.goliteral import literal_int

_WORDS: Final[dict[str, Any]] = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True)
    | dict.fromkeys(("false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"), False)
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf"))
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf"))
    | dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan"))
)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_SEXAGESIMAL: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z", re.ASCII)
_DAY: Final = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_CLOCK: Final = r"[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})?"
_MOMENT: Final = re.compile(rf"{_DAY}(?:[Tt ]{_CLOCK})?\Z", re.ASCII)


def plain_value(text: str) -> Any:
    """What a word without quotes means: nothing, true or false, a number, or itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    number = literal_int(digits)
    if number is not None and -(2**63) <= number < 2**64:
        return number
    if _FLOAT.match(digits):
        real = float(digits)
        return text if real in (float("inf"), float("-inf")) else real
    return text


def needs_quotes(text: str) -> bool:
    """Whether a reader, old ones included, would take the bare word for something other than text."""
    odd = _SEXAGESIMAL.match(text) or _MOMENT.match(text)
    return odd is not None or not isinstance(plain_value(text), str)
