"""What the demo says: its table, its sentences, and what to do where it may not play."""

import os
from pathlib import Path

import pytest

from kubeproxy.cli import privilege
from kubeproxy.cli.demo import departure
from kubeproxy.cli.demo_cluster import PODS, ROWS, Row
from kubeproxy.cli.demo_keep import on_script
from kubeproxy.cli.demo_table import HEADINGS, Line, because
from kubeproxy.cli.stage.questions import Answer, Dial, Fate
from kubeproxy.cli.stage.stage import Farewell
from kubeproxy.packets.packet import Choice, Outcome, Packet, Step, Story

DIAL = Dial("client", "fd00:198::10", 80, source="fd00:113::10")
PACKET = Packet("fd00:113::10", "fd00:198::10", 80)
NAMES = {"fd00:50::11": "node-a", "10.244.1.11": "web-1", "10.244.2.11": "web-2"}
MASQUERADED = Step("the pod sees this node's address", "externalTrafficPolicy is Cluster")


def line(answer: Answer, *steps: Step, times: int = 1, lie: str = "", **answered: int) -> Line:
    """A line of the table, as if this had been heard."""
    outcome = Outcome.ARRIVES if answer.outcome is Fate.ARRIVED else Outcome.REJECTED
    story = Story(PACKET, outcome, (Choice(answer.at, 1, True),), steps)
    return Line(Row("a client", "web", DIAL, times), story, answer, answered, lie)


ARRIVED = Answer(Fate.ARRIVED, "web-1", "[fd00::1]:8080", "[fd00:50::11]:4711")


def test_a_packet_that_arrived() -> None:
    assert line(ARRIVED, MASQUERADED).cells(NAMES) == (
        "a client",
        "web: [fd00:198::10]:80",
        "web-1 ([fd00::1]:8080)",
        "fd00:50::11 (node-a)",
        "externalTrafficPolicy is Cluster",
    )
    assert len(HEADINGS) == 5


def test_a_packet_that_was_refused() -> None:
    refused = Answer(Fate.REFUSED, began=0, ended=234_000)
    cells = line(refused, Step("reject", "no usable endpoint anywhere")).cells(NAMES)
    assert cells[2:] == ("refused after 0.2 ms", "-", "no usable endpoint anywhere")


def test_a_packet_that_was_dropped() -> None:
    assert (
        line(Answer(Fate.SILENT, began=0, ended=700_400_000)).cells(NAMES)[2]
        == "dropped (no answer in 700 ms)"
    )


def test_many_dials_are_counted() -> None:
    answered = {"10.244.2.11:8080": 9, "10.244.1.11:8080": 11}
    counted = Line(Row("a pod", "web", DIAL, 20), line(ARRIVED).story, ARRIVED, answered)
    assert counted.cells(NAMES)[2] == "web-1 11x, web-2 9x"


def test_a_packet_that_went_astray_is_not_hidden() -> None:
    assert (
        line(ARRIVED, MASQUERADED, lie="should be dropped").cells(NAMES)[4] == "UNEXPECTED: should be dropped"
    )


def test_without_a_decision_the_field_that_held_is_the_reason() -> None:
    story = line(
        ARRIVED, Step("dials"), Step("one of 1 endpoints", detail="spec.externalTrafficPolicy: Local")
    ).story
    assert because(story) == "spec.externalTrafficPolicy: Local"


@pytest.mark.parametrize(
    ("farewell", "said"),
    [
        (
            Farewell(41_000_000, True, 300, {"web-3": 99, "web-1": 101}),
            "made 41 ms after the change. Those after it: web-1 101x, web-3 99x.",
        ),
        (
            Farewell(-5, True, 300, {"web-1": 200}),
            "No new connection reached it after the change. Those after it: web-1 200x.",
        ),
        (Farewell(9, False, 4000, {}), "UNEXPECTED: it was still answering after 4000 connections."),
    ],
)
def test_how_a_pod_left(farewell: Farewell, said: str) -> None:
    assert departure(farewell).endswith(said)


def test_the_rows_show_what_the_demo_promises() -> None:
    """Every kind of address, both families, UDP, and at least four pods."""
    said = " ".join(row.what for row in ROWS)
    for kind in ("cluster IP", "node port", "load balancer", "affinity", "external IP", "loopback", "IPv6"):
        assert kind in said
    assert {row.dial.protocol for row in ROWS} == {"TCP", "UDP"}
    assert len(PODS) >= 4
    assert {pod.node for pod in PODS} == {"node-a", "node-b"}


def test_on_knows_every_room() -> None:
    script = on_script({"client": 12, "node-a": 34}, [Path("/somewhere/bin")])
    assert "client) pid=12 ;;\nnode-a) pid=34 ;;\n" in script
    assert "the rooms are client, node-a" in script


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
        ("user/max_user_namespaces", "5000", "with sudo."),
    ],
)
def test_what_to_do_where_an_ordinary_user_may_not(
    setting: str, value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ubuntu, older Debians and careful administrators each forbid it in their own way."""
    path = tmp_path / setting
    path.parent.mkdir(parents=True)
    path.write_text(f"{value}\n")
    monkeypatch.setattr(privilege, "PROC", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert privilege.remedy().endswith(said)


def test_missing_programs_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(privilege, "SBIN", ())
    with pytest.raises(
        privilege.NoPrivilegeError, match="apt-get install -y iproute2 iptables mount util-linux"
    ):
        privilege.find_programs()
