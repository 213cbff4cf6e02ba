"""Settings that are files: the kernel's below /proc/sys, a module's parameters, and this process's own."""

from kubeproxy.wire.op import Operation


class Sysctl(Operation, frozen=True):
    """Give a setting a value, unless it has it: `net/ipv4/conf/all/route_localnet` to `1`."""

    path: str
    value: str


class ModuleParameter(Operation, frozen=True):
    """Give a number that a module works with at least this value; a larger one stays."""

    module: str
    name: str
    at_least: int


class OOMScore(Operation, frozen=True):
    """How willingly the kernel kills this process when memory is short: -1000 never, 1000 first."""

    adjust: int
