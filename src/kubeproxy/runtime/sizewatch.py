"""Asks tables that announce nothing how large they are, often, and draws conclusions."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from kubeproxy.kernel.errors import KernelError
from kubeproxy.model.identity import Family
from kubeproxy.runtime.drift import Damage, Guards
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.sync import Report
from kubeproxy.runtime.tablesizes import Finding, Infos, TableSizes

#: a handful of system calls each time
INTERVAL: Final = 0.5


class SizeWatch:
    """For all families; a sync stands between two looks, so that nobody else's change is taken for ours."""

    def __init__(
        self,
        guards: Guards,
        ask: Callable[[Family], Infos],
        own: Callable[[Family], Mapping[str, int]],
    ) -> None:
        """`own` counts the entries of ours that each table holds after a sync."""
        self._guards, self._ask, self._own = guards, ask, own
        self._sizes = {family: TableSizes() for family in guards}

    async def run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            for family in self._guards:
                await self._poll(family)

    async def _poll(self, family: Family) -> None:
        guard = self._guards[family]
        turns = guard.turns
        if not guard.active or guard.syncing:
            return
        infos = await self._infos(family)
        if guard.turns == turns:  # else a sync came between, and half of it may be in these
            self._look(family, infos)
            self._act(family)

    async def before(self, family: Family) -> None:
        self._look(family, await self._infos(family))

    async def after(self, family: Family, report: Report) -> None:
        sizes = self._sizes[family]
        infos = await self._infos(family)
        if report.error is not None or infos is None:
            sizes.forget()
        elif report.complete:
            sizes.read(infos, self._own(family), asyncio.get_running_loop().time(), report.reading)
        else:
            sizes.written(infos, self._own(family))

    def _look(self, family: Family, infos: Infos | None) -> None:
        if infos is not None and self._sizes[family].look(infos) is Finding.LOST:
            self._guards[family].noticed(Damage(("many rules are gone at once",), grave=True))

    def _act(self, family: Family) -> None:
        sizes = self._sizes[family]
        if sizes.suspicion is Finding.CHANGED and asyncio.get_running_loop().time() >= sizes.due():
            self._guards[family].suspected()

    async def _infos(self, family: Family) -> Infos | None:
        try:
            return await asyncio.to_thread(self._ask, family)
        except KernelError as error:
            log.folded(log.error, "Cannot ask the tables for their sizes", err=error, ipFamily=family.value)
            return None
