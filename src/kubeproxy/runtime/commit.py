"""Carrying a Plan out, and finding who is to blame when the kernel refuses.

A bad Service must not keep the good ones out of the kernel: the culprit is withheld by name and tried
again later. Where the kernel names a line, the line leads to it; otherwise the batch is halved.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Generic

from kubeproxy.backends.contract import Backend, KnownT, ReadT_contra, RulesetT, Step
from kubeproxy.kernel.errors import Busy, KernelError, Unsure
from kubeproxy.model.identity import PortName
from kubeproxy.wire.op import Operation

#: more refusals than this in one go, and it is not single Services that are at fault
PATIENCE = 64


class Refused(Exception):
    """A step was refused for what is in it."""

    def __init__(self, step: Step, error: KernelError) -> None:
        super().__init__(step, error)
        self.step, self.error = step, error


class Committer(Generic[RulesetT, KnownT, ReadT_contra]):
    """Brings the kernel from Known to the Ruleset, one step after the other, blaming precisely."""

    def __init__(
        self,
        backend: Backend[RulesetT, KnownT, ReadT_contra],
        known: KnownT,
        wanted: RulesetT,
        commit: Callable[[Sequence[Operation]], None],
    ) -> None:
        self.backend, self.known, self.wanted, self._commit = backend, known, wanted, commit
        #: the steps that passed
        self.steps: list[Step] = []
        #: who was withheld, and what the kernel said
        self.culprits: dict[PortName, KernelError] = {}

    def bring(self, touched: Collection[PortName]) -> None:
        """Bring these names, and all that is shared, to the kernel; only general failures come out."""
        before = {name: self.backend.held(self.known, name) for name in touched}
        wished = {name: self.backend.fragment(self.wanted, name) for name in touched}
        try:
            self._carry_out(touched)
        except Refused as refused:
            self._isolate(before, wished, refused)

    def _carry_out(self, touched: Collection[PortName]) -> None:
        for step in self.backend.plan(self.known, self.wanted, touched).steps:
            try:
                self._commit(step.ops)
            except (Busy, Unsure):
                raise
            except KernelError as error:
                self.backend.doubt(self.known, step)
                raise Refused(step, error) from error
            self.backend.settle(self.known, step)
            self.steps.append(step)

    def _put(self, names: Collection[PortName], fragments: dict[PortName, object]) -> None:
        for name in names:
            self.backend.put(self.wanted, name, fragments[name])

    def _isolate(
        self, before: dict[PortName, object], wished: dict[PortName, object], refused: Refused
    ) -> None:
        """Bring the touched names in ever smaller groups, until each refusal is one name's."""
        self._put(before.keys(), before)
        try:
            self._carry_out(before.keys())
        except Refused as again:
            # Not even without all of them: what everybody shares is at fault, and no Service.
            self._put(wished.keys(), wished)
            raise again.error from refused
        groups = self._groups(wished, refused)
        refusals = 0
        while groups:
            group = groups.pop()
            self._put(group, wished)
            try:
                self._carry_out(group)
            except Refused as again:
                refusals += 1
                if refusals > PATIENCE:
                    raise again.error from refused
                self._put(group, before)
                if len(group) == 1:
                    self.culprits[group[0]] = again.error
                else:
                    half = len(group) // 2
                    groups += [group[half:], group[:half]]

    def _groups(self, wished: dict[PortName, object], refused: Refused) -> list[list[PortName]]:
        """The suspects last in the list, so that they are looked at first; everybody else in one group."""
        line = refused.error.line
        named = self.backend.blame(refused.step, line) if line else None
        suspects = {named} if named in wished else wished.keys() & set(refused.step.names)
        others = sorted(wished.keys() - suspects)
        return [group for group in (others, sorted(name for name in suspects if name)) if group]
