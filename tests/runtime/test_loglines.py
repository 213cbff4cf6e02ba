"""Log lines, to the letter: they are read by people in a hurry and by programs that were written long ago."""

import asyncio
import json
import os
import re

import pytest
from msgspec.structs import replace

from kubeproxy.config.duration import parse_duration
from kubeproxy.config.filevalue import VModuleItem
from kubeproxy.config.schema import JSONLogging, Logging, LoggingOptions, TextLogging
from kubeproxy.runtime.loglines import Entry, json_line, text_line
from kubeproxy.runtime.logs import Log

MOMENT = 1795127683.017318
ENTRY = Entry("I", "Using iptables", {}, 0, MOMENT, "/src/kubeproxy/runtime/daemon.py", 35)


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    import time

    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def text(**fields):
    line = text_line(replace(ENTRY, **fields))
    assert (
        line.split("] ")[0] == f"{fields.get('level', 'I')}1119 22:34:43.017318 {os.getpid():7d} daemon.py:35"
    )
    return line.partition("] ")[2]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, '"Using iptables"'),
        ({"level": "E", "keys": {"err": "no\ttab"}}, '"Using iptables" err="no\\ttab"'),
        ({"keys": {"a": 1, "b": 2.5, "c": True, "d": None}}, '"Using iptables" a=1 b=2.5 c=true d=null'),
        ({"keys": {"ips": ["10.0.0.1", "fd00::1"], "none": ()}}, '"Using iptables" ips=["10.0.0.1","fd00::1"] none=[]'),
        ({"message": 'say "ü" \x1b'}, r'"say \"ü\" \x1b"'),
        ({"keys": {"rules": "one\ntwo\n"}}, '"Using iptables" rules=<\n\tone\n\ttwo\n >'),
        ({"message": 'FLAG: --v="1"', "bare": True}, 'FLAG: --v="1"'),
        ({"keys": {"err": KeyError("x")}}, "\"Using iptables\" err=\"'x'\""),
    ],
)  # fmt: skip
def test_a_line_of_text(fields, said):
    assert text(**fields) == said


def test_a_line_of_json():
    line = json_line(
        replace(ENTRY, keys={"ipFamily": "IPv4", "ips": ("a", 1), "n": None, "why": KeyError("x")})
    )
    assert line == (
        '{"ts":1795127683017.318,"caller":"runtime/daemon.py:35","msg":"Using iptables","v":0,'
        '"ipFamily":"IPv4","ips":["a",1],"n":null,"why":"\'x\'"}'
    )


def test_an_error_in_json_has_no_verbosity():
    line = json.loads(json_line(replace(ENTRY, level="E", keys={"err": "broken <é>"})))
    assert (line["err"], "v" in line) == ("broken <é>", False)
    assert json.loads(json_line(replace(ENTRY, level="W")))["level"] == "warning"


class Streams:
    """A log of its own, and what it wrote on each stream."""

    def __init__(self, capsys, **logging):
        self.log = Log()
        self.log.configure(Logging(**logging))
        self._capsys = capsys

    def read(self):
        said = self._capsys.readouterr()
        return tuple(re.findall(r'\] "?(\w+)|"msg":"(\w+)', stream) for stream in (said.out, said.err))

    def words(self):
        return tuple([first or second for first, second in found] for found in self.read())


def speak(told):
    told.info("zero")
    told.info("two", v=2)
    told.warning("careful")
    told.error("broken", err="why")


@pytest.mark.parametrize("form", ["text", "json"])
def test_everything_goes_to_stderr(form, capsys):
    streams = Streams(capsys, format=form, verbosity=1)
    speak(streams.log)
    assert streams.words() == ([], ["zero", "careful", "broken"])


@pytest.mark.parametrize("form", ["text", "json"])
def test_split_streams_leave_errors_alone_on_stderr(form, capsys):
    block = {"text": TextLogging, "json": JSONLogging}[form](splitStream=True)
    streams = Streams(capsys, format=form, verbosity=2, options=LoggingOptions(**{form: block}))
    speak(streams.log)
    assert streams.words() == (["zero", "two", "careful"], ["broken"])


def test_lines_may_be_collected_up_to_a_size(capsys):
    options = LoggingOptions(text=TextLogging(splitStream=True, infoBufferSize="1Ki"))
    streams = Streams(capsys, options=options)
    streams.log.info("first")
    assert streams.words() == ([], [])
    streams.log.info("second", long="x" * 1000)
    assert streams.words() == (["first", "second"], [])
    streams.log.info("third")
    streams.log.flush()
    assert streams.words() == (["third"], [])


def test_no_line_waits_longer_than_is_allowed(capsys):
    options = LoggingOptions(text=TextLogging(splitStream=True, infoBufferSize="1Ki"))
    streams = Streams(capsys, options=options, flushFrequency=parse_duration("1ms"))
    streams.log.info("first")

    async def one_flush():
        flushed = asyncio.Event()
        flush = streams.log.flush
        streams.log.flush = lambda: (flush(), flushed.set())
        task = asyncio.ensure_future(streams.log.flush_regularly())
        await asyncio.wait_for(flushed.wait(), 10)
        task.cancel()

    asyncio.run(one_flush())
    assert streams.words() == (["first"], [])


@pytest.mark.parametrize(
    ("pattern", "level", "said"),
    [
        ("test_loglines", 2, ["two"]),
        ("test_*", 3, ["two", "three"]),
        ("*/runtime/test_loglines", 2, ["two"]),
        ("proxy", 9, []),
        ("test_loglines.py", 9, []),
    ],
)
def test_single_files_may_say_more(pattern, level, said, capsys):
    streams = Streams(capsys, vmodule=(VModuleItem(pattern, level),))
    for verbosity, word in ((2, "two"), (3, "three")):
        streams.log.info(word, v=verbosity)
    assert streams.words() == ([], said)


def test_the_first_pattern_that_fits_counts(capsys):
    streams = Streams(capsys, vmodule=(VModuleItem("test_loglines", 1), VModuleItem("test_*", 9)))
    streams.log.info("two", v=2)
    assert streams.words() == ([], [])


def test_a_reader_that_went_away_does_not_end_the_proxy(monkeypatch):
    class Gone:
        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            raise AssertionError("nothing was written")

    monkeypatch.setattr("sys.stderr", Gone())
    Log().error("nobody hears this")


def test_what_cannot_be_encoded_is_spelled_out(monkeypatch):
    import io

    raw = io.BytesIO()
    monkeypatch.setattr("sys.stderr", io.TextIOWrapper(raw, encoding="ascii"))
    Log().bare("caf\xe9")
    assert raw.getvalue().decode().endswith("] caf\\xe9\n")
