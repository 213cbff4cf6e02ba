"""Waypoint: a place in the kernel that a packet passes, in the words of the dialect that made it."""

from msgspec import Struct


class Waypoint(Struct, frozen=True, gc=False):
    """For somebody who wants to look there: its name, what happens in it, and the command that shows it."""

    place: str
    what: str
    look: str
    #: where the packet's fate is decided, or its endpoint chosen
    decides: bool = False
