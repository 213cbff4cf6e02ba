"""Numbers that a manifest leaves out and that must differ from everybody else's: cluster IPs and node ports.

A cluster remembers what it gave to whom; a directory of manifests has no memory, and must give the same
answer after a restart, on every node, and whichever file was read first. So each claimant has an order of
preference that follows from its name alone, and fixed rules tell apart those that want the same value:

1.  A value that somebody wrote down is never given to anybody else.
2.  A claimant gets its first preference, unless that is written down by somebody or is also the first
    preference of a claimant whose name sorts before its own.
3.  Two meet only where both want one value: it goes to the one for whom it ranks higher, and among equals
    to the name that sorts first. The other has its next preference, and so on; whoever meets nobody stays.
4.  The outcome depends on the claimants, the values written down and the ranges; on nothing else.

It is a stable matching with the claimants proposing, which has exactly one outcome whatever the order.
"""

import math
from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from kubeproxy.api.meta import Ref
from kubeproxy.api.service import Service

_LEAST_STATIC: Final = 16


class Given(Struct, frozen=True, gc=False):
    """One number that was found, or (without a value) was not: for which field, and out of which ranges."""

    field: str
    value: str
    origin: str
    family: str = ""


class Numbered(Struct, frozen=True, gc=False):
    """A Service with the numbers it lacked, as far as there were any."""

    service: Service
    given: tuple[Given, ...] = ()
    without: tuple[Given, ...] = ()


def claimant(ref: Ref) -> str:
    return f"{ref.namespace}/{ref.name}"


class Band(Struct, frozen=True, gc=False):
    first: int
    size: int


class Pool(Struct, frozen=True, gc=False):
    """Values to give out; a band is only used by a claimant that found no room in those before it."""

    bands: tuple[Band, ...]

    @property
    def size(self) -> int:
        return sum(band.size for band in self.bands)


def pool(ranges: Iterable[tuple[int, int]], share: int, most: int) -> Pool:
    """A pool of ranges (first, size), whose low ends, one `share` but at `most` so many, are for people.

    The API server does the same. Who writes a value down picks a low one, such as 10.96.0.10 for DNS, so
    giving out the high ones first avoids collisions.
    """
    upper: list[Band] = []
    lower: list[Band] = []
    for first, size in ranges:
        static = min(max(_LEAST_STATIC, size // share), most)
        if static >= size:
            static = 0
        upper.append(Band(first + static, size - static))
        lower.append(Band(first, static))
    return Pool(tuple(band for band in (*upper, *lower) if band.size > 0))


class _Preference:
    """The values of a pool in a claimant's own order: steps through each band that meet every value once."""

    __slots__ = ("_pool", "_seed")

    def __init__(self, claimant: str, pool: Pool) -> None:
        self._seed = int.from_bytes(blake2b(claimant.encode(), digest_size=16).digest(), "big")
        self._pool = pool

    def __call__(self, rank: int) -> int:
        for band in self._pool.bands:
            if rank < band.size:
                start = self._seed % band.size
                return band.first + (start + rank * self._step(band.size)) % band.size
            rank -= band.size
        raise IndexError(rank)

    def _step(self, size: int) -> int:
        step = (self._seed >> 64) % size or 1
        while math.gcd(step, size) != 1:
            step += 1
        return step


def assign(claimants: Iterable[str], taken: Collection[int], pool: Pool) -> dict[str, int | None]:
    """A value for each claimant; None where nothing is left for it."""
    given: dict[str, int | None] = {}
    holders: dict[int, tuple[int, str]] = {}
    preferences: dict[str, _Preference] = {}
    asking = [(0, claimant) for claimant in dict.fromkeys(claimants)]
    size = pool.size
    while asking:
        rank, claimant = asking.pop()
        preference = preferences.get(claimant) or preferences.setdefault(
            claimant, _Preference(claimant, pool)
        )
        given[claimant] = None
        while rank < size:
            value = preference(rank)
            holder = holders.get(value)
            if value not in taken and (holder is None or (rank, claimant) < holder):
                given[claimant] = value
                holders[value] = (rank, claimant)
                if holder is not None:
                    asking.append((holder[0] + 1, holder[1]))
                break
            rank += 1
    return given
