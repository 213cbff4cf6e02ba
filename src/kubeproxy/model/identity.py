"""PortName: the key of everything."""

from enum import StrEnum

from msgspec import Struct


class Family(StrEnum):
    """An IP family; every decision is taken once for each, independently of the other."""

    IPV4 = "IPv4"
    IPV6 = "IPv6"


class Protocol(StrEnum):
    """A transport protocol, spelled as the API spells it."""

    TCP = "TCP"
    UDP = "UDP"
    SCTP = "SCTP"


class ServiceName(Struct, frozen=True, order=True, gc=False):
    """A Service, whatever its ports and families."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class PortName(Struct, frozen=True, order=True, gc=False):
    """One port of one Service in one IP family: the unit that is decided, compiled and programmed.

    The order of the fields is the order in which rules are written.
    """

    namespace: str
    service: str
    port: str
    protocol: Protocol
    family: Family

    def __str__(self) -> str:
        """As operators and rule comments know it; protocol and family are left out on purpose."""
        suffix = f":{self.port}" if self.port else ""
        return f"{self.namespace}/{self.service}{suffix}"

    @property
    def owner(self) -> ServiceName:
        return ServiceName(self.namespace, self.service)
