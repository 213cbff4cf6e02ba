"""`kube-proxy --cleanup`: remove every trace of us from the kernel, in both flavours and families."""

from kubeproxy.backends.iptables.backend import IPTables
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
    try:
        if not machine.holds_tables(ipv6):
            return True
        plan = IPTables(ipv6=ipv6, portion=None).cleanup(machine.read(ipv6=ipv6))
    except KernelError as error:
        log.info("Nothing to clean up in a family that does not work here", program=program, err=error)
        return True
    clean, steps = True, 0
    for step in plan.steps:
        steps += 1
        try:
            machine.commit(step.ops)
        except KernelError as error:
            log.error("encountered an error while tearing down rules", error, program=program)
            clean = False
    if clean and steps:
        log.info("Removed every rule of kube-proxy", program=program)
    return clean
