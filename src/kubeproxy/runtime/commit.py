"""Carrying a Plan out, and finding who is to blame when the kernel refuses.

A bad Service must not keep the good ones out of the kernel: the culprit is withheld by name and tried
again later. Where the kernel names a line, the line leads to it; otherwise the batch is halved.
"""

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import Generic

from kubeproxy.backends.contract import Backend, KnownT, ReadT_contra, RulesetT, Step
from kubeproxy.kernel.errors import Busy, KernelError, TooLarge, Unsure
from kubeproxy.model.identity import PortName
from kubeproxy.wire.op import Operation

#: so many refusals in one go; who is still under suspicion then is withheld without a trial of its own
PATIENCE = 64


class Refused(Exception):
    """A step was refused for what is in it; perhaps a line tells for whose sake."""

    def __init__(self, step: Step, error: KernelError, named: PortName | None) -> None:
        super().__init__(step, error)
        self.step, self.error, self.named = step, error, named


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
        #: those of them that were refused in company only
        self.suspects: set[PortName] = set()
        self.refusals = 0
        #: by name, the Fragment the kernel held before, and the one it should hold
        self._before: dict[PortName, object] = {}
        self._wished: dict[PortName, object] = {}

    def bring(self, touched: Collection[PortName]) -> None:
        """Bring these names, and all that is shared, to the kernel; only general failures come out."""
        self._before = {name: self.backend.held(self.known, name) for name in touched}
        self._wished = {name: self.backend.fragment(self.wanted, name) for name in touched}
        try:
            refused = self._without_named(touched)
            if refused is not None:
                self._search(refused)
        except BaseException:
            # Whatever it was, all of it is still wanted.
            self._put(self._wished, self._wished)
            self.culprits.clear()
            raise

    def _carry_out(self, touched: Collection[PortName]) -> None:
        while not self._carried_out(touched):
            pass

    def _carried_out(self, touched: Collection[PortName]) -> bool:
        """False when it takes another plan: of smaller steps, or one that does not clear everything away."""
        for step in self.backend.plan(self.known, self.wanted, touched).steps:
            try:
                self._commit(step.ops)
            except (Busy, Unsure):
                raise
            except TooLarge:
                # An ordinary user's kernel has its limits, and they are not anybody's fault.
                self.backend.doubt(self.known, step)
                if self.backend.shrink():
                    return False
                raise
            except KernelError as error:
                self.refusals += 1
                named = self.backend.blame(step, error.line) if error.line else None
                spared = error.line > 0 and self.backend.spare(self.known, step, error.line)
                self.backend.doubt(self.known, step)
                if spared:
                    return False
                raise Refused(step, error, named) from error
            self.backend.settle(self.known, step)
            self.steps.append(step)
        return True

    def _passes(self, touched: Collection[PortName]) -> Refused | None:
        """None when all went well."""
        try:
            self._carry_out(touched)
        except Refused as refused:
            return refused
        return None

    def _without_named(self, names: Collection[PortName]) -> Refused | None:
        """Leave out whoever a refused line was written for, as long as lines tell; nobody else notices."""
        while refused := self._passes(names):
            named = refused.named
            if named not in self._wished or named in self.culprits or self.refusals > PATIENCE:
                return refused
            self._withhold([named], refused.error)
        return None

    def _search(self, refused: Refused) -> None:
        """Bring the suspects in ever smaller groups, until each refusal is one name's."""
        groups = _groups(self._acquit(refused), refused)
        while groups:
            group = groups.pop()
            self._put(group, self._wished)
            again = self._passes(group)
            if again is None:
                continue
            if len(group) == 1:
                self._withhold(group, again.error)
            elif self.refusals > PATIENCE:
                *others, likely = _apart(group, set(again.step.names)) or [group]
                self._withhold(likely, again.error)
                self.suspects.update(likely)
                groups += others
            else:
                self._put(group, self._before)
                groups += _groups(group, again)

    def _acquit(self, refused: Refused) -> list[PortName]:
        """Go back to before for the suspects, without whom the rest must pass; return the suspects.

        What passed already is not undone, unless it turns out that it has to.
        """
        passed = {name for step in self.steps for name in step.names}
        candidates = sorted(self._wished.keys() - self.culprits.keys())
        few = [name for name in candidates if name not in passed]
        error = refused.error
        for suspects in (few, candidates) if 0 < len(few) < len(candidates) else (candidates,):
            self._put(suspects, self._before)
            again = self._passes(self._wished)
            if again is None:
                return suspects
            error = again.error
        # Not even without all of them: what everybody shares is at fault, and no Service.
        raise error from refused

    def _withhold(self, names: Iterable[PortName], error: KernelError) -> None:
        for name in names:
            self.culprits[name] = error
            self._put([name], self._before)

    def _put(self, names: Iterable[PortName], fragments: dict[PortName, object]) -> None:
        for name in names:
            self.backend.put(self.wanted, name, fragments[name])


def _groups(names: list[PortName], refused: Refused) -> list[list[PortName]]:
    """Those that are more likely to blame come last, so as to be looked at first."""
    half = len(names) // 2
    return (
        _apart(names, {refused.named})
        or _apart(names, set(refused.step.names))
        or [part for part in (names[len(names) - half :], names[: len(names) - half]) if part]
    )


def _apart(names: list[PortName], likely: Container[PortName | None]) -> list[list[PortName]]:
    """The others, then the likely ones; nothing when that makes no difference."""
    parts = [name for name in names if name not in likely], [name for name in names if name in likely]
    return list(parts) if all(parts) else []
