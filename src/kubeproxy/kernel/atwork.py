"""Who is killed leaves a restore program behind, which may still write what nobody wants any more.

So each of them holds a name while it runs, and whoever starts waits until nobody holds it. Names of sockets
belong to the network namespace, as tables do, and the kernel takes them back however a process ends.
"""

import contextlib
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def claimed(program: str) -> Iterator[tuple[int, ...]]:
    """Descriptors for a child to inherit; none where the name is taken: that is no reason not to work."""
    with socket.socket(socket.AF_UNIX) as held:
        try:
            held.bind(_name(program))
        except OSError:
            yield ()
        else:
            yield (held.fileno(),)


def at_work(program: str) -> bool:
    """Whether such a program runs, or somebody who starts one."""
    with claimed(program) as descriptors:
        return not descriptors


def _name(program: str) -> bytes:
    return b"\0kube-proxy/" + program.encode()
