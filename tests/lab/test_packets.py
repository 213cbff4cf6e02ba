"""Real packets: who dials what under which policy, wherever the pods are; the oracle is the judge.

`make lab` prints the table.
"""

from collections import defaultdict
from itertools import product
from typing import NamedTuple

import pytest

from kubeproxy.cli.demo_oracle import Oracle
from kubeproxy.cli.stage.questions import Answer, Dial, Fate
from kubeproxy.packets.packet import Outcome, Story
from tests.lab.cluster import (
    FAMILIES,
    FRONTS,
    LAYOUT,
    PLACES,
    POLICIES,
    WHO,
    Cell,
    Policy,
    cells,
    manifests,
    offers,
)
from tests.lab.proxied import proxied


class Played(NamedTuple):
    """What the oracle told of a cell, what happened, and how that differs, or nothing."""

    story: Story
    answer: Answer
    lie: str


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[Cell, Played]:
    """All cells, those of a policy at once: they that wait in vain do so together."""
    found: dict[Cell, Played] = {}
    for number, policy in enumerate(POLICIES):
        ready = [
            Dial("caller", offer.address("node port", family), offer.node_port)
            for offer, family in product(offers(policy), FAMILIES)
            if offer.place == "everywhere"
        ]
        folder = tmp_path_factory.mktemp(f"lab{number}") / "files"
        with proxied(folder, LAYOUT, manifests(policy), ready) as lab:
            oracle = lab.oracle
            asked = [cell for cell in cells(policy) if comes_back(oracle, cell)]
            outcome = lab.play(cell.dial for cell in asked)
        found |= {cell: Played(*one) for cell, one in zip(asked, outcome, strict=True)}
    print(table(found))
    return found


def comes_back(oracle: Oracle, cell: Cell) -> bool:
    """Whether an answer finds its way back through node-a.

    Between two pods of node-b it would not, unless node-a put its own address in: the network is to
    blame, and real ones rewrite such a client's address before it leaves its node.
    """
    if cell.who != "a pod on node-b":
        return True
    choices = oracle.story(cell.dial).choices
    return all(choice.masqueraded or not _on_node_b(choice.endpoint) for choice in choices)


def _on_node_b(endpoint: str) -> bool:
    return endpoint.startswith(("10.244.2.", "[fd00:10:244:2:"))


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_every_packet_goes_where_the_oracle_says(
    played: dict[Cell, Played], who: str, place: str, policy: Policy
) -> None:
    """Both families, TCP, UDP and SCTP, over every kind of address: it arrives there, and the pod sees whom it should."""
    mine = [
        (cell, one)
        for cell, one in played.items()
        if (cell.who, cell.offer.place, cell.offer.policy) == (who, place, policy)
    ]
    assert mine or who == "a pod on node-b", "the table lost its cells"
    wrong = [f"{cell.dial}: {one.lie}\n{one.story}" for cell, one in mine if one.lie]
    assert not wrong, "\n".join(wrong)


def test_there_are_cells_of_every_kind(played: dict[Cell, Played]) -> None:
    """A table in which everything arrives would not notice a proxy that never refuses."""
    distinct = {(cell.who, cell.front, cell.offer.policy) for cell in played}
    assert len(distinct) >= 100
    for family in FAMILIES:
        seen = {one.answer.outcome for cell, one in played.items() if cell.family == family}
        assert seen == {Fate.ARRIVED, Fate.REFUSED, Fate.SILENT}
        told = {one.story.outcome for cell, one in played.items() if cell.family == family}
        assert told == set(Outcome)


def test_refusing_takes_no_time(played: dict[Cell, Played]) -> None:
    """A client that is refused at once can try elsewhere; one that waits for a time-out cannot."""
    times = sorted(one.answer.milliseconds for one in played.values() if one.answer.outcome is Fate.REFUSED)
    assert times[len(times) // 2] < 100


def table(played: dict[Cell, Played]) -> str:
    """Who dials what under which policy, and what comes of it for each place the pods may be in."""
    texts: dict[tuple[str, str, Policy], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for cell, one in played.items():
        texts[cell.who, cell.front, cell.offer.policy][cell.offer.place].add(brief(one))
    widths = (18, 18, 35, *(max(len(place), 16) for place in PLACES))
    rows = [("who", "dials", "policy", *(f"pods {place}" for place in PLACES))]
    order = (*FRONTS, "loopback node port")
    for who, front, policy in sorted(texts, key=lambda key: (list(WHO).index(key[0]), order.index(key[1]))):
        found = texts[who, front, policy]
        row = (who, front, str(policy), *(" / ".join(sorted(found[place])) or "-" for place in PLACES))
        rows.append(row)
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
    wrong = sum(bool(one.lie) for one in played.values())
    count = (
        f"{len(rows) - 1} rows, {len(played)} packets of both families, TCP, UDP and SCTP; {wrong} unexpected"
    )
    return "\n".join(["", *lines, count])


def brief(one: Played) -> str:
    """What came of it in a word or two."""
    if one.lie:
        return "UNEXPECTED"
    if one.story.outcome is Outcome.UNTOUCHED:
        return "no Service"
    if one.answer.outcome is Fate.ARRIVED:
        rewritten = any(c.masqueraded for c in one.story.choices if c.endpoint == one.answer.at)
        return "sees node" if rewritten else "sees client"
    return {Fate.REFUSED: "refused", Fate.SILENT: "dropped"}[one.answer.outcome]
