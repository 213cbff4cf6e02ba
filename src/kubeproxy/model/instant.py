"""Times as the API writes them."""

import re
from datetime import datetime
from typing import Final

# The calendar of datetime is lenient in other ways than RFC 3339 is, so the shape is checked here.
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)\Z", re.ASCII)


def parse_instant(text: str) -> float | None:
    """Seconds since 1970 of an RFC 3339 time, None if it is none."""
    if not _INSTANT.match(text):
        return None
    try:
        return datetime.fromisoformat(text.upper()).timestamp()
    except (ValueError, OverflowError):
        return None
