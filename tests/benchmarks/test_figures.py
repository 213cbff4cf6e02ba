"""A bound that is broken must be seen, or the figures protect nothing."""

from collections.abc import Iterator

import pytest

from benchmarks.figures import Figure, size_wanted, tell

FIGURES = [
    # ours, floor, at most, above the floor      kept
    (7.9, None, 8.0, False, True),
    (8.1, None, 8.0, False, False),
    (139.0, 127.0, 20.0, True, True),
    (148.0, 127.0, 20.0, True, False),
    (148.0, 127.0, None, False, True),
]


@pytest.mark.parametrize("ours, floor, at_most, above, kept", FIGURES)
def test_a_bound_is_of_the_figure_or_of_what_is_above_the_floor(
    ours: float, floor: float | None, at_most: float | None, above: bool, kept: bool
) -> None:
    assert Figure("change", ours, "ms", floor, None, at_most, above).kept is kept


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    figures = [
        Figure("start", 4.926, "s", 4.02, 193.0, 8.0),
        Figure("change, CPU", 152.4, "ms", 127.31, 550.0, 20.0, True),
        Figure("idle", 0.0, "ms/s"),
    ]
    assert tell("5,000 Services", figures) == 0
    assert capsys.readouterr().out == (
        "5,000 Services                                         ours    floor    stock   at most\n"
        "start, s                                               4.93     4.02      193   8.00         PASS\n"
        "change, CPU, ms                                         152      127      550   floor + 20.0 FAIL\n"
        "idle, ms/s                                             0.00\n\n"
    )


@pytest.mark.parametrize("asked, code", [("", 0), ("0", 0), ("1", 1)])
def test_a_broken_bound_is_a_failure_only_where_that_is_asked_for(
    asked: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that does other things as well, a broken bound may say nothing about us."""
    monkeypatch.setenv("CHECK", asked)
    assert tell("", [Figure("x", 2.0, "s", at_most=1.0)]) == code
    assert tell("", [Figure("x", 1.0, "s", at_most=1.0)]) == 0


def test_the_size_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIZE", "1000")
    assert size_wanted() == 1000
    monkeypatch.setenv("SIZE", "")
    assert size_wanted() == 5000
    monkeypatch.setenv("SIZE", "1000x10")
    with pytest.raises(SystemExit, match="SIZE=1000x10: write a number of Services, such as 1000"):
        size_wanted()


def test_what_cannot_be_measured_is_said_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def figures() -> Iterator[Figure]:
        yield Figure("start", 1.0, "s")
        raise FileNotFoundError(2, "No such file or directory", "iptables-legacy")

    assert tell("legacy", figures()) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[2] == "could not be measured: [Errno 2] No such file or directory: 'iptables-legacy'"
