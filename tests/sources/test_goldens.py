"""What was written by hand and what an API server made of it: both are the same cluster."""

import json
import shutil
from pathlib import Path

import pytest

from kubeproxy.api.change import Upsert, ref_of
from kubeproxy.sources.manifests import ManifestsSource
from kubeproxy.sources.notice import Level
from tests.sources.objects import upserts

GOLDEN = Path(__file__).parent.parent / "golden"
CASES = sorted(path.parent.name for path in GOLDEN.glob("*/manifests.yaml"))
BUILT_IN = {"Service default/kubernetes", "EndpointSlice default/kubernetes", "ServiceCIDR kubernetes"}


def test_all_cases_are_here() -> None:
    assert len(CASES) == 28


@pytest.mark.parametrize("case", CASES)
def test_manifests_become_what_the_api_server_made_of_them(case: str, tmp_path: Path) -> None:
    written, returned = tmp_path / "written", tmp_path / "returned"
    written.mkdir()
    returned.mkdir()
    shutil.copy(GOLDEN / case / "manifests.yaml", written)
    for resource, objects in json.loads((GOLDEN / case / "objects.json").read_text()).items():
        (returned / f"{resource}.json").write_text(json.dumps(objects))
    ours = ManifestsSource(written).read()
    theirs = ManifestsSource(returned).read()
    assert {
        name: obj for name, obj in upserts(theirs).items() if name not in BUILT_IN - set(upserts(ours))
    } == upserts(ours)
    assert [str(n) for n in (*ours.notices, *theirs.notices) if n.level is not Level.INFO] == []


@pytest.mark.parametrize("case", CASES)
def test_reading_again_changes_nothing(case: str) -> None:
    source = ManifestsSource(GOLDEN / case)
    first = source.read()
    again = source.read()
    assert len({ref_of(c.obj) for c in first.changes if isinstance(c, Upsert)}) == len(upserts(first)) > 0
    assert not again
