"""What a client says it can read: Accept and its kin."""

from msgspec import Struct


class MediaRange(Struct, frozen=True):
    """One thing a client takes, as it names it."""

    type: str
    parameters: dict[str, str]


def accepted(header: str) -> list[MediaRange]:
    """Everything a header names, what is liked best first; what is refused (q=0) is left out."""
    found: list[tuple[float, MediaRange]] = []
    for clause in header.split(","):
        kind, *rest = (part.strip() for part in clause.split(";"))
        parameters = dict(_parameter(part) for part in rest if part)
        quality = _quality(parameters.pop("q", "1"))
        if kind and quality > 0:
            found.append((quality, MediaRange(kind.lower(), parameters)))
    return [media for _, media in sorted(found, key=lambda pair: -pair[0])]


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip().lower(), value.strip().strip('"')


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0
