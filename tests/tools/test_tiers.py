"""A green line must mean that something was looked at; these are the ways it could lie."""

import sys

import pytest

from tools import tiers
from tools.tiers import Outcome, Tier

GOOD = "def test_a(): pass\ndef test_b(): pass\n"
BAD = "def test_a(): pass\ndef test_b(): assert 1 == 2\n"
BROKEN = "import pytest\n@pytest.fixture\ndef f(): 1 / 0\ndef test_a(f): pass\n"
UNREADABLE = "import no_such_module\ndef test_a(): pass\n"
SKIPPING = "import pytest\ndef test_a(): pass\ndef test_b(): pytest.skip('no sctp')\n"
SLOW = "import pytest\ndef test_a(): pass\n@pytest.mark.slow\ndef test_b(): pass\n"
KILLED = "import os\ndef test_a(): os._exit(7)\n"

RUNS = [  # tests, everything demanded, the line (without its seconds), what counts as failed
    (GOOD, False, "x        2 passed", 0),
    (GOOD, True, "x        2 passed", 0),
    (BAD, False, "x        1 passed, 1 failed", 1),
    (BROKEN, False, "x        0 passed, 1 failed", 1),
    (UNREADABLE, False, "x        0 passed, 1 failed", 1),
    (SKIPPING, False, "x        1 passed, 1 skipped (no sctp)", 0),
    (SKIPPING, True, "x        1 passed, 1 skipped (no sctp), REFUSED: a skipped test proves nothing", 1),
    (SLOW, False, "x        1 passed", 0),
    (SLOW, True, "x        2 passed", 0),
    (KILLED, False, "x        0 passed, REFUSED: no test ran, REFUSED: pytest ended with 7", 2),
    ("", False, "x        0 passed, REFUSED: no test ran", 1),
]


@pytest.fixture
def a_tier(tmp_path, monkeypatch):
    """A tier with one file of tests, in a repository of its own."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    monkeypatch.setattr(tiers, "ROOT", tmp_path)

    def make(text: str, **more) -> Tier:
        (tmp_path / "tests" / "test_x.py").write_text(text)
        return Tier("x", ("tests",), **more)

    return make


@pytest.mark.parametrize(("text", "demanded", "line", "bad"), RUNS)
def test_a_tier_says_what_became_of_it(a_tier, text, demanded, line, bad):
    outcome = tiers.run(a_tier(text), demanded, False, {})
    assert (outcome.line().rpartition("  ")[0], outcome.bad) == (line, bad), outcome.output


@pytest.mark.parametrize(("demanded", "bad"), [(False, 0), (True, 1)])
def test_a_tier_that_cannot_run_is_named_and_refused_where_it_is_demanded(a_tier, demanded, bad):
    outcome = tiers.run(a_tier(GOOD, obstacle=lambda: "no kernel"), demanded, False, {})
    assert (outcome.line(), outcome.bad) == ("x        could not run: no kernel", bad)


def test_a_missing_directory_is_an_obstacle_and_not_a_success(a_tier):
    a_tier(GOOD)
    outcome = tiers.run(Tier("gone", ("tests/gone",)), True, False, {})
    assert (outcome.line(), outcome.bad) == ("gone     could not run: there is no tests/gone", 1)


def test_a_tier_leaves_out_what_belongs_to_another(a_tier, tmp_path):
    tier = a_tier(GOOD, without=("tests/lab",))
    (tmp_path / "tests" / "lab").mkdir()
    (tmp_path / "tests" / "lab" / "test_y.py").write_text(BAD)
    assert tiers.run(tier, False, False, {}).failed == 0


def test_the_last_line_sums_up_and_the_status_agrees(a_tier, capsys):
    for text, status, last in ((GOOD, 0, "2 passed, 0 failed"), (BAD, 1, "1 passed, 1 failed")):
        assert tiers.main(["x"], [a_tier(text)]) == status
        assert capsys.readouterr().out.splitlines()[-1] == last


def test_a_run_in_which_nothing_could_run_is_no_success(a_tier, capsys):
    assert tiers.main(["x"], [a_tier(GOOD, obstacle=lambda: "no")]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 0 failed"


CHOICES = (Tier("a", ("a",)), Tier("b", ("b",)), Tier("c", ("c",), everyday=False))


@pytest.mark.parametrize(
    ("wish", "names"), [("", "ab"), ("all", "abc"), ("b", "b"), ("c a", "ac"), ("a,c", "ac")]
)
def test_tiers_are_chosen_by_name(wish, names):
    assert "".join(tier.name for tier in tiers.selected(wish, CHOICES)) == names


def test_an_unknown_tier_is_refused_by_name():
    with pytest.raises(SystemExit, match="no tier d; there are a, b, c, and all"):
        tiers.selected("a d", CHOICES)


def test_every_directory_with_a_tier_of_its_own_is_left_out_of_unit():
    """A test that ran in two tiers would be counted twice, one in none never."""
    unit, *others = tiers.TIERS
    assert sorted(unit.without) == sorted(path for tier in others for path in tier.paths)


def test_who_is_not_root_gets_namespaces_of_his_own(monkeypatch, tmp_path):
    monkeypatch.setattr(tiers.os, "geteuid", lambda: 1000)
    words = tiers.command(Tier("lab", ("tests/lab",), root=True), tmp_path, False, False)
    assert words[:3] == ["unshare", "--user", "--map-root-user"]
    assert words[words.index(sys.executable) :][:3] == [sys.executable, "-m", "pytest"]


def test_a_refusal_counts_once_for_each_reason():
    outcome = tiers.judge(Outcome("x", skipped=["why"]), True, 0)
    assert (outcome.refused, outcome.bad) == (["no test ran", "a skipped test proves nothing"], 2)
