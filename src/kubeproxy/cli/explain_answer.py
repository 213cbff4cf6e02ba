"""An answer as values: what is printed for people, and given to programs, is this and nothing else."""

from enum import StrEnum

from msgspec import Struct, field

from kubeproxy.backends.waypoint import Waypoint
from kubeproxy.packets.packet import Step


class Verdict(StrEnum):
    """What becomes of the packet, in one word."""

    ARRIVES = "arrives"
    REFUSED = "refused"
    DROPPED = "dropped"
    UNTOUCHED = "untouched"
    #: somebody older has the address, or nobody serves the Service here
    UNSERVED = "unserved"


class From(Struct, frozen=True):
    address: str
    who: str
    #: nobody said who sends it
    assumed: bool


class To(Struct, frozen=True):
    address: str
    #: 0 for a ping
    port: int
    protocol: str
    family: str


class Named(Struct, frozen=True):
    """The ServicePort that was dialled, and by which of its addresses."""

    namespace: str
    name: str
    port: str
    kind: str
    field: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}{f':{self.port}' if self.port else ''}"


class Decision(Struct, frozen=True):
    """A field with its value, and what it leads to here."""

    field: str
    because: str


class Candidate(Struct, frozen=True):
    """An endpoint the packet may be given to, and whom it sees: "client" or "node"."""

    endpoint: str
    where: str
    chance: float
    sees: str


class LeftOut(Struct, frozen=True):
    endpoint: str
    where: str
    because: str


class Seen(Struct, frozen=True):
    """The source address that the pod sees: "node" where it is one of this node's."""

    address: str
    because: str


class Next(Struct, frozen=True):
    """What to do about it, and the command for that if there is one."""

    what: str
    command: str = ""


class Answer(Struct, frozen=True, rename="camel"):
    """One packet: the verdict, and everything behind it. The first decision is the one that counts."""

    verdict: Verdict
    summary: str
    sent_from: From = field(name="from")
    to: To
    service: Named | None = None
    decided: tuple[Decision, ...] = ()
    endpoints: tuple[Candidate, ...] = ()
    excluded: tuple[LeftOut, ...] = ()
    pod_sees: Seen | None = None
    affinity_seconds: int = 0
    path: tuple[Waypoint, ...] = ()
    remarks: tuple[str, ...] = ()
    next: tuple[Next, ...] = ()
    #: the way in the oracle's words
    steps: tuple[Step, ...] = ()


class Explanation(Struct, frozen=True):
    """All that is said about a question; a Service that is asked for by name has an answer an address."""

    question: str
    node: str
    mode: str
    summary: str
    answers: tuple[Answer, ...] = ()
    decided: tuple[Decision, ...] = ()
    remarks: tuple[str, ...] = ()
