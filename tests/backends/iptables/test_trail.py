"""The trail names the chains in which the rules themselves do something to the packet."""

from itertools import islice

import pytest

from kubeproxy.backends.iptables.names import POSTROUTING, SERVICES, is_service_chain
from kubeproxy.backends.iptables.trail import trail
from kubeproxy.model.identity import Family
from kubeproxy.packets.packet import Packet
from tests.stories.everything import packets
from tests.stories.fixture import SHOPS, node, tracker
from tests.stories.goldens import CASES_BY_FAMILY, golden
from tests.stories.world import World, world


def named(seen: World, packet: Packet) -> set[str]:
    """The places the trail names."""
    story = seen.told(packet)
    decided = seen.routes.get(story.service) if story.service else None
    return {waypoint.place for waypoint in trail(story, decided, seen.node)}


def met(seen: World, packet: Packet) -> set[str]:
    """The chains of ours in which a rule took the packet up, and those of Services it was sent into.

    Every packet is looked at for the mark; that it has none is nothing that happens to it.
    """
    steps = [step.what.partition(": ") for step in seen.walked(packet).steps]
    taken = {place for place, _, said in steps if (place, said) != (f"nat {POSTROUTING}", "RETURN")}
    entered = {f"nat {said.removeprefix('to ')}" for place, _, said in steps if place.startswith("nat ")}
    entered = {place for place in entered if place == f"nat {SERVICES}" or is_service_chain(place[4:])}
    return {place for place in taken | entered if place.partition(" ")[2].startswith("KUBE-")}


def strayed(seen: World, packet: Packet) -> str:
    """Empty when the trail is what the rules say."""
    told, walked = named(seen, packet), met(seen, packet)
    return (
        ""
        if told == walked
        else f"\nonly named: {told - walked}\nonly met: {walked - told}\n{packet}\n{seen.walked(packet)}"
    )


@pytest.mark.parametrize("family", Family)
def test_packets_of_the_stories_go_where_the_trail_says(family):
    """One in many, but many more than there are rules."""
    seen = world(tracker([shop.name for shop in SHOPS]), node(family))
    some = islice(packets(seen), 0, None, 29)
    assert next(filter(None, (strayed(seen, packet) for packet in some)), "") == ""


@pytest.mark.parametrize(("case", "family"), CASES_BY_FAMILY)
def test_packets_of_the_golden_clusters_too(case, family):
    seen = golden(case, family)
    some = islice(packets(seen), 0, None, 61)
    assert next(filter(None, (strayed(seen, packet) for packet in some)), "") == ""


def test_each_place_comes_with_the_command_that_shows_it():
    seen = world(tracker(["web"]), node(Family.IPV4))
    story = seen.told(Packet("203.0.113.7", "198.51.100.1", 80))
    assert [(w.place, w.look) for w in trail(story, seen.routes[story.service], seen.node)][:2] == [
        ("nat KUBE-SERVICES", "iptables -t nat -nvL KUBE-SERVICES"),
        ("nat KUBE-EXT-YTGZ2JEENUBCE3T3", "iptables -t nat -nvL KUBE-EXT-YTGZ2JEENUBCE3T3"),
    ]
