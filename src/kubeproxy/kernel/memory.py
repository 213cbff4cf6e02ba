"""A kernel in memory that refuses what the real one refuses.

The stages before the hands can be tried without root and in any number; one table of tests holds this kernel
and the real one to the same answers.
"""

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kubeproxy.kernel.files import refused_parameter, refused_setting
from kubeproxy.kernel.hands import TABLES
from kubeproxy.kernel.memtables import Tables
from kubeproxy.kernel.processes import Flavour
from kubeproxy.wire.conntrack import DeleteFlows, Flow
from kubeproxy.wire.nfacct import Counter, EnsureCounter
from kubeproxy.wire.nfdelete import DeleteTable
from kubeproxy.wire.op import Operation
from kubeproxy.wire.restore import Restore, SavedTables
from kubeproxy.wire.rtnetlink import LocalAddress
from kubeproxy.wire.sysctl import ModuleParameter, OOMScore, Sysctl


class Memory:
    """Both families' tables, packet counters, settings, tracked flows and addresses.

    What the outside world does to a kernel is done to its attributes: `flows` and `addresses_held` are
    lists, `settings` holds the settings that exist.
    """

    def __init__(self, flavour: Flavour = Flavour.NFT) -> None:
        self.counters: dict[str, Counter] = {}
        self.settings: dict[str, str] = {"net/ipv4/conf/all/route_localnet": "0"}
        #: parameters of modules that are loaded: "nf_conntrack/hashsize"
        self.parameters: dict[str, int] = {}
        self.oom_score = 0
        #: nf_tables tables beside those of iptables, by family and name
        self.foreign_tables: set[tuple[int, str]] = set()
        self.flows: list[Flow] = []
        self.addresses_held: list[LocalAddress] = []
        self.tables = {ipv6: Tables(ipv6, flavour, self.counters) for ipv6 in (False, True)}
        self._hands: dict[type[Operation], Callable[[Any], object]] = {
            Restore: self._restore,
            Sysctl: self._set,
            ModuleParameter: self._raise,
            OOMScore: self._set_oom_score,
            EnsureCounter: self._ensure_counter,
            DeleteTable: lambda op: self.foreign_tables.discard((op.family, op.name)),
            DeleteFlows: lambda op: self.delete_flows(op.flows),
        }

    def commit(self, ops: Sequence[Operation]) -> None:
        """Carry out all of them, in order; the first that is refused ends it."""
        for op in ops:
            self._hands[type(op)](op)

    def read(self, *, ipv6: bool) -> SavedTables:
        return SavedTables.read(self.save(ipv6, TABLES))

    def save(self, ipv6: bool, tables: Iterable[str]) -> Iterator[bytes]:
        """What iptables-save would print of these tables."""
        for table in tables:
            yield from (f"{line}\n".encode() for line in self.tables[ipv6][table].dump())

    def chain_exists(self, table: str, chain: str, *, ipv6: bool) -> bool:
        return chain in self.tables[ipv6][table].chains

    def addresses(self) -> tuple[LocalAddress, ...]:
        return tuple(self.addresses_held)

    def udp_flows(self, family: int, wanted: Callable[[Flow], bool] = lambda _: True) -> tuple[Flow, ...]:
        return tuple(flow for flow in self.flows if flow.family == family and wanted(flow))

    def delete_flows(self, flows: Iterable[Flow]) -> int:
        """Forget these; what went by itself counts as gone too."""
        gone = list(flows)
        self.flows = [flow for flow in self.flows if flow not in gone]
        return len(gone)

    def counter(self, name: str) -> Counter | None:
        return self.counters.get(name)

    def counters_available(self) -> bool:
        return True

    def sysctl(self, path: str) -> str | None:
        return self.settings.get(path)

    def _restore(self, op: Restore) -> None:
        self.tables[op.ipv6].restore(op.payload, op.table)

    def _set(self, op: Sysctl) -> None:
        if op.path not in self.settings:
            raise refused_setting(op.path, errno.ENOENT, op.value)
        self.settings[op.path] = op.value

    def _raise(self, op: ModuleParameter) -> None:
        name = f"{op.module}/{op.name}"
        if name not in self.parameters:
            raise refused_parameter(op, errno.ENOENT)
        self.parameters[name] = max(self.parameters[name], op.at_least)

    def _set_oom_score(self, op: OOMScore) -> None:
        self.oom_score = op.adjust

    def _ensure_counter(self, op: EnsureCounter) -> None:
        self.counters.setdefault(op.name, Counter(op.name, 0, 0))
