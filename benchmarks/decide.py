"""What the pure stages cost for one Service, and whether a change costs more in a larger cluster.

Run it as `python -m benchmarks.decide`.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

from benchmarks.cluster import cluster, endpoints_of, name_of, protocol_of, slice_of
from benchmarks.figures import Figure, tell
from kubeproxy.api.change import Upsert
from kubeproxy.backends.iptables.backend import IPTables
from kubeproxy.backends.iptables.ruleset import own_text
from kubeproxy.model.identity import Family
from kubeproxy.model.tracker import Tracker
from kubeproxy.routes.decide import Routes, decide, decide_port
from kubeproxy.routes.nodeview import DetectBy, Detector, NodeView

ENDPOINTS = 10
SMALL, LARGE = 100, 10_000
NODE = NodeView(Family.IPV4, "node-1", "zone-a", "192.0.2.1", detector=Detector(DetectBy.CIDR, "10.0.0.0/8"))
FLIPS, ROUNDS = 200, 7


class Pipeline:
    """Fold, decide and compile, and the seconds that each of them took.

    To compile is here to make the rules too, which the proxy puts off until it sends them.
    """

    def __init__(self) -> None:
        self.tracker, self.routes = Tracker(), Routes()
        self.backend = IPTables(ipv6=False, portion=None)
        self.wanted = self.backend.prepare(NODE)
        self.clear()

    def clear(self) -> None:
        self.spent = {"fold": 0.0, "decide": 0.0, "compile": 0.0}

    def pass_on(self, changes: list[Upsert]) -> int:
        """How many ServicePorts were compiled."""
        times = [time.process_time()]
        changed = self.tracker.fold(changes)
        times.append(time.process_time())
        decided = decide(self.tracker.snapshot, NODE, changed.ipv4.names, self.routes)
        times.append(time.process_time())
        touched = self.backend.compile(self.wanted, decided)
        for name in touched:
            own_text(self.wanted.fragments[name], self.wanted.dialect)
        times.append(time.process_time())
        for stage, (before, after) in zip(self.spent, pairwise(times), strict=True):
            self.spent[stage] += after - before
        return len(touched)


def loaded(services: int) -> Pipeline:
    pipeline = Pipeline()
    changes = [change for change in cluster(services, ENDPOINTS) if isinstance(change, Upsert)]
    gc.collect()
    assert pipeline.pass_on(changes) == services
    return pipeline


def flipped(pipeline: Pipeline, number: int) -> dict[str, float]:
    """Microseconds of each stage for one endpoint that becomes another one: the best of some rounds.

    Everything that makes a round slower is somebody else's work.
    """
    name, protocol, addresses = name_of(number), protocol_of(number), endpoints_of(number, ENDPOINTS)
    flips = [slice_of(name, ("10.142.0.1", *addresses[1:]), protocol), slice_of(name, addresses, protocol)]
    rounds = []
    for _ in range(ROUNDS):
        pipeline.clear()
        for turn in range(FLIPS):
            assert pipeline.pass_on([Upsert(flips[turn % 2])]) == 1
        rounds.append({stage: spent / FLIPS * 1e6 for stage, spent in pipeline.spent.items()})
    return min(rounds, key=lambda each: sum(each.values()))


def microseconds(what: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(times):
            what()
        best = min(best, time.process_time() - begun)
    return best / times * 1e6


def figures() -> Iterator[Figure]:
    changes = {}
    for services in (SMALL, LARGE):
        pipeline = loaded(services)
        each = {stage: spent / services * 1e6 for stage, spent in pipeline.spent.items()}
        both = each["decide"] + each["compile"]
        yield Figure(f"first load of {services:,}, each: fold", each["fold"], "µs")
        yield Figure(f"first load of {services:,}, each: decide + compile", both, "µs", at_most=100.0)
        change = flipped(pipeline, services // 2)
        changes[services] = change["decide"] + change["compile"]
        yield Figure(f"a change among {services:,}: fold", change["fold"], "µs")
        yield Figure(f"a change among {services:,}: decide + compile", changes[services], "µs", at_most=100.0)
    ratio = changes[LARGE] / changes[SMALL]
    yield Figure(f"the latter, {LARGE:,} against {SMALL}", ratio, "times", at_most=1.3)
    yield Figure("decide_port alone", _decide_port(pipeline), "µs", at_most=25.0)


def _decide_port(pipeline: Pipeline) -> float:
    name = next(iter(pipeline.tracker.snapshot.names(Family.IPV4)))
    port, endpoints = pipeline.tracker.snapshot.port(name), pipeline.tracker.snapshot.endpoints(name)
    assert port is not None and len(endpoints) == ENDPOINTS
    return microseconds(lambda: decide_port(port, endpoints, NODE), 2000)


def main() -> int:
    return tell(f"pure stages, {ENDPOINTS} endpoints a Service", figures())


if __name__ == "__main__":
    sys.exit(main())
