"""How many connections the kernel tracks, and for how long: what is asked for, as operations."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from kubeproxy.config.duration import Duration
from kubeproxy.config.schema import Conntrack
from kubeproxy.wire.op import Operation
from kubeproxy.wire.sysctl import ModuleParameter, Sysctl

_PREFIX: Final = "net/netfilter/nf_conntrack_"
#: more are not set by themselves, even where `min` says so: the table would take hundreds of megabytes
_CEILING: Final = 1 << 20
#: connections that share a bucket of the table, when it is full
_PER_BUCKET: Final = 4


class Limit(Struct, frozen=True):
    """One setting, the field that asks for it, and the value with which the field asks for nothing."""

    op: Operation
    field: str
    leave: str


def conntrack_limits(asked: Conntrack, processors: int) -> Iterator[Limit]:
    """In the order in which they are set."""
    most = most_connections(asked, processors)
    if most is not None:
        yield Limit(Sysctl(f"{_PREFIX}max", str(most)), "conntrack.maxPerCore", "0")
        buckets = ModuleParameter("nf_conntrack", "hashsize", most // _PER_BUCKET)
        yield Limit(buckets, "conntrack.maxPerCore", "0")
    if asked.tcpBeLiberal:
        yield Limit(Sysctl(f"{_PREFIX}tcp_be_liberal", "1"), "conntrack.tcpBeLiberal", "false")
    times: tuple[tuple[str, str, Duration], ...] = (
        ("tcp_timeout_established", "tcpEstablishedTimeout", asked.tcpEstablishedTimeout),
        ("tcp_timeout_close_wait", "tcpCloseWaitTimeout", asked.tcpCloseWaitTimeout),
        ("udp_timeout", "udpTimeout", asked.udpTimeout),
        ("udp_timeout_stream", "udpStreamTimeout", asked.udpStreamTimeout),
    )
    for name, field, time in times:
        if time > 0:
            yield Limit(Sysctl(f"{_PREFIX}{name}", str(int(time.seconds))), f"conntrack.{field}", "0s")


def most_connections(asked: Conntrack, processors: int) -> int | None:
    """None leaves the kernel's limit alone, and `min` with it."""
    if asked.maxPerCore == 0:
        return None
    return min(_CEILING, scaled) if (scaled := asked.maxPerCore * processors) > asked.min else asked.min
