"""The oracle knows no rules and the walk knows no Services; wherever they come to the same end, both are right."""

import os
from collections import Counter, defaultdict

import pytest

from kubeproxy.model.identity import Family
from kubeproxy.packets.packet import Outcome, Packet
from kubeproxy.wire.iptables import Rule
from kubeproxy.wire.iptdump import Chain, Table
from tests.stories.clusters import cluster
from tests.stories.everything import packets, values
from tests.stories.fixture import ADDRESSES, BY_NAME, node, tracker, vip
from tests.stories.goldens import CASES_BY_FAMILY, golden
from tests.stories.world import World, compiled, tracked, world

#: a run with another number meets other clusters
FIRST = int(os.environ.get("STORIES_SEED", "0"))
PACKETS = 20


@pytest.mark.parametrize("whose", ["the original's rules", pytest.param("our rules", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("case", "family"), CASES_BY_FAMILY)
def test_all_packets_of_a_golden_cluster(case, family, whose):
    """Ours are held to the original's word by word elsewhere, so walking them too can wait for the slow run."""
    seen = golden(case, family)
    if whose == "our rules":
        seen = seen._replace(tables=compiled(seen.routes, seen.node))
    assert next(filter(None, map(seen.disagreement, packets(seen))), "") == ""


def test_how_many_packets_that_are(capsys):
    """All combinations of what is mentioned, and one of each that is not."""
    counts = [values(golden(case, family)).combinations for case, family in CASES_BY_FAMILY]
    with capsys.disabled():
        print(f"\nstories: {sum(counts):,} combinations in {len(counts)} golden views")
    assert min(counts) >= 100
    assert sum(counts) > 150_000


# Rules that may go without changing where any new flow arrives, and why.
HARMLESS = {
    "kubernetes forwarding conntrack rule": "no first packet belongs to a flow",
    "kubernetes forwarding rules": "overrides only a policy of the forward chain, which is to accept here",
    "--ctstate INVALID": "no first packet is invalid",
    "health check": "overrides only a policy of the input chain, which is to accept here",
    "--set-xmark 0x4000/0x0": "only cleans up for packets that pass again",
    "will be dropped by KUBE-PROXY-FIREWALL": "only says so",
    "-A OUTPUT -j KUBE-FIREWALL": "what this node sends to its own loopback meets the same in INPUT",
}


def test_a_missing_rule_is_noticed():
    """Agreement would prove nothing if it survived the loss of a rule."""
    family = Family.IPV4
    shops = ("web", "edge", "away", "void", "gate", "keen")
    bound = (*ADDRESSES[family], vip(BY_NAME["gate"], family))
    seen = world(tracker(shops), node(family, addresses=bound))
    met: defaultdict[tuple[str, str], list[Packet]] = defaultdict(list)
    for packet in packets(seen):
        if packet.protocol == "TCP":
            for step in seen.walked(packet).steps:
                met[step.what.split()[0], step.detail].append(packet)
    unnoticed = [
        str(rule)
        for table in ("nat", "filter")
        for chain in seen.tables[table].chains.values()
        for rule in chain.rules
        if not any(map(without(seen, table, rule).disagreement, met[table, str(rule)]))
    ]
    assert [rule for rule in unnoticed if not any(reason in rule for reason in HARMLESS)] == []
    assert len(unnoticed) < 20


def without(seen: World, table: str, gone: Rule) -> World:
    """The same node, one rule poorer."""
    chains = seen.tables[table].chains
    left = tuple(rule for rule in chains[gone.chain].rules if rule is not gone)
    poorer = Table(table, {**chains, gone.chain: Chain(gone.chain, chains[gone.chain].policy, left)})
    return seen._replace(tables={**seen.tables, table: poorer})


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_clusters(count, capsys):
    """Any cluster, any packet; a failure names the seed that makes them again."""
    ends: Counter[Outcome] = Counter()
    for seed in range(FIRST, FIRST + count):
        made = cluster(seed, PACKETS)
        seen = world(tracked(made.objects()), made.node)
        for packet in made.packets:
            told, walked = seen.told(packet), seen.walked(packet)
            assert told.gist == walked.gist, f"seed {seed}\noracle: {told}\nwalk: {walked}"
            ends[told.outcome] += 1
    with capsys.disabled():
        said = ", ".join(f"{ends[end]:,} {end.name.lower()}" for end in Outcome)
        print(f"\nstories: {count:,} random clusters from seed {FIRST}: {said}")
    assert min(ends[end] for end in Outcome) > count * PACKETS / 25


def test_a_seed_makes_the_same_cluster_again():
    assert cluster(7) == cluster(7) != cluster(8)
