"""`kube-proxy --cleanup`: remove every trace of us from the kernel, in both flavours and families."""

from kubeproxy.backends.contract import Step
from kubeproxy.backends.iptables.backend import IPTables
from kubeproxy.backends.iptables.cleanup import one_by_one, ours_left
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.flavour import installed_programs
from kubeproxy.runtime.host import leave_other_modes
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.machine import LinuxMachine


def cleanup() -> int:
    """0 when nothing of ours is left; what one table refuses does not keep the others."""
    clean = True
    for programs in installed_programs():
        machine = LinuxMachine(programs, "cleaning up")
        for ipv6 in (False, True):
            clean &= _clean_family(machine, ipv6)
        clean &= leave_other_modes(machine)
    return 0 if clean else 1


def _clean_family(machine: LinuxMachine, ipv6: bool) -> bool:
    program = machine.programs.name(ipv6)
    backend = IPTables(ipv6=ipv6, portion=None)
    try:
        if not machine.holds_tables(ipv6):
            return True
        steps = list(backend.cleanup(machine.read(ipv6=ipv6)).steps)
    except KernelError as error:
        log.info("Nothing to clean up in a family that does not work here", program=program, err=error)
        return True
    refused = [step for step in steps if not _carried_out(machine, step, program)]
    clean = not refused or _leftovers(machine, ipv6)
    if clean and steps:
        log.info("Removed every rule of kube-proxy", program=program)
    return clean


def _carried_out(machine: LinuxMachine, step: Step, program: str) -> bool:
    try:
        machine.commit(step.ops)
    except KernelError as error:
        log.info(
            "Could not remove everything at once; what is left goes piece by piece",
            program=program,
            err=error,
        )
        return False
    return True


def _leftovers(machine: LinuxMachine, ipv6: bool) -> bool:
    """Chain by chain; what stays is empty, and somebody's rule leads into it."""
    program = machine.programs.name(ipv6)
    for step in one_by_one(machine.read(ipv6=ipv6), ipv6=ipv6).steps:
        try:
            machine.commit(step.ops)
        except KernelError:
            continue
    left = ours_left(machine.read(ipv6=ipv6))
    for table, chain in left:
        log.error(
            "encountered an error while tearing down rules",
            "somebody's rule leads into a chain of ours; it is empty now, but it cannot be deleted",
            table=table,
            chain=chain,
            remedy=f"delete the rule that `{program}-save | grep {chain}` shows, and clean up again",
        )
    return not left
