"""The file changes under a running proxy: what is said, what is applied, what waits, and what ends it."""

import re

import pytest

from kubeproxy.config.complaint import ConfigError
from kubeproxy.config.effective import effective_config
from kubeproxy.config.invocation import parse_flags
from kubeproxy.kernel.errors import KernelError
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.reload import Reenter, Reload
from kubeproxy.runtime.standing import Standing
from tests.configmap import ConfigMap

HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: iptables\n"


class Scene:
    """A mounted ConfigMap, a proxy that runs with it, and who is told of a change."""

    def __init__(self, tmp_path, capsys, *words):
        self.mounted = ConfigMap(tmp_path / "kube-proxy", config_conf=HEAD)
        invocation = parse_flags([f"--config={self.mounted.config}", *words])
        self.standing = Standing(effective_config(invocation, HEAD))
        self.metrics = Metrics()
        self.applied = []
        self.refusal = None
        self._capsys = capsys
        self.reload = Reload(invocation, self.standing, self.metrics, self._apply)
        self.reload.look()

    def _apply(self, config):
        if self.refusal is not None:
            raise self.refusal
        self.applied.append(config)

    def change(self, *lines):
        """Another version of the ConfigMap, looked at; the lines that were said about it."""
        self.mounted.update(config_conf=HEAD + "".join(f"{line}\n" for line in lines))
        return self.look()

    def look(self):
        self._capsys.readouterr()
        self.reload.look()
        said = self._capsys.readouterr().err
        lines = [line.partition("] ")[2] for line in said.splitlines()]
        return [re.sub(r' file="[^"]+"$', "", line) for line in lines]

    @property
    def pending(self):
        assert self.metrics.config_pending.values[()] == len(self.standing.pending)
        return [str(one) for one in self.standing.pending]

    @property
    def counts(self):
        return {key[0]: value for key, value in self.metrics.config_changes.values.items()}


@pytest.fixture
def scene(tmp_path, capsys):
    return lambda *words: Scene(tmp_path, capsys, *words)


WAITS = '"The configuration file changed; this waits for the next start"'
NOW = '"The configuration file changed; this is applied"'
SYNC, OOM = "iptables: {syncPeriod: 10s}", "oomScoreAdj: -5"
SYNC_SAID = 'field="iptables.syncPeriod" before="30s" after="10s"'
OOM_SAID = 'field="oomScoreAdj" before="-999" after="-5"'


def test_a_change_waits_for_the_next_start_unless_told_otherwise(scene):
    """So that a rollout stays what it is: edit, then restart the nodes one by one."""
    stage = scene()
    assert stage.change(SYNC, OOM) == [f"{WAITS} {SYNC_SAID}", f"{WAITS} {OOM_SAID}"]
    assert stage.pending == ["iptables.syncPeriod: 30s → 10s", "oomScoreAdj: -999 → -5"]
    assert (stage.applied, stage.counts) == ([], {"pending": 1})
    assert stage.standing.running.iptables.syncPeriod.seconds == 30


def test_what_is_taken_back_does_not_wait_any_more(scene):
    stage = scene()
    stage.change(SYNC)
    assert stage.change() == ['"The configuration file says again what holds; nothing is pending any more"']
    assert stage.pending == []


def test_the_same_text_and_the_same_meaning_are_no_change(scene):
    stage = scene()
    assert stage.change() == []
    assert stage.change("# a remark", "oomScoreAdj: -999") == []
    stage.change(SYNC)
    assert stage.change("# a remark", SYNC) == []
    assert stage.counts == {"pending": 1}


def test_live_applies_what_can_be_and_names_what_waits(scene):
    stage = scene("--config-reload=live")
    assert stage.change(SYNC, OOM) == [f"{NOW} {SYNC_SAID}", f"{WAITS} {OOM_SAID}"]
    [applied] = stage.applied
    assert (applied.iptables.syncPeriod.seconds, applied.oomScoreAdj) == (10, -999)
    assert stage.standing.running is applied
    assert stage.pending == ["oomScoreAdj: -999 → -5"]
    assert stage.counts == {"applied": 1, "pending": 1}
    assert stage.change(OOM) == [f'{NOW} field="iptables.syncPeriod" before="10s" after="30s"']
    assert stage.pending == ["oomScoreAdj: -999 → -5"]


def test_live_with_nothing_to_apply_leaves_the_proxy_alone(scene):
    stage = scene("--config-reload=live")
    assert stage.change(OOM) == [f"{WAITS} {OOM_SAID}"]
    assert stage.applied == []


def test_what_the_host_refuses_waits_as_a_whole(scene):
    stage = scene("--config-reload=live")
    stage.refusal = KernelError("sysctl net/ipv4/conf/all/route_localnet=1", "Read-only file system")
    said = stage.change("logging: {verbosity: 2}", OOM)
    assert said[0].startswith(
        '"The change cannot be applied under way; all of it waits for the next start" err="'
    )
    assert [line.split(" field=")[0] for line in said[1:]] == [WAITS, WAITS]
    assert stage.pending == ["logging.verbosity: 0 → 2", "oomScoreAdj: -999 → -5"]
    assert stage.standing.running.logging.verbosity == 0


def test_exit_ends_the_proxy_in_upstreams_words(scene):
    stage = scene("--config-reload=exit")
    with pytest.raises(ConfigError) as caught:
        stage.change(SYNC)
    assert str(caught.value).startswith("content of the proxy server's configuration file was updated")


@pytest.mark.parametrize("policy", ["pending", "live", "exit"])
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("iptables: {syncPeriod: soon}",), "iptables.syncPeriod"),
        (("iptables: {masqueradeBit: 77}", "oomScoreAdj: 5000"), "oomScoreAdj"),
        (("iptables: [",), "neither YAML nor JSON"),
        (("featureGates: {Nonsense: true}",), "unrecognized feature gate: Nonsense"),
        (("mode: kernelspace",), "kernelspace"),
        (("logging: {format: xml}",), "Unsupported log format"),
    ],
)
def test_a_bad_file_changes_nothing_whatever_the_policy(policy, lines, said, scene):
    """The node keeps its proxy, and the operator learns what to correct."""
    stage = scene(f"--config-reload={policy}")
    before = stage.standing.running
    told = stage.change(*lines)
    assert told[0].startswith('"The configuration file changed and cannot be used; nothing changes" err="')
    assert any(line.startswith('"Wrong in the configuration file"') and said in line for line in told[1:])
    assert stage.standing.running is before
    assert (stage.applied, stage.pending, stage.counts) == ([], [], {"refused": 1})
    assert stage.standing.problem
    assert stage.change() == []
    assert stage.standing.problem == ""


def test_every_complaint_is_a_line_of_its_own(scene):
    told = scene().change("iptables: {masqueradeBit: 77}", "oomScoreAdj: 5000", "mode: nonsense")
    assert len(told) == 1 + 3


def test_an_empty_moment_is_not_an_empty_configuration(scene):
    """Who writes in place truncates first."""
    stage = scene("--config-reload=exit")
    path = stage.mounted.config.resolve()
    path.write_text("")
    assert "cannot be used" in stage.look()[0]
    path.unlink()
    assert stage.look()[0].startswith('"The configuration file cannot be read; nothing changes"')
    assert stage.look() == []
    path.write_text(HEAD)
    assert stage.look() == []
    assert stage.standing.problem == ""


def test_text_that_is_none_is_refused(scene):
    stage = scene()
    stage.mounted.config.resolve().write_bytes(HEAD.encode() + b"# \xff\n")
    assert "the file is not UTF-8" in stage.look()[0]


def test_flags_that_count_beside_the_file_still_count(scene):
    stage = scene("--config-reload=live", "-v=3", "--hostname-override=node-a")
    assert stage.change("logging: {verbosity: 1}", "hostnameOverride: other", SYNC) == [f"{NOW} {SYNC_SAID}"]


def test_another_mode_is_entered_anew(scene, monkeypatch):
    """Fields that a change of the mode moves between blocks, and all others, take effect together."""
    monkeypatch.setattr("kubeproxy.runtime.reload.unavailable", lambda mode: None)
    stage = scene("--config-reload=live")
    stage.mounted.update(config_conf=HEAD.replace("iptables", "nftables") + OOM)
    with pytest.raises(Reenter) as caught:
        stage.look()
    assert (caught.value.config.mode, caught.value.config.oomScoreAdj) == ("nftables", -5)


def test_a_mode_that_this_release_lacks_is_a_bad_file(scene):
    stage = scene("--config-reload=live")
    stage.mounted.update(config_conf=HEAD.replace("iptables", "ipvs"))
    assert "mode ipvs is not part of this release yet" in stage.look()[0]
