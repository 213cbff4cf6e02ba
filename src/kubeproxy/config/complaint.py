"""What is wrong with what the operator asked for: the thing, the problem and the next step."""

import json
from collections.abc import Iterable
from enum import Enum

from msgspec import Struct

from kubeproxy.config.goliteral import quoted


class Form(Enum):
    """How the stock validation words a complaint; the value is its prefix."""

    INVALID = "Invalid value"
    UNSUPPORTED = "Unsupported value"
    DUPLICATE = "Duplicate value"
    REQUIRED = "Required value"
    FORBIDDEN = "Forbidden"
    #: no prefix and no path: the problem is the whole sentence
    PLAIN = ""


class Complaint(Struct, frozen=True):
    """One thing to change before the proxy can start.

    `field` is where the operator finds it: a path in the file, or a flag. `path` is what the stock proxy's
    validation calls the same place; scripts look for that text, so `stock` can still say it.
    """

    field: str
    value: object
    problem: str
    remedy: str
    path: str = ""
    form: Form = Form.INVALID
    #: file and line, where known
    where: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        if self.form is Form.PLAIN:
            return f"{place}{self.problem}; {self.remedy}"
        found = "" if self.form in (Form.REQUIRED, Form.FORBIDDEN) else f" (found {shown(self.value)})"
        return f"{place}{self.field}: {self.spoken}{found}; {self.remedy}"

    @property
    def spoken(self) -> str:
        """The problem as part of a sentence."""
        if self.form is Form.DUPLICATE:
            return "is listed more than once"
        return self.problem

    @property
    def stock(self) -> str:
        """The complaint as the stock proxy words it."""
        if self.form is Form.PLAIN:
            return self.problem
        start = f"{self.path or self.field}: {self.form.value}"
        if self.form in (Form.REQUIRED, Form.FORBIDDEN):
            return f"{start}: {self.problem}"
        detail = "" if self.form is Form.DUPLICATE else f": {self.problem}"
        return f"{start}: {shown(self.value)}{detail}"


class ConfigError(Exception):
    """Everything that is wrong, at once: nobody should have to start the proxy ten times to learn it."""

    def __init__(self, *complaints: Complaint) -> None:
        super().__init__(*complaints)
        self.complaints = complaints

    def __str__(self) -> str:
        return "\n".join(str(complaint) for complaint in self.complaints)


class Remark(Enum):
    """Why a notice is given."""

    UNKNOWN = "unknown field"
    REPEATED = "duplicate field"
    NO_MODE = "mode is not set"
    NO_EFFECT = "has no effect here"
    OLD_GATE = "feature gate"


class Notice(Struct, frozen=True):
    """Something in the file that does not stop the proxy, but that the operator should hear of."""

    remark: Remark
    field: str
    remedy: str
    where: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        if self.remark is Remark.NO_MODE:
            return f"{place}{self.remark.value}; {self.remedy}"
        if self.remark is Remark.OLD_GATE:
            return f"{place}{self.remark.value} {self.field}; {self.remedy}"
        if self.remark is Remark.NO_EFFECT:
            return f"{place}{self.field} {self.remark.value}; {self.remedy}"
        return f'{place}{self.remark.value} "{self.field}"; {self.remedy}'


def strictness(notices: Iterable[Notice]) -> str:
    """What made the strict pass fail, in the stock words, or "" when it did not fail."""
    faults = [
        f'{notice.remark.value} "{notice.field}"'
        for notice in notices
        if notice.remark in (Remark.UNKNOWN, Remark.REPEATED)
    ]
    return f"strict decoding error: {', '.join(faults)}" if faults else ""


def summary(complaints: Iterable[Complaint]) -> str:
    """All complaints in the stock wording: one alone, several in brackets, repetitions once."""
    texts = list(dict.fromkeys(complaint.stock for complaint in complaints))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def shown(value: object) -> str:
    """A value as complaints show it: text and durations in quotes, numbers bare, lists as JSON."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if type(value) in (int, float):
        return str(value)
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        if all(isinstance(entry, (str, int, float)) for entry in value):
            return json.dumps(list(value), ensure_ascii=False, separators=(",", ":"))
        return "a list"
    return quoted(str(value))
