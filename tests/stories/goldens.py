"""The captured clusters as both tellers see them, with the rules of the original."""

from functools import cache

from kubeproxy.model.identity import Family
from kubeproxy.packets.addresses import Addresses
from kubeproxy.wire.iptdump import Table, parse_tables
from tests.goldens import CASES, FOLDER, decided
from tests.stories.world import World

CASES_BY_FAMILY = [(case, family) for case in CASES for family in Family]
_DUMPS = {Family.IPV4: "expected.iptables", Family.IPV6: "expected.ip6tables"}


def dump(case: str, family: Family) -> dict[str, Table]:
    """The rules the original programmed."""
    return parse_tables((FOLDER / case / _DUMPS[family]).read_text().splitlines())


@cache
def golden(case: str, family: Family) -> World:
    routes, node = decided(case, family)
    return World(node, routes, Addresses(routes.values()), dump(case, family))
