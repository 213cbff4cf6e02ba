"""What a person reads who got a flag or a file wrong: the command itself, from its words to its exit code."""

import json
import re

import pytest

from kubeproxy.cli.main import main
from kubeproxy.config.schema import Logging
from kubeproxy.runtime.logs import log
from tests.cli import refused_files, refused_lines


@pytest.fixture(autouse=True)
def plain_log():
    """Each case begins with the log as a process begins with it."""
    log.configure(Logging())
    yield
    log.configure(Logging())


class Refusal:
    """One run that ended before it began."""

    def __init__(self, words, tmp_path, capfd):
        target = tmp_path / "written.yaml"
        extra = (
            []
            if any(word.startswith("--write-config-to") for word in words)
            else [f"--write-config-to={target}"]
        )
        self.code = main([*extra, *words])
        self.out, err = capfd.readouterr()
        self.lines = [
            line.replace(str(tmp_path / "config.yaml"), "FILE") for line in err.rstrip("\n").split("\n")
        ]
        self.wrote = target.exists()

    @property
    def error(self):
        """The line that scripts look for."""
        if self.lines[-1].startswith("Error: "):
            return self.lines[-1].removeprefix("Error: ")
        return json.loads(re.search(r'"command failed" err=("(?:[^"\\]|\\.)*")', self._failed)[1])

    @property
    def sentences(self):
        """What stands beside it for people."""
        if self.lines[-1].startswith("Error: "):
            assert self.lines[-2].startswith(f"{self.error}; ")
            return [self.lines[-2].removeprefix(f"{self.error}; ")]
        remedies = re.findall(r' remedy="([^"]*)"', self._failed)
        after = self.lines[self.lines.index(self._failed) + 1 :]
        return [*remedies, *(line.removeprefix("  ") for line in after)]

    @property
    def _failed(self):
        return next(line for line in self.lines if '"command failed"' in line)


def check(refusal, error, sentences):
    assert refusal.code == 1
    assert (refusal.error, refusal.sentences) == (error, sentences)
    assert not refusal.wrote
    assert refusal.out == ""


@pytest.mark.parametrize(
    ("words", "error", "sentences"), [*refused_lines.AS_UPSTREAM, *refused_lines.OWN_WORDS]
)
def test_a_command_line_that_cannot_be_used(words, error, sentences, tmp_path, capfd):
    check(Refusal(words, tmp_path, capfd), error, sentences)


@pytest.mark.parametrize(
    ("text", "error", "sentences"), [*refused_files.AS_UPSTREAM, *refused_files.OWN_WORDS]
)
def test_a_file_that_cannot_be_used(text, error, sentences, tmp_path, capfd):
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="latin-1")
    check(Refusal([f"--config={path}"], tmp_path, capfd), error, sentences)


def test_the_tables_are_as_large_as_promised():
    tables = (
        refused_lines.AS_UPSTREAM,
        refused_lines.OWN_WORDS,
        refused_files.AS_UPSTREAM,
        refused_files.OWN_WORDS,
    )
    cases = [str(case[0]) for table in tables for case in table]
    assert len(cases) == len(set(cases)) >= 80
    assert all(sentence for table in tables for case in table for sentence in case[2])


def test_a_wrong_flag_is_told_after_the_usage(tmp_path, capfd):
    """As the original does it: the text scrolls by, and the last line says what was wrong."""
    refusal = Refusal(["--nonsense"], tmp_path, capfd)
    assert refusal.lines[2:4] == ["Usage:", "  kube-proxy [flags]"]


def test_kernelspace_is_refused_in_one_sentence(tmp_path, capfd):
    sentence = (
        'mode: kernelspace is how Windows nodes do it, and this is a Linux node (found "kernelspace"); '
    )
    refusal = Refusal(["--proxy-mode=kernelspace"], tmp_path, capfd)
    assert refusal.sentences == [sentence + "choose iptables or nftables"]


@pytest.mark.parametrize("mode", ["ipvs", "nftables", "userspace"])
def test_a_mode_that_is_not_there_yet_is_refused_when_it_would_run(mode, capfd):
    """Its configuration can be written and checked all the same."""
    assert main([f"--proxy-mode={mode}"]) == 1
    err = capfd.readouterr().err
    assert f'"command failed" err="mode {mode} is not part of this release yet"' in err
    assert 'remedy="choose --proxy-mode iptables, or mode: iptables in the file"' in err
