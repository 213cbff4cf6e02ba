"""The hands: carry operations out, in order, and tell what is there.

They know no Service. Each operation goes to the hand that can do it; what the dialects need to see comes from
here as values. Everything blocks and belongs in a worker thread.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from kubeproxy.kernel import netlink
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.files import raise_parameter, read_sysctl, set_oom_score, write_sysctl
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.wire.conntrack import DeleteFlows, Flow
from kubeproxy.wire.netlink import AF_INET, AF_INET6, WireError
from kubeproxy.wire.nfacct import Counter, EnsureCounter
from kubeproxy.wire.nfdelete import DeleteTable
from kubeproxy.wire.op import Operation
from kubeproxy.wire.restore import Restore, SavedTables
from kubeproxy.wire.rtnetlink import LocalAddress
from kubeproxy.wire.sysctl import ModuleParameter, OOMScore, Sysctl

#: the tables in which anything of ours may be
TABLES: Final = ("mangle", "filter", "nat")


class Hands:
    """The real kernel, in the network namespace of the calling thread."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self._hands: dict[type[Operation], Callable[[Any], object]] = {
            Restore: programs.restore,
            Sysctl: write_sysctl,
            ModuleParameter: raise_parameter,
            OOMScore: set_oom_score,
            EnsureCounter: lambda op: netlink.ensure_counter(op.name),
            DeleteTable: netlink.delete_table,
            DeleteFlows: lambda op: netlink.delete_flows(op.flows),
        }

    def commit(self, ops: Sequence[Operation]) -> None:
        """Carry out all of them, in order; the first that is refused ends it."""
        for op in ops:
            self._hands[type(op)](op)

    def read(self, *, ipv6: bool) -> SavedTables:
        """What a family's tables hold, as digests: read as a stream, so that its size does not matter."""
        # The nft flavour's program reads every table before it prints one.
        tables = () if self.programs.flavour is Flavour.NFT else TABLES
        try:
            return SavedTables.read(self.programs.save(ipv6, tables))
        except WireError as error:
            raise KernelError(self.programs.name(ipv6, "-save"), str(error)) from error

    def chain_exists(self, table: str, chain: str, *, ipv6: bool) -> bool:
        """Without a program where the kernel tells it for less."""
        if self.programs.flavour is Flavour.NFT:
            return netlink.chain(AF_INET6 if ipv6 else AF_INET, table, chain) is not None
        return self.programs.chain_exists(ipv6, table, chain)

    def addresses(self) -> tuple[LocalAddress, ...]:
        return netlink.local_addresses()

    def udp_flows(self, family: int, wanted: Callable[[Flow], bool] = lambda _: True) -> tuple[Flow, ...]:
        """The tracked UDP connections of a family (AF_INET or AF_INET6) that are wanted."""
        return netlink.udp_flows(family, wanted)

    def delete_flows(self, flows: Iterable[Flow]) -> int:
        """Forget these; tells how many are gone."""
        return netlink.delete_flows(flows)

    def counter(self, name: str) -> Counter | None:
        return netlink.counter(name)

    def counters_available(self) -> bool:
        return netlink.counters_available()

    def sysctl(self, path: str) -> str | None:
        return read_sysctl(path)
