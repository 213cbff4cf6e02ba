"""Canary: empty chains whose only use is to be gone when somebody flushed everything.

Others tell flushes by it too, so it stays although there are quicker ears. The first of its places is the
cheapest to ask after. When it is gone, somebody may still be at work: the others are waited for, so that the
repair does not get between.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from kubeproxy.kernel.errors import KernelError
from kubeproxy.model.identity import Family
from kubeproxy.runtime.drift import Damage, Guard
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.sync import Report

#: a table and a chain in it
Place: TypeAlias = tuple[str, str]

POLL: Final = 0.1
LONGEST: Final = 5.0


class Canary:
    """One family's."""

    def __init__(
        self,
        guard: Guard,
        places: Sequence[Place],
        exists: Callable[[Family, Place], bool],
        period: Callable[[], float],
    ) -> None:
        self._guard, self._places, self._exists, self._period = guard, places, exists, period
        #: it was put there by a sync, so that it can be missed
        self._placed = False

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._period())
            if self._placed and not self._guard.syncing and await self._gone(self._places[0]):
                await self._until_all_gone()
                self._guard.noticed(Damage(("the canary is gone",), grave=True))
                self._placed = False

    async def before(self, family: Family) -> None:
        """Nothing to do."""

    async def after(self, family: Family, report: Report) -> None:
        if family is self._guard.family and report.error is None:
            self._placed = True

    async def _until_all_gone(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + LONGEST
        for place in self._places[1:]:
            while not await self._gone(place):
                if loop.time() > deadline:
                    log.warning("The canary is gone in one table only", ipFamily=self._guard.family.value)
                    return
                await asyncio.sleep(POLL)

    async def _gone(self, place: Place) -> bool:
        """Whoever cannot tell, because the lock is held for example, has not seen it go."""
        try:
            return not await asyncio.to_thread(self._exists, self._guard.family, place)
        except KernelError as error:
            log.info("Cannot tell whether the canary is there", err=error, v=2)
            return False
