"""Endpoint: one address:port that serves a ServicePort."""

from msgspec import Struct


class Endpoint(Struct, frozen=True, gc=False):
    """One address:port and its conditions, as some EndpointSlice reports it."""

    address: str
    port: int
    ready: bool = True
    serving: bool = True
    terminating: bool = False
    node: str = ""
    zone_hints: tuple[str, ...] = ()
    node_hints: tuple[str, ...] = ()

    @property
    def draining(self) -> bool:
        """On its way out, but still answering."""
        return self.serving and self.terminating and not self.ready

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"
