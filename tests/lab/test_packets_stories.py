"""The stories that every dialect tells, as real packets: the fixture's cluster, built out of namespaces.

Each list of stories has the daemon started with other settings. A story that names several endpoints is
dialled often enough to see them all.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest

from kubeproxy.cli.demo_oracle import without_services
from kubeproxy.cli.stage.layout import Node, Plan, Pod, cluster
from kubeproxy.cli.stage.questions import Answer, Dial, Fate
from kubeproxy.model.identity import Family
from tests.lab.proxied import PATIENCE, SILENCE, Proxied, proxied
from tests.stories import stories
from tests.stories.fixture import OWN_PODS, PEOPLE, PODS, documents, place
from tests.stories.stories import Cell

IPV4, IPV6 = Family
#: two endpoints, and the chance to miss one of them is 1 in 8 million
OFTEN = 24
ROOMS = {
    "a pod": "pod",
    "pod l": "l",
    "pod r": "r",
    "this node": "me",
    "this node's loopback": "me",
    "a client": "client",
    "another client": "client",
    "another node": "far",
}
PLAN = Plan(
    nodes=(
        Node(
            name="me",
            addresses=("192.0.2.10", "fd00:2::10"),
            pod_networks=("10.128.7.0/24", "fd00:128:7::/48"),
            gateways=("10.128.7.1", "fd00:128:7::1"),
            further=("192.0.2.66", "fd00:2::66"),
        ),
        Node(
            name="far",
            addresses=("192.0.2.99", "fd00:2::99"),
            pod_networks=("10.128.9.0/24", "fd00:128:9::/48"),
            gateways=("10.128.9.1", "fd00:128:9::1"),
        ),
    ),
    lan_gateways=("192.0.2.1", "fd00:2::1"),
    client=("203.0.113.7/24", "203.0.113.200/24", "2001:db8:113::7/64", "2001:db8:113::200/64"),
    client_gateways=("203.0.113.1/24", "2001:db8:113::1/64"),
    world=("198.18.0.9/24", "2001:db8:18::9/64"),
    world_gateways=("198.18.0.1/24", "2001:db8:18::1/64"),
    services=("10.96.0.0/16", "fd00:96::/32", "198.51.100.0/24", "2001:db8:100::/64"),
    beyond=("1.1.1.1/32", "2606:4700::1111/128"),
    world_serves=("80/TCP", "81/TCP", "443/TCP", "80/UDP"),
)
WEB = ("8080/TCP",)
LAYOUT = cluster(
    [
        Pod(name, node, PEOPLE[who], WEB)
        for name, node, who in (("pod", "me", "a pod"), ("l", "me", "pod l"), ("r", "far", "pod r"))
    ],
    PLAN,
)
NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name},
        "spec": {"podCIDR": node.pod_networks[0], "podCIDRs": list(node.pod_networks)},
        "status": {"addresses": [{"type": "InternalIP", "address": address} for address in node.addresses]},
    }
    for node in PLAN.nodes
]
EVERYWHERE = {"clusterCIDR": ",".join(PODS.values())}

#: name of the settings, configuration, the families they are about, stories
SETS: list[tuple[str, dict[str, Any], tuple[Family, ...], list[Cell]]] = [
    ("usual", EVERYWHERE, (IPV4, IPV6), [*stories.USUAL, *stories.IPTABLES]),
    ("usual", EVERYWHERE, (IPV4,), stories.LOOPBACK),
    ("usual", EVERYWHERE, (IPV6,), stories.NO_LOOPBACK),
    (
        "no loopback",
        {**EVERYWHERE, "iptables": {"localhostNodePorts": False}},
        (IPV4,),
        [*stories.USUAL, *stories.IPTABLES, *stories.NO_LOOPBACK],
    ),
    ("nobody", {"clusterCIDR": ""}, (IPV4, IPV6), stories.NO_DETECTOR),
    ("own pods", {"clusterCIDR": ",".join(OWN_PODS.values())}, (IPV4, IPV6), stories.OWN_PODS_ONLY),
    (
        "masquerade all",
        {**EVERYWHERE, "iptables": {"masqueradeAll": True}},
        (IPV4, IPV6),
        stories.MASQUERADE_ALL,
    ),
    (
        "one address",
        {**EVERYWHERE, "nodePortAddresses": ["192.0.2.10/32", "fd00:2::10/128"]},
        (IPV4, IPV6),
        [*stories.ONE_ADDRESS, *stories.ONE_ADDRESS_IPTABLES],
    ),
    ("empty", EVERYWHERE, (IPV4, IPV6), stories.EMPTY),
]


class Told(NamedTuple):
    """A story in one family, with the settings it is told under."""

    settings: str
    family: Family
    who: str
    dials: str
    where: str
    seen: str

    @property
    def dial(self) -> Dial:
        to, port, protocol = place(self.dials, self.family)
        timeout = SILENCE if self.where == "dropped" else PATIENCE
        return Dial(ROOMS[self.who], to, port, protocol, PEOPLE[self.who][self.family is IPV6], timeout)


def possible(cell: Cell) -> bool:
    """Whether a packet like that can be sent here.

    Nobody outside can dial somebody else's loopback; a VIP as a source is one that a platform binds to the
    node. And a pod on another node answers a client outside directly when it sees that client: the client
    would not know who is talking.
    """
    who, dials, where, seen = cell
    outside = ROOMS.get(who) in ("client", "far")
    bypasses = outside and "r" in where.split(" or ") and seen == "the client"
    loopback = who == "a client" and "loopback" in dials
    return who in ROOMS and not bypasses and not loopback


STORIES = [
    Told(settings, family, *cell)
    for settings, _, families, cells in SETS
    for family in families
    for cell in cells
    if possible(cell)
]
CONFIGS = {settings: config for settings, config, _, _ in SETS}


@pytest.fixture(scope="module")
def answers_under(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[Told, list[Answer]]]:
    """The answers to all stories of one set of settings: one daemon serves them, the first time they are wanted."""

    @cache
    def answers(settings: str) -> dict[Told, list[Answer]]:
        objects = [*NODES, *documents(empty=settings == "empty")]
        ready = [Dial("client", address, 31080) for address in PLAN.nodes[0].addresses]
        folder = tmp_path_factory.mktemp("stories") / "files"
        empty = settings == "empty"
        with proxied(folder, LAYOUT, objects, [] if empty else ready, "me", **CONFIGS[settings]) as lab:
            if empty:
                wait_until_refused(lab)
            heard = play(lab, [told for told in STORIES if told.settings == settings])
        print(table(heard))
        return heard

    return answers


def wait_until_refused(lab: Proxied) -> None:
    """Without endpoints nothing ever answers; what the node lets through at first arrives in the world."""
    for family in Family:
        told = Told("empty", family, "a pod", "web cluster IP", "refused", "")
        lab.stage.until(told.dial, Fate.REFUSED)


def play(lab: Proxied, told: list[Told]) -> dict[Told, list[Answer]]:
    asked = [one for one in told for _ in range(OFTEN if " or " in one.where else 1)]
    found: dict[Told, list[Answer]] = {one: [] for one in told}
    for one, answer in zip(asked, lab.stage.dial(one.dial for one in asked), strict=True):
        found[one].append(answer)
    return found


def table(heard: dict[Told, list[Answer]]) -> str:
    """What was dialled and what came of it, for `make lab`."""
    rows = [
        (told.settings, told.family, told.who, told.dials, told.where, told.seen, _brief(answers))
        for told, answers in heard.items()
    ]
    return "\n".join(["", *("{:15} {:4}  {:20}  {:42}  {:10}  {:32}  {}".format(*row) for row in rows)])


def _brief(answers: list[Answer]) -> str:
    """Everything that came of a dial, each once."""
    ends = {
        f"{a.name} sees {a.client}" if a.name else a.text.partition("\n")[0] or a.outcome for a in answers
    }
    return ", ".join(sorted(ends))


@pytest.mark.parametrize("told", [pytest.param(told, id="-".join(told[:4])) for told in STORIES])
def test_real_packets_tell_the_same_story(
    answers_under: Callable[[str], dict[Told, list[Answer]]], told: Told
) -> None:
    """Where it arrives, and whom the pod sees there."""
    heard = answers_under(told.settings)[told]
    if told.where == "untouched":
        assert_untouched(told, heard[0])
    elif told.where in ("refused", "dropped"):
        wanted = {"refused": Fate.REFUSED, "dropped": Fate.SILENT}[told.where]
        assert heard[0].outcome is wanted, heard[0]
    else:
        assert {answer.name for answer in heard} == set(told.where.split(" or ")), heard
        for answer in heard:
            assert_seen(told, answer)


def assert_seen(told: Told, answer: Answer) -> None:
    """The pod sees this node, at one of its addresses, or the client."""
    each = dict(part.split(": ") for part in told.seen.split(", ")) if ": " in told.seen else {}
    seen = each.get(answer.name, told.seen)
    own = {*LAYOUT.room("me").addresses}
    assert answer.client in (own if seen == "this node" else {told.dial.source}), (seen, answer)


def assert_untouched(told: Told, answer: Answer) -> None:
    """It goes where the wiring alone takes it; a health check port is the proxy's own."""
    if told.dials.endswith("health check port"):
        assert "localEndpoints" in answer.text
        return
    fate, where = without_services(LAYOUT, told.dial)
    assert (answer.outcome, answer.at) == (fate, where), answer


def test_the_settings_cover_every_list() -> None:
    """A list that nobody plays would go unnoticed; affinity is played where connections are counted."""
    played = {cell for _, _, _, cells in SETS for cell in cells}
    lists = [value for name, value in vars(stories).items() if name.isupper() and name != "AFFINITY"]
    assert played == {cell for cells in lists for cell in cells}
    assert len(STORIES) >= 400
