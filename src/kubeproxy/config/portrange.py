"""A range of ports, for relays that must stay inside a firewall's hole."""

import re
from typing import Final

from msgspec import Struct

_FORMS: Final = re.compile(r"([0-9]{1,5})(?:([-+])([0-9]{1,5}))?\Z", re.ASCII)
_HIGHEST: Final = 65535


class PortRange(Struct, frozen=True, gc=False):
    """Both ends included; `any_port` when the kernel may pick."""

    first: int = 0
    last: int = 0

    @property
    def any_port(self) -> bool:
        return self.first == 0


def parse_port_range(text: str) -> PortRange | None:
    """`300-2000`, `300+1700`, or one port; no text and zero mean any port. None when it is none of these."""
    if text.strip() == "":
        return PortRange()
    found = _FORMS.match(text.strip())
    if found is None:
        return None
    first = int(found[1])
    last = first if found[2] is None else int(found[3]) + (first if found[2] == "+" else 0)
    return PortRange(first, last) if first <= last <= _HIGHEST else None
