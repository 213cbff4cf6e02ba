"""The host before and beside our rules: what other modes left, the kernel's limits, and our own standing."""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from kubeproxy.api.node import Node
from kubeproxy.config.complaint import Complaint, ConfigError, Form
from kubeproxy.config.consistency import NodeFacts, joined, mismatches, open_node_ports
from kubeproxy.config.schema import Conntrack, KubeProxyConfig
from kubeproxy.kernel.errors import KernelError
from kubeproxy.model.identity import Family
from kubeproxy.runtime.conntracklimits import Limit, conntrack_limits
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.nodewatch import addresses_of_node, pod_cidrs
from kubeproxy.wire.netlink import AF_INET, AF_INET6
from kubeproxy.wire.nfdelete import DeleteTable
from kubeproxy.wire.op import Operation
from kubeproxy.wire.sysctl import OOMScore, Sysctl

#: what nftables mode calls its tables, one a family
_TABLE: Final = "kube-proxy"
_WARNING: Final = "Kube-proxy configuration may be incomplete or incorrect"
_LIMITS: Final = "could not set conntrack parameters from kube-proxy configuration"


class Host(Protocol):
    """As much of the hands as is needed here."""

    def commit(self, ops: Sequence[Operation]) -> object: ...

    def sysctl(self, path: str) -> str | None: ...


def leave_other_modes(host: Host) -> bool:
    """Rules of another mode would still be obeyed beside ours. Whether nothing of them is left."""
    gone = True
    for family in (AF_INET, AF_INET6):
        try:
            host.commit([DeleteTable(family, _TABLE)])
        except KernelError as error:
            log.error("Failed to remove the rules of another mode", error)
            gone = False
    return gone


def limit_connections(asked: Conntrack, processors: int, host: Host, *, must: bool = True) -> None:
    """KernelError with upstream's words and, where this is no host of its own, the way around.

    Who tries things out on a directory of manifests in a namespace is told, and goes on: no node of a
    cluster is at stake.
    """
    left: set[str] = set()
    for limit in conntrack_limits(asked, processors):
        if limit.field in left:
            continue
        try:
            change(host, limit.op)
        except KernelError as error:
            said = f"{error.thing}: {error.problem}"
            refused = KernelError(_LIMITS, said, errno=error.errno, remedy=_remedy(limit, error))
            if must:
                raise refused from error
            log.warning("A limit of connections stays as it is", err=refused)
            # What one field asks for goes together: a larger table is for more connections.
            left.add(limit.field)


def _remedy(limit: Limit, error: KernelError) -> str:
    first = f"{error.remedy}; " if error.remedy else ""
    return (
        f"{first}in a network namespace or a container that may not write it, "
        f"{limit.field}: {limit.leave} leaves it alone"
    )


def change(host: Host, op: Operation) -> None:
    """Carry out one operation; a setting that was another one is told with its old value."""
    before = host.sysctl(op.path) if isinstance(op, Sysctl) else None
    host.commit([op])
    if isinstance(op, Sysctl) and before != op.value:
        log.info("Changed sysctl", name=op.path, before=before, after=op.value)


def guard_from_oom(adjust: int, host: Host) -> None:
    """A node can live without this setting, so a refusal is only told."""
    try:
        host.commit([OOMScore(adjust)])
    except KernelError as error:
        log.info("Failed to set the out-of-memory score; it stays as it is", err=error, v=2)


def check_consistency(config: KubeProxyConfig, node: Node | None, families: Iterable[Family]) -> None:
    """Hold the configuration against the node: warnings, or ConfigError where nothing could work."""
    ips = addresses_of_node(config, node)
    facts = NodeFacts(ips, pod_cidrs(node), dual_stack=len(set(families)) == len(Family))
    opened = open_node_ports(config, facts)
    if opened:
        log.error(_WARNING, opened)
    found = mismatches(config, facts)
    if not found:
        return
    if any(mismatch.fatal for mismatch in found):
        said = f"kube-proxy configuration is incorrect: {joined(found)}"
        remedy = "name a network of the node's own family, or give the node an address of the other one"
        raise ConfigError(Complaint("", None, said, remedy, form=Form.PLAIN))
    log.error(_WARNING, joined(found))
