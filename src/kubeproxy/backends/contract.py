"""What a backend must offer, and the values that pass between it and the loop."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol, TypeVar

from msgspec import Struct

from kubeproxy.model.identity import PortName
from kubeproxy.routes.manners import Manners
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import PortRoutes
from kubeproxy.wire.op import Operation


class Step(Struct, frozen=True):
    """Operations that succeed or fail together, and what is settled once they did.

    `names` are the ServicePorts whose state they bring to the kernel: who to blame, and what becomes
    known. `opens` marks a step that makes earlier ones reachable, so that it must not run when one failed.
    """

    ops: tuple[Operation, ...]
    names: tuple[PortName, ...] = ()
    settles: object = None
    opens: bool = False


class Plan(Struct):
    """The way from what the kernel holds to what it should hold: steps, in order, made one at a time.

    Steps come from an iterator because the text of a large first load is made when it is sent.
    """

    steps: Iterator[Step]


RulesetT = TypeVar("RulesetT")
KnownT = TypeVar("KnownT")
ReadT_contra = TypeVar("ReadT_contra", contravariant=True)


class Backend(Protocol[RulesetT, KnownT, ReadT_contra]):
    """A kernel dialect. One object serves one IP family; what is kept between calls is Ruleset and Known."""

    name: str
    manners: Manners

    def prepare(self, node: NodeView) -> RulesetT:
        """An empty Ruleset for this node."""

    def restyle(self, wanted: RulesetT, node: NodeView) -> Collection[PortName]:
        """The node is another one now: fold that in, and return the names whose Fragment changed by it."""

    def mark_with(self, bit: int) -> bool:
        """Mark what is to be masqueraded with this bit from the next `restyle` on; false when it is so."""

    def compile(
        self, wanted: RulesetT, decided: Mapping[PortName, PortRoutes | None]
    ) -> Collection[PortName]:
        """Fold what was decided into the wanted Ruleset; return the names whose Fragment is another now."""

    def adopt(self, read: ReadT_contra, wanted: RulesetT) -> tuple[KnownT, Collection[PortName]]:
        """What was read from the kernel, as Known; and the names whose state there is wrong."""

    def plan(self, known: KnownT, wanted: RulesetT, touched: Collection[PortName]) -> Plan:
        """From Known to the Ruleset: only what differs, and only looking at the names that were touched."""

    def settle(self, known: KnownT, step: Step) -> None:
        """Fold a step that passed into Known."""

    def doubt(self, known: KnownT, step: Step) -> None:
        """Forget what a refused step may have changed before it was refused."""

    def spare(self, known: KnownT, step: Step, line: int) -> bool:
        """Whether a refused line only clears away what nobody needs; then it is left alone from now on."""

    def shrink(self) -> bool:
        """Plan smaller steps from now on; false when they cannot be any smaller."""

    def fragment(self, wanted: RulesetT, name: PortName) -> object:
        """The Fragment wanted for a name, or None."""

    def held(self, known: KnownT, name: PortName) -> object:
        """The Fragment the kernel holds for a name, or None where it holds none, or only parts of one."""

    def put(self, wanted: RulesetT, name: PortName, fragment: object) -> None:
        """Want this Fragment for a name: one that `fragment` or `held` returned."""

    def rule_counts(self, wanted: RulesetT) -> dict[str, int]:
        """How many rules there should be, by table."""

    def written_counts(self, step: Step) -> dict[str, int]:
        """How many rules a step wrote, by table."""

    def blame(self, step: Step, line: int) -> PortName | None:
        """The ServicePort that a refused line of a step was written for."""

    def cleanup(self, read: ReadT_contra) -> Plan:
        """Remove every trace of us."""
