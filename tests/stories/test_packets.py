"""The stories of the fixture, told by the oracle and by the rules."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from kubeproxy.model.identity import Family
from kubeproxy.packets.packet import Packet, Story
from kubeproxy.routes.nodeview import DetectBy, Detector, NodePortAddresses
from tests.stories import stories
from tests.stories.fixture import ADDRESSES, OWN_PODS, arrives, node, packet, tracker
from tests.stories.world import World, world

IPV4, IPV6 = Family
TELLERS: dict[str, Callable[[World, Packet], Story]] = {"oracle": World.told, "iptables": World.walked}


def usual(family: Family) -> dict[str, Any]:
    return {}


def own_pods(family: Family) -> dict[str, Any]:
    return {"detector": Detector(DetectBy.CIDR, OWN_PODS[family])}


def nobody(family: Family) -> dict[str, Any]:
    return {"detector": None}


def masquerade_all(family: Family) -> dict[str, Any]:
    return {"masquerade_all": True}


def one_address(family: Family) -> dict[str, Any]:
    networks = (ADDRESSES[family][1],)
    return {"node_ports": NodePortAddresses(match_all=False, networks=networks), "loopback_node_ports": False}


def no_loopback(family: Family) -> dict[str, Any]:
    return {"loopback_node_ports": False}


SETS = [
    (usual, (IPV4, IPV6), [*stories.USUAL, *stories.IPTABLES]),
    (usual, (IPV4,), stories.LOOPBACK),
    (usual, (IPV6,), stories.NO_LOOPBACK),
    (no_loopback, (IPV4,), [*stories.USUAL, *stories.IPTABLES, *stories.NO_LOOPBACK]),
    (nobody, (IPV4, IPV6), stories.NO_DETECTOR),
    (own_pods, (IPV4, IPV6), stories.OWN_PODS_ONLY),
    (masquerade_all, (IPV4, IPV6), stories.MASQUERADE_ALL),
    (one_address, (IPV4, IPV6), [*stories.ONE_ADDRESS, *stories.ONE_ADDRESS_IPTABLES]),
]
CELLS = [
    pytest.param(settings, family, *cell, id=f"{settings.__name__}-{family}-{cell[0]}-{cell[1]}")
    for settings, families, cells in SETS
    for family in families
    for cell in cells
]


@cache
def shop_floor(settings: Callable[[Family], dict[str, Any]], family: Family) -> World:
    return world(tracker(), node(family, **settings(family)))


@pytest.mark.parametrize("teller", TELLERS)
@pytest.mark.parametrize(("settings", "family", "who", "dials", "where", "seen"), CELLS)
def test_where_it_arrives_and_whom_the_pod_sees(teller, settings, family, who, dials, where, seen):
    story = TELLERS[teller](shop_floor(settings, family), packet(who, dials, family))
    assert arrives(story, family) == (where, seen), story


@pytest.mark.parametrize("teller", TELLERS)
@pytest.mark.parametrize("family", Family)
def test_without_any_endpoint_everybody_is_refused_everywhere(teller, family):
    empty = world(tracker(empty=True), node(family))
    for who, dials, where, seen in stories.EMPTY:
        story = TELLERS[teller](empty, packet(who, dials, family))
        assert arrives(story, family) == (where, seen), story


@pytest.mark.parametrize("teller", TELLERS)
@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize(("who", "dials", "before", "now"), stories.AFFINITY)
def test_a_sticky_service_sends_a_client_where_it_went_before(teller, family, who, dials, before, now):
    story = TELLERS[teller](shop_floor(usual, family), packet(who, dials, family, remembers=before))
    assert arrives(story, family)[0] == now, story


def test_there_are_enough_stories():
    """Real packets must show a hundred of them; distinct by what is dialled, from where, and how the node is set."""
    assert len({param.id for param in CELLS}) == len(CELLS) > 300
