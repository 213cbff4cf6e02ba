"""Who committed something so large that its announcements could not all be heard?

Somebody who flushes thousands of Services makes hundreds of thousands of announcements at once; the kernel
drops what does not fit, often the very last one too, which says who he was. So a second listener hears only
who commits, and whoever is not known from the first is the one.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Container
from typing import Final, Protocol

from kubeproxy.kernel.listen import RulesetNews
from kubeproxy.runtime.drift import Damage
from kubeproxy.wire.nfnotify import Transaction

_LAST: Final = 64
#: the commit may still be at work when its first announcements are lost: so ask a few times
MOMENT: Final = 0.1
QUESTIONS: Final = 10
_TOLD: Final = "so many rules at once that not all of it was heard"


class Children(Protocol):
    """Whose commits are ours."""

    @property
    def children(self) -> Container[int]: ...


class RollCall:
    """Tells of each loss once, with a name if there is one."""

    def __init__(self, ours: Children, noticed: Callable[[Damage], None]) -> None:
        self._ours, self._noticed = ours, noticed
        self._commits: deque[Transaction] = deque(maxlen=_LAST)
        self._complete: deque[int] = deque(maxlen=_LAST)
        self._timer: asyncio.TimerHandle | None = None

    def heard(self, news: RulesetNews) -> None:
        """From the listener that hears only who commits."""
        if isinstance(news, Transaction):
            self._commits.append(news)

    def complete(self, generation: int) -> None:
        """Of this commit everything was heard."""
        self._complete.append(generation)

    def missed(self, why: str) -> None:
        """Something was not heard."""
        if self._timer is None:
            self._ask_later(why, QUESTIONS)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _ask_later(self, why: str, questions: int) -> None:
        self._timer = asyncio.get_running_loop().call_later(MOMENT, self._ask, why, questions - 1)

    def _ask(self, why: str, questions: int) -> None:
        known = {*self._complete}
        missed = [commit for commit in self._commits if commit.generation not in known]
        if not missed and questions:
            self._ask_later(why, questions)
            return
        self._timer = None
        self._complete.extend(commit.generation for commit in missed)
        others = [commit for commit in missed if commit.port not in self._ours.children]
        for commit in others:
            self._noticed(Damage((_TOLD,), commit.process, commit.pid, grave=True))
        if not others:
            self._noticed(Damage((f"unknown: {why}",), grave=True))
