"""The kernel as the loop asks for it: by families, and until the proxy stops."""

from collections.abc import Iterable, Sequence

from kubeproxy.backends.iptables.plan import PORTION
from kubeproxy.kernel.errors import Unsure
from kubeproxy.kernel.flavour import choose
from kubeproxy.kernel.hands import Hands
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.kernel.tableinfo import legacy_tables
from kubeproxy.model.identity import Family
from kubeproxy.wire.conntrack import Flow
from kubeproxy.wire.netlink import AF_INET, AF_INET6
from kubeproxy.wire.op import Operation
from kubeproxy.wire.restore import SavedTables
from kubeproxy.wire.rtnetlink import LocalAddress

NUMBERS = {Family.IPV4: AF_INET, Family.IPV6: AF_INET6}


class LinuxMachine:
    """Everything blocks, so it is called from worker threads."""

    def __init__(self, programs: Programs, because: str) -> None:
        self.programs, self.because = programs, because
        self.hands = Hands(programs)
        self._stopping = False

    @classmethod
    def found(cls) -> "LinuxMachine":
        choice = choose()
        return cls(choice.programs, choice.reason)

    @property
    def flavour(self) -> str:
        return self.programs.flavour.value

    @property
    def version(self) -> str:
        return ".".join(map(str, self.programs.version()))

    @property
    def portion(self) -> int | None:
        """Only the nft flavour's program gets slower with the square of a payload."""
        return PORTION if self.programs.flavour is Flavour.NFT else None

    def stop(self) -> None:
        """No operation begins from now on; the one at work ends by itself."""
        self._stopping = True

    def writing(self) -> bool:
        """Whether a restore is at work in this namespace, whoever started it."""
        return any(self.programs.writing(ipv6) for ipv6 in (False, True))

    def commit(self, ops: Sequence[Operation]) -> None:
        if self._stopping and ops:
            raise Unsure("commit", "the proxy is stopping")
        self.hands.commit(ops)

    def read(self, *, ipv6: bool) -> SavedTables:
        return self.hands.read(ipv6=ipv6)

    def holds_tables(self, ipv6: bool) -> bool:
        """Whether reading would find anything: reading a legacy table that is not there would make it."""
        if self.programs.flavour is Flavour.NFT:
            return True
        return bool(legacy_tables(AF_INET6 if ipv6 else AF_INET))

    def sysctl(self, path: str) -> str | None:
        return self.hands.sysctl(path)

    def addresses(self) -> tuple[LocalAddress, ...]:
        return self.hands.addresses()

    def udp_flows(self, family: Family) -> tuple[Flow, ...]:
        return self.hands.udp_flows(NUMBERS[family])

    def delete_flows(self, flows: Iterable[Flow]) -> int:
        return self.hands.delete_flows(flows)
