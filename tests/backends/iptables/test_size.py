"""What is counted and named without making the text is what the text would be."""

from kubeproxy.backends.iptables.compile import Names, Size, chain_names, own_chains, own_size
from kubeproxy.backends.iptables.dialect import Facts, dialect_for
from kubeproxy.backends.iptables.phrases import phrases_of
from kubeproxy.model.identity import Family
from kubeproxy.routes.nodeview import NodeView
from kubeproxy.routes.route import PortRoutes
from tests.goldens import CASES, decided
from tests.stories import world
from tests.stories.clusters import cluster

SEEDS = range(400)


def compare(routes: PortRoutes, node: NodeView, *, large: bool) -> Size:
    phrases = phrases_of(dialect_for(node, 14, Facts()))
    chains = own_chains(routes, Names(routes), phrases, large=large)
    size = Size(len(chains), sum(len(rules) for _, rules in chains))
    assert (own_size(routes), chain_names(routes)) == (size, [name for name, _ in chains]), routes
    return size


def test_of_every_golden_cluster() -> None:
    sizes = set()
    for case in CASES:
        for family in Family:
            routes, node = decided(case, family)
            sizes |= {compare(each, node, large=False) for each in routes.values()}
    assert {Size(), Size(2, 4)} < sizes


def test_of_random_clusters() -> None:
    sizes = set()
    for seed in SEEDS:
        made = cluster(seed, packets=0)
        routes = world.decided(world.tracked(made.objects()), made.node)
        sizes |= {compare(each, made.node, large=seed % 2 > 0) for each in routes.values()}
    assert len(sizes) > 20
