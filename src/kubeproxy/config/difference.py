"""What one configuration says differently from another, field by field."""

from typing import Any

from msgspec import Struct

from kubeproxy.config.field import Field, fields, value_at, with_values
from kubeproxy.config.schema import KubeProxyConfig

_MODE = "detectLocalMode"
_WAITS = "NodeCIDR"


class Difference(Struct, frozen=True):
    """One field; its values as the file spells them."""

    field: str
    before: str
    after: str
    #: it can be applied to a proxy that runs
    live: bool

    def __str__(self) -> str:
        return f"{self.field}: {self.before} → {self.after}"


def differences(before: KubeProxyConfig, after: KubeProxyConfig) -> tuple[Difference, ...]:
    """In the order of the schema."""
    pairs = ((field, value_at(before, field.path), value_at(after, field.path)) for field in fields())
    return tuple(_difference(field, old, new) for field, old, new in pairs if old != new)


def _difference(field: Field, old: Any, new: Any) -> Difference:
    # A start waits for the Node's networks where they are asked for; a proxy that runs would not.
    live = field.live and not (field.path == _MODE and _WAITS in (old, new))
    return Difference(field.path, _shown(field, old), _shown(field, new), live)


def _shown(field: Field, value: Any) -> str:
    return field.kind.show(value) or '""'


def taking(before: KubeProxyConfig, after: KubeProxyConfig, found: tuple[Difference, ...]) -> KubeProxyConfig:
    """The first configuration with these fields of the second."""
    return with_values(before, {one.field: value_at(after, one.field) for one in found})
