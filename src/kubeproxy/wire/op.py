"""The base of everything the kernel folder can carry out."""

from msgspec import Struct


class Operation(Struct, frozen=True):
    """Something the hands can carry out; each language of the kernel defines its own."""
