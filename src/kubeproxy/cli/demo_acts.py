"""The demo's acts: the proxy goes on stage, the packets are sent, a pod leaves, one packet is explained."""

import time
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.cli import demo_cluster as plan
from kubeproxy.cli.demo_cluster import Row
from kubeproxy.cli.demo_oracle import Oracle
from kubeproxy.cli.demo_proxy import KUBE_PROXY, Files, start
from kubeproxy.cli.demo_table import Line
from kubeproxy.cli.stage.questions import Dial
from kubeproxy.cli.stage.stage import Farewell, Stage

#: as long as waiting for nothing may take
SILENCE = 0.7


class Theatre(Struct, frozen=True):
    """The stage, and the files of the proxy on it."""

    stage: Stage
    files: Files

    def oracle(self) -> Oracle:
        """What should happen, given the manifests as they are now."""
        return Oracle(self.files, self.stage.layout)

    def names(self) -> dict[str, str]:
        """Whose every address is."""
        return {address: room.name for room in self.stage.layout.rooms for address in room.addresses}

    def dialled(self) -> list[Row]:
        """The rows that this kernel has the family for."""
        return [row for row in plan.ROWS if self.has(row.dial)]

    def has(self, dial: Dial) -> bool:
        return ":" not in dial.to or "IPv6" in self.stage.families


def furnish(files: Files) -> None:
    """Writes the files that the proxy reads."""
    files.manifests.mkdir()
    plan.write_manifests(files.manifests)
    files.config.write_text(plan.CONFIG)


def start_proxy(theatre: Theatre) -> float:
    """Starts the real daemon on node-a; the seconds until everything it programmed answers."""
    began = time.monotonic()
    files = theatre.files
    argv = [*KUBE_PROXY, *files.options(), "--proxy-mode", "iptables", "--hostname-override", plan.NODE]
    start(theatre.stage, plan.NODE, argv, files.log, filter(theatre.has, plan.READY))
    return time.monotonic() - began


def perform(theatre: Theatre) -> list[Line]:
    """Sends the packets of every row, and compares what became of them with what the oracle tells."""
    oracle, rows = theatre.oracle(), theatre.dialled()
    stories = [oracle.story(row.dial) for row in rows]
    answers = theatre.stage.dial(replace(row.dial, timeout=SILENCE) for row in rows)
    lines = []
    for row, story, answer in zip(rows, stories, answers, strict=True):
        line = Line(row, story, answer, lie=oracle.lies(story, answer, row.dial))
        lines.append(line if row.times == 1 else often(theatre, oracle, line))
    return lines


def often(theatre: Theatre, oracle: Oracle, line: Line) -> Line:
    """Dials a row many times: all may be chosen, or one has to be kept."""
    row = line.row
    tally = theatre.stage.tally(row.dial, row.times)
    sticky = "affinity" in row.what
    story = oracle.story(row.dial, remembers=line.answer.at) if sticky else line.story
    expected = {choice.endpoint for choice in story.choices}
    lie = line.lie
    if set(tally.answered) != expected:
        lie = lie or f"{row.times} dials should reach {sorted(expected)}, but: {tally.answered}"
    return replace(line, story=story, answered=tally.answered, lie=lie)


def part(theatre: Theatre) -> Farewell:
    """Takes a pod away under the eyes of a client that keeps dialling; times count from the change."""
    since = 0

    def leave() -> None:
        nonlocal since
        since = take_away(theatre, plan.LEAVER)

    farewell = theatre.stage.farewell(replace(plan.LEFT.dial, timeout=SILENCE), plan.LEAVER, leave)
    return replace(farewell, last=farewell.last - since)


def take_away(theatre: Theatre, name: str) -> int:
    """Takes a pod out of every slice, as the cluster does when it is deleted; when that was done."""
    gone = {address for pod in plan.PODS if pod.name == name for address in pod.addresses}
    drafts = []
    for path in sorted(theatre.files.manifests.iterdir()):
        documents = list(yaml.safe_load_all(path.read_text()))
        if sum(without(document, gone) for document in documents):
            # Beside the directory, so that nobody reads half a file.
            draft = theatre.files.folder / path.name
            draft.write_text(yaml.safe_dump_all(documents, sort_keys=False))
            drafts.append((draft, path))
    since = time.monotonic_ns()
    for draft, path in drafts:
        draft.rename(path)
    return since


def without(document: dict[str, Any], addresses: set[str]) -> bool:
    """Removes the endpoints with these addresses from a slice; whether there were any."""
    before = document.get("endpoints", [])
    after = [one for one in before if not addresses & set(one["addresses"])]
    if after == before:
        return False
    document["endpoints"] = after
    return True


def explain(theatre: Theatre, dial: Dial) -> tuple[list[str], str]:
    """Asks the explain verb about a packet: the words of the question, and the answer."""
    to = f"[{dial.to}]" if ":" in dial.to else dial.to
    words = ["explain", "--from", dial.source, f"{to}:{dial.port}/{dial.protocol}"]
    answer = theatre.stage.run(plan.NODE, [*KUBE_PROXY, *words, *theatre.files.options()])
    return words, answer
