"""Standing: the configuration that counts now, and how the file differs from it."""

from kubeproxy.config.difference import Difference
from kubeproxy.config.schema import KubeProxyConfig


class Standing:
    """One for the process; the reload writes it, the pages read it."""

    def __init__(self, running: KubeProxyConfig) -> None:
        self.running = running
        self.pending: tuple[Difference, ...] = ()
        #: why the file cannot be used, or ""
        self.problem = ""
