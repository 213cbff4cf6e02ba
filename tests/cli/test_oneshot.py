"""The runs that print or write something and end."""

import pytest
import yaml

from kubeproxy.cli.main import main
from kubeproxy.config.field import fields
from kubeproxy.config.flags import flags
from kubeproxy.config.schema import Logging
from kubeproxy.runtime.logs import log


@pytest.fixture(autouse=True)
def plain_log():
    log.configure(Logging())
    yield
    log.configure(Logging())


def test_the_version_is_the_one_it_stands_in_for(capfd):
    assert main(["--version"]) == 0
    assert capfd.readouterr() == ("Kubernetes v1.36.4\n", "")


def test_the_whole_record_of_the_version(capfd):
    assert main(["--version=raw"]) == 0
    said = capfd.readouterr().out
    assert said.startswith(
        'version.Info{Major:"1", Minor:"36", EmulationMajor:"", EmulationMinor:"", MinCompatibilityMajor:"", '
        'MinCompatibilityMinor:"", GitVersion:"v1.36.4", GitCommit:"", GitTreeState:"", BuildDate:"", GoVersion:"python'
    )
    assert said.endswith('"}\n')


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--help", "extra"], ["--cleanup", "-h"]])
def test_help_goes_to_stdout_and_names_every_flag(words, capfd):
    assert main(words) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert [name for name, flag in flags().items() if not flag.deprecated and f"--{name}" not in out] == []


def test_the_version_wins_over_everything(tmp_path, capfd):
    target = tmp_path / "written"
    assert main(["--version", f"--write-config-to={target}", "--cleanup", "--proxy-mode=nonsense"]) == 0
    assert not target.exists()


def written(tmp_path, *words):
    target = tmp_path / "written.yaml"
    assert main([*words, f"--write-config-to={target}"]) == 0
    return target


def test_the_configuration_is_written_and_reads_back_the_same(tmp_path, capfd):
    first = written(tmp_path, "--cluster-cidr=10.1.0.0/16", "--hostname-override=Node-A", "-v=2", "--cleanup")
    text = first.read_text()
    assert '"Wrote configuration" file=' in capfd.readouterr().err
    assert written(tmp_path, f"--config={first}").read_text() == text
    shown = yaml.safe_load(text)
    assert (shown["clusterCIDR"], shown["hostnameOverride"]) == ("10.1.0.0/16", "node-a")
    assert shown["logging"]["verbosity"] == 2


def test_it_is_written_over_what_was_there(tmp_path):
    (tmp_path / "written.yaml").write_text("x" * 100_000)
    assert "xxx" not in written(tmp_path).read_text()


def test_every_field_of_a_written_file_can_be_read(tmp_path):
    tree = yaml.safe_load(written(tmp_path).read_text())
    for field in fields():
        node = tree
        *folders, name = field.path.split(".")
        for folder in folders:
            node = node[folder]
        assert name in node or field.written.value != "always", field.path


@pytest.mark.parametrize("port", ["metrics", "healthz"])
def test_a_port_that_is_switched_off_is_written_with_its_default(port, tmp_path):
    """A file has no word for nowhere."""
    shown = yaml.safe_load(written(tmp_path, f"--{port}-port=0").read_text())
    assert shown[f"{port}BindAddress"] == {"metrics": "127.0.0.1:10249", "healthz": "0.0.0.0:10256"}[port]


def test_flags_are_dumped_at_verbosity_1(tmp_path, capfd):
    written(tmp_path, "-v=1", "--cluster-cidr=10.1.0.0/16")
    dumped = [line.partition("] ")[2] for line in capfd.readouterr().err.splitlines() if "] FLAG: " in line]
    assert dumped[0] == 'FLAG: --bind-address="0.0.0.0"'
    assert 'FLAG: --cluster-cidr="10.1.0.0/16"' in dumped
    assert len(dumped) == len(flags())
    written(tmp_path)
    assert "FLAG" not in capfd.readouterr().err


def test_what_is_said_of_a_file_is_text_and_from_then_on_as_the_file_wants(tmp_path, capfd):
    path = tmp_path / "config.yaml"
    path.write_text(
        "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
        "mode: iptables\nnonsense: 1\nlogging: {format: json}\n"
    )
    written(tmp_path, f"--config={path}")
    lines = capfd.readouterr().err.splitlines()
    assert 'err="strict decoding error: unknown field \\"nonsense\\""' in lines[0]
    assert lines[-1].startswith('{"ts":')
