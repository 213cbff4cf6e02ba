"""What iptables mode needs before the first rule: usable families, loopback routing, counters."""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from kubeproxy.api.node import Node
from kubeproxy.backends.iptables.backend import IPTables
from kubeproxy.backends.iptables.dialect import Facts
from kubeproxy.backends.iptables.names import INVALID_COUNTER, LOOPBACK_COUNTER
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.kernel.errors import KernelError
from kubeproxy.model.identity import Family
from kubeproxy.runtime.host import change
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.machine import LinuxMachine
from kubeproxy.runtime.metrics import Observed
from kubeproxy.runtime.nodewatch import node_view
from kubeproxy.wire.nfacct import EnsureCounter
from kubeproxy.wire.sysctl import Sysctl

_ROUTE_LOOPBACK = Sysctl("net/ipv4/conf/all/route_localnet", "1")
_LIBERAL = "net/netfilter/nf_conntrack_tcp_be_liberal"


def usable_families(machine: LinuxMachine, primary: Family) -> list[Family]:
    """Both where the host can, whatever the node's own addresses are; the primary one at least."""
    found = [family for family in Family if _usable(machine, family)]
    if primary not in found:
        said = f'no support for primary IP family "{primary}"' if found else "is not available on this host"
        remedy = "load the kernel's iptables modules, or give the node an address of the other family"
        raise KernelError("iptables", said, remedy=remedy)
    stack = "dual-stack" if len(found) == len(Family) else "single-stack"
    log.info(f"kube-proxy running in {stack} mode", primary=primary.value)
    return found


def prepare_iptables(
    config: KubeProxyConfig, machine: LinuxMachine, families: Collection[Family], node: Node | None
) -> None:
    """The settings this mode needs, which take more rights than its rules do."""
    loopback = node_view(config, "", Family.IPV4, node, ()).loopback_node_ports
    if Family.IPV4 in families and loopback:
        change(machine, _ROUTE_LOOPBACK)


def iptables_backends(
    config: KubeProxyConfig, machine: LinuxMachine, families: Iterable[Family]
) -> dict[Family, IPTables]:
    """One backend for each family this host can do."""
    facts = observed(machine)
    return {
        family: IPTables(
            ipv6=family is Family.IPV6,
            portion=machine.portion,
            masquerade_bit=config.masquerade_bit,
            facts=facts,
        )
        for family in families
    }


def _usable(machine: LinuxMachine, family: Family) -> bool:
    if family is Family.IPV6 and (lack := _lack_of_ipv6(machine)):
        log.info(lack, ipFamily=family.value)
        return False
    try:
        usable = machine.programs.usable(family is Family.IPV6)
    except KernelError as error:
        log.info("No iptables support for family", ipFamily=family.value, err=error)
        return False
    if not usable:
        log.info("No iptables support for family", ipFamily=family.value)
    return usable


def _lack_of_ipv6(machine: LinuxMachine) -> str:
    """Why the kernel does no IPv6, or "" when it does."""
    if not Path("/proc/net/if_inet6").exists():
        return "No kernel support for family"
    disabled = machine.sysctl("net/ipv6/conf/all/disable_ipv6") == "1"
    return "Kernel support disabled for family" if disabled else ""


def counter_metrics(machine: LinuxMachine) -> list[Observed]:
    """The kernel's packet counters, asked for when somebody reads the metrics."""

    def packets(name: str) -> Callable[[], float | None]:
        def ask() -> float | None:
            try:
                found = machine.hands.counter(name)
            except KernelError:
                return None
            return None if found is None else float(found.packets)

        return ask

    return [
        Observed(f"kubeproxy_iptables_{name}", f"[ALPHA] {text}", "counter", packets(counter))
        for name, text, counter in (
            (
                "ct_state_invalid_dropped_packets_total",
                "packets dropped by iptables to work around conntrack problems",
                INVALID_COUNTER,
            ),
            (
                "localhost_nodeports_accepted_packets_total",
                "Number of packets accepted on nodeports of loopback interface",
                LOOPBACK_COUNTER,
            ),
        )
    ]


def observed(machine: LinuxMachine) -> Facts:
    """What the kernel and its programs can, as far as it shapes rules."""
    liberal = machine.sysctl(_LIBERAL)
    return Facts(
        liberal=liberal not in (None, "0"),
        counts_invalid=_has_counter(machine, INVALID_COUNTER),
        counts_loopback=_has_counter(machine, LOOPBACK_COUNTER),
        random_fully=machine.programs.supports_random_fully,
    )


def _has_counter(machine: LinuxMachine, name: str) -> bool:
    """Make sure a counter exists; without one the rules do without."""
    try:
        if not machine.hands.counters_available():
            return False
        machine.commit([EnsureCounter(name)])
    except KernelError as error:
        log.error("Failed to create a packet counter; its rules do without it", error, counter=name)
        return False
    return True
