"""The real kernel of a namespace as an object, for tests that hold several of them at once."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from kubeproxy.kernel.hands import Hands
from kubeproxy.kernel.processes import Flavour, Programs
from kubeproxy.wire.op import Operation
from kubeproxy.wire.restore import SavedTables
from tests.lab.netns import Namespace, namespace


class Inside:
    """Goes in for every question and every commit, whichever namespace the caller is in."""

    def __init__(self, ns: Namespace, flavour: Flavour) -> None:
        self.ns, self._hands = ns, Hands(Programs(flavour, f"-{flavour}"))

    def commit(self, ops: Sequence[Operation]) -> None:
        with self.ns.enter():
            self._hands.commit(ops)

    def read(self, *, ipv6: bool) -> SavedTables:
        with self.ns.enter():
            return self._hands.read(ipv6=ipv6)

    def save(self, ipv6: bool, tables: Iterable[str]) -> list[bytes]:
        with self.ns.enter():
            return list(self._hands.programs.save(ipv6, tables))


@contextlib.contextmanager
def real_kernel(flavour: Flavour) -> Iterator[Inside]:
    """An empty one, gone afterwards."""
    with namespace() as ns:
        yield Inside(ns, flavour)
