"""Which release of Kubernetes this proxy stands in for."""

import re
from typing import Final

KUBERNETES_VERSION: Final = "v1.36.4"
#: metrics hidden since then may be shown again for one release
PREVIOUS_MINOR: Final = "1.35"

_VERSION: Final = re.compile(r"v([0-9]+\.[0-9]+\.[0-9]+)(?:[-+][0-9A-Za-z.+-]*)?\Z", re.ASCII)


def same_release(text: str) -> bool:
    """Whether a version is ours, whatever follows its three numbers."""
    asked, ours = _VERSION.match(text), _VERSION.match(KUBERNETES_VERSION)
    return asked is not None and ours is not None and asked[1] == ours[1]
