"""Dial and Answer: what a resident is asked to try, and what came of it."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, convert

from kubeproxy.cli.stage import dialling


class Fate(StrEnum):
    """What the one who dialled could see."""

    ARRIVED = dialling.ARRIVED
    REFUSED = dialling.REFUSED
    SILENT = dialling.SILENT
    UNREACHABLE = dialling.UNREACHABLE
    FAILED = "failed"


class Dial(Struct, frozen=True):
    """One connection to try, from a room and perhaps from one of its addresses."""

    room: str
    to: str
    port: int
    protocol: str = "TCP"
    source: str = ""
    timeout: float = 3.0
    path: str = "/"
    #: 0 lets the kernel choose; a datagram from the same port again belongs to the same flow
    source_port: int = 0

    def order(self) -> dict[str, Any]:
        """For the resident, which knows no structs."""
        return {
            "to": self.to,
            "port": self.port,
            "protocol": self.protocol,
            "source": self.source,
            "timeout": self.timeout,
            "path": self.path,
            "source_port": self.source_port,
        }

    def __str__(self) -> str:
        to = f"[{self.to}]" if ":" in self.to else self.to
        origin = f" ({self.source})" if self.source else ""
        return f"{self.room}{origin} → {to}:{self.port}/{self.protocol}"


class Answer(Struct, frozen=True):
    """What came of a dial: for one that arrived who answered, at which address, and whom it saw."""

    outcome: Fate
    name: str = ""
    at: str = ""
    sees: str = ""
    text: str = ""
    error: str = ""
    began: int = 0
    ended: int = 0

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        return (self.ended - self.began) / 1e6

    @property
    def client(self) -> str:
        """The address the server saw, without the port."""
        return self.sees.rpartition(":")[0].strip("[]")

    def __str__(self) -> str:
        if self.outcome is Fate.ARRIVED:
            return f"{self.name} at {self.at} sees {self.client}" if self.name else self.text.strip()
        error = f" ({self.error})" if self.error else ""
        return f"{self.outcome} after {self.milliseconds:.0f} ms{error}"


def answer(said: dict[str, Any]) -> Answer:
    """An answer as a resident gives it."""
    return convert(said, Answer)
