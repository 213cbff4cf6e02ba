"""What was said is written down, and said again."""

import asyncio
from pathlib import Path

import pytest

from kubeproxy.api.change import Change, Delete, Synced, Upsert
from kubeproxy.api.meta import Ref
from kubeproxy.sources.manifests import ManifestsSource
from kubeproxy.sources.notice import Reading
from kubeproxy.sources.recording import Recorder, RecordingSource, read_recording

GOLDEN = Path(__file__).parent.parent / "golden"


def played(path: Path, speed: float | None = None) -> list[Reading]:
    async def run() -> list[Reading]:
        return [reading async for reading in RecordingSource(path, speed=speed).watch()]

    return asyncio.run(run())


@pytest.mark.parametrize("case", ["11-lb-local-endpoints", "14-affinity", "20-node-hints", "22-dual-stack"])
def test_a_recording_says_the_same_again(case: str, tmp_path: Path) -> None:
    changes = ManifestsSource(GOLDEN / case).read().changes
    later: tuple[Change, ...] = (Delete(Ref("Service", "shop", "both")), changes[0])
    with Recorder(tmp_path / "r.jsonl") as recorder:
        recorder.record(changes, 1000.0)
        recorder.record(later, 1001.5)
    assert list(read_recording(tmp_path / "r.jsonl")) == [
        *((0.0, c) for c in changes),
        *((1.5, c) for c in later),
    ]
    assert played(tmp_path / "r.jsonl") == [Reading(changes), Reading(later)]
    assert RecordingSource(tmp_path / "r.jsonl").read() == Reading((*changes, *later))


def test_the_lines_are_these(tmp_path: Path) -> None:
    """Recordings come with bug reports, from other versions."""
    with Recorder(tmp_path / "r.jsonl") as recorder:
        (upsert,) = (
            c
            for c in ManifestsSource(GOLDEN / "02-clusterip-single").read().changes
            if isinstance(c, Upsert) and c.obj.metadata.name == "node-a"
        )
        recorder.record([upsert, Delete(Ref("Node", "", "node-b")), Synced("Node")], 5.0)
    assert (tmp_path / "r.jsonl").read_text().splitlines() == [
        (
            '{"t":0.0,"upsert":"Node","object":{"metadata":{"name":"node-a","labels":{"kubernetes.io/hostname":"node-a",'
            '"topology.kubernetes.io/zone":"zone-1"}},"spec":{"podCIDR":"10.77.1.0/24","podCIDRs":["10.77.1.0/24","fd00:10:77:1::/64"]},'
            '"status":{"addresses":[{"type":"InternalIP","address":"192.168.50.11"},{"type":"InternalIP","address":"fd00:50::11"},'
            '{"type":"Hostname","address":"node-a"}]}}}'
        ),
        '{"t":0.0,"delete":{"kind":"Node","namespace":"","name":"node-b"}}',
        '{"t":0.0,"synced":"Node"}',
    ]


def test_two_runs_in_one_file(tmp_path: Path) -> None:
    for _ in range(2):
        with Recorder(tmp_path / "r.jsonl") as recorder:
            recorder.record([Synced("Node")], 7.0)
            recorder.record([Synced("Service")], 8.0)
    assert [at for at, _ in read_recording(tmp_path / "r.jsonl")] == [0.0, 1.0, 0.0, 1.0]
    assert len(played(tmp_path / "r.jsonl", speed=100_000.0)) == 4


BAD = [
    # line                                                       field, value, problem
    ("{", "", "{", "Input data was truncated"),
    ("[1]", "", "[1]", "Expected `object`, got `array`"),
    ('{"upsert": "Node"}', "", '{"upsert": "Node"}', "Object missing required field `t`"),
    ('{"t": "now"}', "", '{"t": "now"}', "Expected `float`, got `str` - at `$.t`"),
    ('{"t": 1}', "", "", "the line says nothing that is known"),
    ('{"t": 1, "upsert": "Pod", "object": {}}', "", "Pod", "the line says nothing that is known"),
    ('{"t": 1, "synced": "Pod"}', "", "Pod", "the line says nothing that is known"),
    ('{"t": 1, "upsert": "Node", "object": {}}', "metadata", "", "required, and missing"),
    ('{"t": 1, "upsert": "Node"}', "", "", "not JSON: Input data was truncated"),
    ('{"t": 1, "upsert": "Service", "object": {"metadata": {"name": "x"}, "spec": {"ports": [{"port": "x"}]}}}', "spec.ports[0].port", "x", "expected a whole number, found text"),
    ("\xff", "", "�", "JSON is malformed: invalid character (byte 0)"),
    ("[" * 100_000, "", "[" * 80 + "...", None),
]  # fmt: skip


@pytest.mark.parametrize("line, field, value, problem", BAD, ids=range(len(BAD)))
def test_a_bad_line_is_named_and_its_neighbours_are_played(
    tmp_path: Path, line: str, field: str, value: str, problem: str | None
) -> None:
    good = '{"t": 0, "synced": "Node"}'
    (tmp_path / "r.jsonl").write_bytes(f"{good}\n{line}\n\n{good}\n".encode("latin-1"))
    reading = RecordingSource(tmp_path / "r.jsonl").read()
    assert reading.changes == (Synced("Node"), Synced("Node"))
    (notice,) = reading.notices
    assert (notice.file, notice.document, notice.field, notice.value) == ("r.jsonl", 2, field, value)
    assert notice.remedy and (problem is None or notice.problem == problem)


def test_no_recording(tmp_path: Path) -> None:
    (notice,) = RecordingSource(tmp_path / "none.jsonl").read().notices
    assert (notice.file, notice.problem, notice.remedy) == (
        "none.jsonl",
        "No such file or directory",
        "name a recording",
    )


def test_a_moment_with_a_lot_in_it_is_several_readings(tmp_path: Path) -> None:
    """All of a large cluster at once would be most of the memory a proxy ever needs."""
    many = [Synced("Node"), *(Delete(Ref("Service", "shop", f"s{n}")) for n in range(600)), Synced("Service")]
    with Recorder(tmp_path / "r.jsonl") as recorder:
        recorder.record(many, 0.0)
        recorder.record([Synced("Node")], 1.0)
    readings = played(tmp_path / "r.jsonl")
    assert [len(reading.changes) for reading in readings] == [256, 256, 90, 1]
    assert [change for reading in readings for change in reading.changes] == [*many, Synced("Node")]
