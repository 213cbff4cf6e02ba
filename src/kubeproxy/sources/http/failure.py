"""Why a request got no answer."""


class Failure(Exception):
    """What went wrong, for a person, and what might help. `target` is the host it was about."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


class Unreachable(Failure):
    """Nobody could be talked to."""


class Distrusted(Failure):
    """One side does not believe the other: certificates, names, versions of TLS."""


class Cut(Failure):
    """The conversation ended in the middle of something."""


class Silent(Failure):
    """Nothing was heard for too long."""


class Garbled(Failure):
    """What came is not what was agreed on."""


class Nonsense(Garbled):
    """It is HTTP that came, but what it holds makes no sense."""
