"""KernelError: what the kernel or one of its programs refused, in its own words."""


class KernelError(Exception):
    """An operation was refused.

    `problem` keeps the words of the kernel or the program; `errno` is 0 where it gave none.
    `line` is the line of the input that was refused, where the program names one.
    """

    def __init__(self, thing: str, problem: str, *, errno: int = 0, remedy: str = "", line: int = 0) -> None:
        super().__init__(thing, problem)
        self.thing, self.problem, self.errno, self.remedy, self.line = thing, problem, errno, remedy, line

    def __str__(self) -> str:
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{self.thing}: {self.problem}{remedy}"


class Busy(KernelError):
    """Somebody else holds the lock; the same operation may pass in a moment."""


class Unsure(KernelError):
    """An operation ended without saying how: killed, timed out. Only reading the kernel can tell."""


class TooLarge(KernelError):
    """More than this kernel takes at once from an ordinary user; what is in it is not at fault."""
