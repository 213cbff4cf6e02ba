"""The last touches that depend on several fields: what a configuration means, written into its fields."""

from typing import Final

from msgspec.structs import replace

from kubeproxy.config.duration import Duration
from kubeproxy.config.schema import PRIMARY, KubeProxyConfig

_NONE: Final = Duration(0)
_DEFAULT: Final = KubeProxyConfig()


def settled(config: KubeProxyConfig) -> KubeProxyConfig:
    """Settings of blocks that the mode does not use are dropped, and nftables gets its node port addresses.

    Periods and masqueradeAll exist once inside the proxy and in three places in the file. Values in the two
    other places have never meant anything, and leaving them in a written file would suggest that they do.
    """
    mode = config.mode
    if mode != "nftables":
        nftables = replace(config.nftables, syncPeriod=_NONE, minSyncPeriod=_NONE, masqueradeAll=False)
        config = replace(config, nftables=nftables)
    if mode != "ipvs":
        config = replace(config, ipvs=replace(config.ipvs, syncPeriod=_NONE, minSyncPeriod=_NONE))
    if mode in ("nftables", "ipvs"):
        keep = mode == "ipvs" and config.iptables.masqueradeAll
        iptables = replace(config.iptables, syncPeriod=_NONE, minSyncPeriod=_NONE, masqueradeAll=keep)
        config = replace(config, iptables=iptables)
    if mode == "nftables" and not config.nodePortAddresses:
        config = replace(config, nodePortAddresses=(PRIMARY,))
    if mode != "userspace":
        config = replace(config, portRange="", udpIdleTimeout=_DEFAULT.udpIdleTimeout)
    return config
