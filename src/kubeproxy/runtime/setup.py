"""What must be so before the first rule: usable families, loopback routing, counters."""

from collections.abc import Callable
from pathlib import Path

from kubeproxy.backends.iptables.backend import IPTables
from kubeproxy.backends.iptables.dialect import Facts
from kubeproxy.backends.iptables.names import INVALID_COUNTER, LOOPBACK_COUNTER
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.kernel.errors import KernelError
from kubeproxy.model.identity import Family
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.machine import LinuxMachine
from kubeproxy.runtime.metrics import Observed
from kubeproxy.runtime.nodewatch import addresses_of_node, node_view
from kubeproxy.wire.nfacct import EnsureCounter
from kubeproxy.wire.sysctl import Sysctl

_ROUTE_LOOPBACK = Sysctl("net/ipv4/conf/all/route_localnet", "1")
_LIBERAL = "net/netfilter/nf_conntrack_tcp_be_liberal"


def iptables_backends(config: KubeProxyConfig, machine: LinuxMachine) -> dict[Family, IPTables]:
    """One backend for each family this host can do; what is missing is said, or ends the start."""
    families = usable_families(machine, Family(addresses_of_node(config, None).primary))
    loopback = node_view(config, "", Family.IPV4, None, ()).loopback_node_ports
    if Family.IPV4 in families and loopback:
        machine.commit([_ROUTE_LOOPBACK])
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


def usable_families(machine: LinuxMachine, primary: Family) -> list[Family]:
    """Both where the host can, whatever the node's own addresses are; the primary one at least."""
    found = [family for family in Family if _usable(machine, family)]
    if primary not in found:
        raise KernelError(
            "iptables",
            f'no support for primary IP family "{primary}"',
            remedy="load the kernel's iptables modules, or give the node an address of the other family",
        )
    stack = "dual-stack" if len(found) == len(Family) else "single-stack"
    log.info(f"kube-proxy running in {stack} mode", primary=primary.value)
    return found


def _usable(machine: LinuxMachine, family: Family) -> bool:
    if family is Family.IPV6 and not _kernel_has_ipv6(machine):
        log.info("No kernel support for family", ipFamily=family.value)
        return False
    try:
        usable = machine.programs.usable(family is Family.IPV6)
    except KernelError as error:
        log.info("No iptables support for family", ipFamily=family.value, err=error)
        return False
    if not usable:
        log.info("No iptables support for family", ipFamily=family.value)
    return usable


def _kernel_has_ipv6(machine: LinuxMachine) -> bool:
    disabled = machine.hands.sysctl("net/ipv6/conf/all/disable_ipv6")
    return Path("/proc/net/if_inet6").exists() and disabled != "1"


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
    liberal = machine.hands.sysctl(_LIBERAL)
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
