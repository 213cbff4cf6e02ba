"""Complaint: something in an object that cannot be used as it is written."""

from enum import StrEnum

from msgspec import Struct

from kubeproxy.api.meta import Ref


class Severity(StrEnum):
    """Whether something is missing because of it, or merely not as its author may think."""

    ERROR = "error"
    WARNING = "warning"


class Complaint(Struct, frozen=True, gc=False):
    """What is wrong, where, and what to do; the rest of the object is used all the same."""

    about: Ref
    field: str
    value: str
    problem: str
    remedy: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.about}: {self.field} {self.value!r}: {self.problem} ({self.remedy})"


class Complaints:
    """Gathers what there is to say about one object while it is read."""

    __slots__ = ("_about", "_said")

    def __init__(self, about: Ref) -> None:
        self._about = about
        self._said: list[Complaint] = []

    def add(
        self, field: str, value: object, problem: str, remedy: str, severity: Severity = Severity.ERROR
    ) -> None:
        text = value if isinstance(value, str) else "" if value is None else str(value)
        self._said.append(Complaint(self._about, field, text, problem, remedy, severity))

    def all(self) -> tuple[Complaint, ...]:
        return tuple(self._said)
