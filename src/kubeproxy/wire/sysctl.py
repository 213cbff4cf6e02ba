"""Kernel settings below /proc/sys: a path and a text."""

from kubeproxy.wire.op import Operation


class Sysctl(Operation, frozen=True):
    """Give a setting a value, unless it has it: `net/ipv4/conf/all/route_localnet` to `1`."""

    path: str
    value: str
