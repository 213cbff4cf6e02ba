"""A configuration applied to a proxy that runs."""

from collections.abc import Mapping

from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.machine import LinuxMachine
from kubeproxy.runtime.proxy import Proxy
from kubeproxy.runtime.servers import Port
from kubeproxy.runtime.setup import prepare_iptables


class Live:
    """Everything that a change reaches while traffic flows; what may be refused comes first."""

    def __init__(self, proxy: Proxy, machine: LinuxMachine, ports: Mapping[str, Port]) -> None:
        self._proxy, self._machine, self._ports = proxy, machine, ports

    def apply(self, config: KubeProxyConfig) -> None:
        """KernelError when the host does not let itself be prepared; then nothing has changed."""
        prepare_iptables(config, self._machine, self._proxy.wheels.keys(), self._proxy.node)
        if config.logging != self._proxy.config.logging:
            # Not otherwise: somebody may have turned the verbosity on the debug page.
            log.configure(config.logging)
        for field, port in self._ports.items():
            port.move(getattr(config, field), hard_fail=config.bindAddressHardFail)
        self._proxy.configure(config)
