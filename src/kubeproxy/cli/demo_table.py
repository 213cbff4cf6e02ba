"""The demo's table: who dials what, where it arrived, whom the pod saw, and why."""

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from kubeproxy.cli.demo_cluster import Row
from kubeproxy.cli.stage.questions import Answer, Fate
from kubeproxy.packets.packet import Story

if TYPE_CHECKING:
    from rich.console import Console

HEADINGS = ("who", "dials", "arrived at", "the pod saw", "why")
#: without a terminal there is no width to fit, and a log is better long than folded
WIDE = 190


class Line(Struct, frozen=True):
    """One line of the table; `lie` says how it differs from what the oracle told, or nothing."""

    row: Row
    story: Story
    answer: Answer
    #: who answered how often, for a row that is dialled many times
    answered: Mapping[str, int] = {}
    lie: str = ""

    def cells(self, names: Mapping[str, str]) -> tuple[str, ...]:
        """The texts of the line; `names` are the rooms by their addresses."""
        dial = self.row.dial
        to = f"[{dial.to}]" if ":" in dial.to else dial.to
        udp = "" if dial.protocol == "TCP" else f"/{dial.protocol}"
        seen = seen_as(self.answer, names)
        why = self.lie and f"UNEXPECTED: {self.lie}"
        what = f"{self.row.what}: {to}:{dial.port}{udp}"
        return (self.row.who, what, self._arrived(names), seen, why or because(self.story))

    def _arrived(self, names: Mapping[str, str]) -> str:
        if self.row.times > 1 and self.answer.outcome is Fate.ARRIVED:
            shares = sorted((name_of(at, names), count) for at, count in self.answered.items())
            return ", ".join(f"{name} {count}x" for name, count in shares)
        if self.answer.outcome is Fate.ARRIVED:
            return f"{self.answer.name} ({self.answer.at})"
        waited = self.answer.milliseconds
        return {
            Fate.REFUSED: f"refused after {waited:.1f} ms",
            Fate.SILENT: f"dropped (no answer in {waited:.0f} ms)",
        }.get(self.answer.outcome, str(self.answer))


def name_of(at: str, names: Mapping[str, str]) -> str:
    """The room that has an address, or the address."""
    return names.get(at.rpartition(":")[0].strip("[]"), at)


def seen_as(answer: Answer, names: Mapping[str, str]) -> str:
    """The client's address as the pod saw it, and whose it is."""
    if answer.outcome is not Fate.ARRIVED:
        return "-"
    owner = names.get(answer.client)
    return f"{answer.client} ({owner})" if owner else answer.client


def because(story: Story) -> str:
    """The reasons of a story in one line: those that were decided, or else the field that held."""
    reasons = [step.because for step in story.steps if step.because]
    if reasons:
        return "; ".join(dict.fromkeys(reasons))
    return next((step.detail for step in reversed(story.steps) if step.detail), "")


def show(lines: Iterable[Line], names: Mapping[str, str]) -> None:
    """Prints the table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in HEADINGS:
        # Half an address is none: what does not fit goes on in the next line.
        table.add_column(heading, overflow="fold")
    for line in lines:
        table.add_row(*map(Text, line.cells(names)), style="bold red" if line.lie else None)
    console().print(table)


def console() -> "Console":
    """Fits the terminal, or is wide where there is none."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=WIDE)
