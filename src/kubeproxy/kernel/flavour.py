"""Which of iptables' two kinds of tables this node uses.

The kubelet and we must agree, or its chains and ours miss each other. So its hints come first; without them
what already holds chains of ours, because a restart or an upgrade must not leave those behind; and last the
PATH's `iptables`. Asking must not make legacy tables: the nft flavour complains about them ever after.
"""

import errno
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from kubeproxy.kernel import netlink
from kubeproxy.kernel.child import installed
from kubeproxy.kernel.errors import KernelError
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.kernel.tableinfo import legacy_tables
from kubeproxy.wire.netlink import AF_INET, AF_INET6

#: what the kubelet leaves, newer and older ones
HINTS: Final = (("mangle", "KUBE-IPTABLES-HINT"), ("mangle", "KUBE-KUBELET-CANARY"))
#: what any iptables or ipvs mode of kube-proxy leaves
OURS: Final = (("mangle", "KUBE-PROXY-CANARY"), ("nat", "KUBE-SERVICES"), ("filter", "KUBE-SERVICES"))

_FAMILIES: Final = (AF_INET, AF_INET6)


class Choice(Struct, frozen=True):
    """The programs to use, and why these."""

    programs: Programs
    reason: str


def installed_programs() -> tuple[Programs, ...]:
    """Of every flavour that is installed: who cleans up looks everywhere."""
    plain = _plain_flavour()
    return tuple(programs for flavour in Flavour if (programs := _programs(flavour, plain)))


def choose() -> Choice:
    """The flavour of this node, for good: what is asked here changes as soon as we write."""
    plain = _plain_flavour()
    available = {flavour: programs for flavour in Flavour if (programs := _programs(flavour, plain))}
    if not available:
        raise KernelError("iptables", "is not installed", remedy="install the package iptables")
    found = _trace(available)
    if found is None:
        flavour = plain if plain in available else next(iter(available))
        return Choice(available[flavour], f"{flavour}: what `iptables` in the PATH is, as nobody left a hint")
    flavour, reason = found
    if flavour in available:
        return Choice(available[flavour], f"{flavour}: it holds {reason}")
    other = next(iter(available))
    return Choice(
        available[other], f"{other}: the only one installed, although {reason} is in the {flavour} tables"
    )


def _trace(available: dict[Flavour, Programs]) -> tuple[Flavour, str] | None:
    """Who left something, and in which tables; nft is asked first, as it costs next to nothing."""
    for places, whose in ((HINTS, "the kubelet's"), (OURS, "kube-proxy's")):
        for flavour, holds in _LOOKS.items():
            for family in _FAMILIES:
                for table, chain in places:
                    if holds(available, family, table, chain):
                        return flavour, f"{whose} chain {chain} of table {table}"
    return None


def _nft_holds(available: dict[Flavour, Programs], family: int, table: str, chain: str) -> bool:
    """Asked without a program: the kernel tells about one chain."""
    try:
        return netlink.chain(family, table, chain) is not None
    except KernelError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            raise
        return False  # a kernel without nf_tables


def _legacy_holds(available: dict[Flavour, Programs], family: int, table: str, chain: str) -> bool:
    programs = available.get(Flavour.LEGACY)
    if programs is None or table not in legacy_tables(family):
        return False
    return programs.chain_exists(family == AF_INET6, table, chain)


_Look = Callable[[dict[Flavour, Programs], int, str, str], bool]
_LOOKS: Final[dict[Flavour, _Look]] = {Flavour.NFT: _nft_holds, Flavour.LEGACY: _legacy_holds}


def _programs(flavour: Flavour, plain: Flavour | None) -> Programs | None:
    """The programs of a flavour: by their full names, or as plain `iptables` where that is what it is."""
    infixes = (f"-{flavour}", "") if plain is flavour else (f"-{flavour}",)
    return next((Programs(flavour, infix) for infix in infixes if _complete(infix)), None)


def _complete(infix: str) -> bool:
    return all(installed(f"iptables{infix}{verb}") for verb in ("", "-save", "-restore"))


def _plain_flavour() -> Flavour | None:
    """What `iptables` without more words is; before 1.8 there was only one kind."""
    if installed("iptables") is None:
        return None
    said = Programs(Flavour.NFT).run("iptables", ["--version"]).output
    return Flavour.NFT if b"nf_tables" in said else Flavour.LEGACY
