"""Which right a refusal was about: the kernel does not say, so those this process has are looked at."""

from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/thread-self/status")
_BITS: Final = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13}


def needed(*names: str) -> str:
    """A remedy that names the capabilities this process lacks; all of them where it seems to have each.

    Seems, because in a user namespace of its own a process has every right, but none over the host.
    """
    held = _held()
    lacking = [name for name in names if not held >> _BITS[name] & 1] or list(names)
    return f"{' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} needed"


def _held() -> int:
    """The effective capabilities, as bits; none where /proc does not tell."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
