"""Packet, Step, Story: what was sent, what happened to it, and why."""

from enum import StrEnum

from msgspec import Struct

from kubeproxy.model.identity import Family, PortName, Protocol
from kubeproxy.routes.route import Frontend


class Packet(Struct, frozen=True):
    """The first packet of a flow."""

    source: str
    destination: str
    port: int
    #: one of those Services know, or another, which no Service answers
    protocol: str = Protocol.TCP
    #: where it came in; "" when this node made it
    interface: str = "eth0"
    #: the endpoint ("address:port") its sender was given lately and may be sent to again
    remembers: str = ""

    @property
    def family(self) -> Family:
        return Family.IPV6 if ":" in self.destination else Family.IPV4

    @property
    def from_node(self) -> bool:
        return self.interface == ""


class Outcome(StrEnum):
    """How a packet's story ends."""

    ARRIVES = "arrives at an endpoint"
    REJECTED = "refused at once"
    DROPPED = "dropped"
    UNTOUCHED = "not touched by any Service"


class Choice(Struct, frozen=True, order=True):
    """One endpoint it may arrive at, how often, and whether that pod sees this node instead of the client."""

    endpoint: str
    share: float
    masqueraded: bool


class Step(Struct, frozen=True):
    """One thing that happened on the way; `because` says why, `detail` names the rule or field."""

    what: str
    because: str = ""
    detail: str = ""


class Story(Struct, frozen=True):
    """What happens to a packet."""

    packet: Packet
    outcome: Outcome
    choices: tuple[Choice, ...] = ()
    steps: tuple[Step, ...] = ()
    service: PortName | None = None
    #: what was dialled, where it is of a Service
    frontend: Frontend | None = None

    @property
    def gist(self) -> tuple[Outcome, tuple[Choice, ...]]:
        """What two tellers of the same packet must agree on: the end, not the way."""
        return self.outcome, tuple(
            sorted(Choice(c.endpoint, round(c.share, 6), c.masqueraded) for c in self.choices)
        )

    def __str__(self) -> str:
        packet = self.packet
        origin = packet.interface or "this node"
        lines = [
            f"{packet.source} (from {origin}) to {packet.destination} port {packet.port}/{packet.protocol}"
        ]
        for step in self.steps:
            because = f", because {step.because}" if step.because else ""
            detail = f"  [{step.detail}]" if step.detail else ""
            lines.append(f"  {step.what}{because}{detail}")
        lines.append(f"  {self.outcome}: {', '.join(map(_choice, self.choices)) or '-'}")
        return "\n".join(lines)


def _choice(choice: Choice) -> str:
    seen = "sees this node" if choice.masqueraded else "sees the client"
    return f"{choice.endpoint} (1 in {1 / choice.share:.3g}, {seen})"
