"""How long to wait after a failure: longer each time, and never all nodes at once."""

from typing import Final

from msgspec import Struct

#: the first wait; each is twice the one before, and up to twice as long again by chance
FIRST: Final = 0.8
#: the longest wait before chance is added, for a server that answers but does not help
LONGEST: Final = 30.0
#: and for one that does not answer: with chance added still within 5 s of its return
AWAY: Final = 2.0
#: what a server may ask us to wait
MOST_ASKED: Final = 120.0


class Pace(Struct, frozen=True):
    """The times of a source, in seconds."""

    first: float = FIRST
    longest: float = LONGEST
    away: float = AWAY
    #: a watch is asked for so long, and up to twice that by chance
    watch: float = 300.0
    #: a watch that ends sooner has achieved nothing
    short: float = 1.0
    #: one that lasts so long is success, and what went wrong before it is forgotten
    settled: float = 30.0
    #: it is given up so long after it should have ended
    grace: float = 30.0
    #: the head of an answer, and each piece of a list, come within this time
    answer: float = 60.0
    #: a server that sends bookmarks sends one every minute or so: after two missed ones nobody is there
    silence: float = 165.0
    #: what a server may ask us to wait
    most_asked: float = MOST_ASKED
    #: who was not believed looks so often whether its files are new
    look: float = 2.0
    #: what is over so soon is not said at all: a server that starts refuses us for a moment
    doubt: float = 0.75
    #: a server that came back may go on starting for so long, and is not left alone for long meanwhile
    starting: float = 15.0
    #: what comes and goes is said once in this time
    calm: float = 60.0
    #: what is still wrong is said again so rarely
    remind: float = 600.0


class Backoff:
    """Waits of one kind of failure, until there is success."""

    def __init__(self, first: float, longest: float) -> None:
        self._first, self._longest = first, longest
        self._failures = 0

    def next(self, chance: float) -> float:
        """The seconds to wait now; `chance` is from 0 to 1."""
        wait = min(self._longest, self._first * 2.0 ** min(self._failures, 32))
        self._failures += 1
        return wait * (1.0 + chance)

    def reset(self) -> None:
        self._failures = 0
