"""How others' changes are noticed on this machine: from the kernel's announcements where it makes any, from
the size of tables where it makes none, and by the canary in both.
"""

from collections.abc import Mapping

from kubeproxy.backends.iptables import drift as ours
from kubeproxy.kernel import netlink
from kubeproxy.kernel.processes import Flavour
from kubeproxy.kernel.tableinfo import table_info
from kubeproxy.model.identity import Family
from kubeproxy.runtime.canary import Canary, Place
from kubeproxy.runtime.drift import Drift, Ear, Guard, Guards
from kubeproxy.runtime.machine import NUMBERS, LinuxMachine
from kubeproxy.runtime.proxy import Proxy
from kubeproxy.runtime.rulewatch import RuleWatch
from kubeproxy.runtime.sizewatch import SizeWatch
from kubeproxy.wire.tableinfo import TableInfo


def iptables_drift(proxy: Proxy, machine: LinuxMachine) -> Drift:
    """The ears for the tables that this machine's programs write to."""
    guards = {
        family: Guard(family, wheel.doubt, proxy.metrics.drift) for family, wheel in proxy.wheels.items()
    }
    exists = _Existence(machine)

    def period() -> float:
        return proxy.config.sync_period.seconds

    canaries = [Canary(guard, ours.CANARIES, exists, period) for guard in guards.values()]
    return Drift(guards, (_ear(proxy, machine, guards), *canaries))


def _ear(proxy: Proxy, machine: LinuxMachine, guards: Guards) -> Ear:
    if machine.programs.flavour is Flavour.NFT:
        return RuleWatch(guards, ours, machine.programs, netlink.base_chain_jumps)

    def own(family: Family) -> Mapping[str, int]:
        return ours.entries(proxy.wheels[family].lane.wanted)

    return SizeWatch(guards, _sizes, own)


def _sizes(family: Family) -> dict[str, TableInfo | None]:
    return {table: table_info(NUMBERS[family], table) for table in ours.TABLES}


class _Existence:
    """Whether a chain exists, for the least that the kernel takes for the answer."""

    def __init__(self, machine: LinuxMachine) -> None:
        self._machine = machine
        self._answers: dict[tuple[Family, Place], tuple[TableInfo, bool]] = {}

    def __call__(self, family: Family, place: Place) -> bool:
        table, name = place
        programs = self._machine.programs
        if programs.flavour is Flavour.NFT:
            return netlink.chain(NUMBERS[family], table, name) is not None
        # The program reads the whole table, so it is run only when the table has another size than before.
        info = table_info(NUMBERS[family], table)
        if info is None:
            return False
        known, exists = self._answers.get((family, place), (None, False))
        if info != known:
            exists = programs.chain_exists(family is Family.IPV6, table, name)
            self._answers[family, place] = (info, exists)
        return exists
