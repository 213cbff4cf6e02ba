"""The index of addresses, kept current by names."""

import pytest

from kubeproxy.model.identity import Family
from kubeproxy.packets.addresses import Addresses
from tests.stories.clusters import cluster
from tests.stories.fixture import node, tracker
from tests.stories.world import decided, tracked

IPV4 = Family.IPV4


def test_everybody_is_found_by_what_clients_dial():
    addresses = Addresses(decided(tracker(), node(IPV4)).values())
    (answer,) = addresses.dialled("198.51.100.1", "TCP", 80)
    assert str(answer.name) == "demo/web"
    assert addresses.dialled("198.51.100.1", "UDP", 80) == []
    by_number = addresses.node_port(IPV4, "TCP", 31080)
    assert by_number is not None and by_number.name == answer.name
    assert addresses.node_port(Family.IPV6, "TCP", 31080) is None
    assert addresses.is_cluster_ip("10.96.3.1") and not addresses.is_cluster_ip("198.51.100.1")
    checked = addresses.health_check(IPV4, 31902)
    assert checked is not None and checked.port.name.service == "edge"


def test_one_who_goes_takes_everything_along():
    routes = decided(tracker(), node(IPV4))
    addresses = Addresses(routes.values())
    for name in routes:
        addresses.drop(name)
    assert all(addresses.dialled(f"198.51.100.{n}", "TCP", 80) == [] for n in range(1, 110))
    assert addresses.node_port(IPV4, "TCP", 31080) is None
    assert addresses.here("10.96.3.1") == []
    assert addresses.health_check(IPV4, 31902) is None


@pytest.mark.parametrize("seed", range(30))
def test_one_name_after_the_other_comes_to_the_same(seed):
    """Put, put again and drop in between: what is found is what a new index would find."""
    made = cluster(seed)
    routes = decided(tracked(made.objects()), made.node)
    grown = Addresses()
    for decided_port in (*routes.values(), *routes.values()):
        grown.put(decided_port)
    for gone in list(routes)[::2]:
        grown.drop(gone)
        grown.put(routes[gone])
    fresh = Addresses(routes.values())
    for packet in made.packets:
        key = packet.destination, packet.protocol, packet.port
        assert {a.name for a in grown.dialled(*key)} == {a.name for a in fresh.dialled(*key)}
        assert set(grown.lost(*key)) == set(fresh.lost(*key))
