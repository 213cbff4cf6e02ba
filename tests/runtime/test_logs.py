"""What operators read: klog's lines, as text and as JSON, and lines that repeat without end."""

import json
import re

import pytest

from kubeproxy.config.schema import Logging
from kubeproxy.model.identity import ServiceName
from kubeproxy.runtime.logs import Folding, Log

HEAD = re.compile(r"([IWE])\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ test_logs\.py:\d+\] ")


class Stderr:
    """All that was said on it."""

    def __init__(self, capsys) -> None:
        self._capsys, self._said = capsys, ""

    def getvalue(self) -> str:
        self._said += self._capsys.readouterr().err
        return self._said


@pytest.fixture
def stream(capsys) -> Stderr:
    return Stderr(capsys)


@pytest.fixture
def log() -> Log:
    return Log()


def told(stream: Stderr) -> tuple[str, str]:
    """The level of the line, and what follows its head."""
    text = stream.getvalue()
    found = HEAD.match(text)
    assert found, text
    return found[1], text[found.end() :]


VALUES = [
    ("plain", '"plain"'),
    ('with "quotes"', '"with \\"quotes\\""'),
    ("grüße", '"grüße"'),
    (7, "7"),
    (1.5, "1.5"),
    (True, "true"),
    (None, "null"),
    (("a", "b c"), '["a","b c"]'),
    (ServiceName("shop", "web"), '"shop/web"'),
    ("two\nlines\n", "<\n\ttwo\n\tlines\n >"),
    ("\x1b[31mred", r'"\x1b[31mred"'),
]


@pytest.mark.parametrize(("value", "text"), VALUES)
def test_a_value_is_written_so(log, stream, value, text):
    log.info("It happened", key=value)
    assert told(stream) == ("I", f'"It happened" key={text}\n')


@pytest.mark.parametrize(
    ("say", "line"),
    [
        (lambda it: it.info("a", x=1, y="b"), ("I", '"a" x=1 y="b"\n')),
        (lambda it: it.warning("a"), ("W", '"a"\n')),
        (lambda it: it.error("a", OSError("no"), x=1), ("E", '"a" err="no" x=1\n')),
        (lambda it: it.error("a"), ("E", '"a"\n')),
    ],
)
def test_each_level_has_its_letter(log, stream, say, line):
    say(log)
    assert told(stream) == line


def test_a_line_needs_its_verbosity(log, stream):
    log.info("quiet", v=2)
    assert stream.getvalue() == ""
    log.verbosity = 2
    log.info("loud", v=2)
    assert told(stream) == ("I", '"loud"\n')


JSON = [
    (lambda it: it.info("a", v=0, x=("b", 1), y=ServiceName("shop", "web")), {"msg": "a", "v": 0, "x": ["b", 1], "y": "shop/web"}),
    (lambda it: it.warning("a", x=None), {"msg": "a", "v": 0, "level": "warning", "x": None}),
    (lambda it: it.error("a", OSError("no"), x=True), {"msg": "a", "err": "no", "x": True}),
]  # fmt: skip


@pytest.mark.parametrize(("say", "record"), JSON)
def test_a_line_of_json_has_the_same_and_is_one_line(log, stream, say, record):
    log.configure(Logging(format="json"))
    say(log)
    (line,) = stream.getvalue().splitlines()
    found = json.loads(line)
    assert re.fullmatch(r"runtime/test_logs\.py:\d+", found.pop("caller"))
    assert found.pop("ts") > 1.7e12
    assert found == record


def test_a_line_that_repeats_is_said_once_a_minute_with_the_count_of_the_rest():
    folding = Folding(60.0)
    said = [folding.admit("a", now) for now in (0.0, 1.0, 59.9, 60.0, 61.0, 119.0, 125.0)]
    assert said == [0, None, None, 2, None, None, 2]


def test_other_lines_are_said_meanwhile_and_forgotten_in_time():
    folding = Folding(60.0)
    assert [folding.admit(f"{n}", 0.0) for n in range(2000)] == [0] * 2000
    assert folding.admit("new", 100.0) == 0
    assert len(folding._last) < 3


def test_a_folded_line_says_how_often_it_was_left_out(log, stream, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("kubeproxy.runtime.logs.time.monotonic", lambda: now[0])
    for moment in (0.0, 1.0, 2.0, 70.0):
        now[0] = moment
        log.folded(log.error, "It fails", err="why", family="IPv4")
        log.folded(log.error, "It fails", err="why", family="IPv6")
    lines = [HEAD.sub("", line) for line in stream.getvalue().splitlines()]
    assert lines == [
        '"It fails" err="why" family="IPv4"',
        '"It fails" err="why" family="IPv6"',
        '"It fails" err="why" family="IPv4" repeated=2',
        '"It fails" err="why" family="IPv6" repeated=2',
    ]
