"""A kubeconfig is read as kubectl reads it, and what is wrong with it is said all at once."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeproxy.config.complaint import ConfigError
from kubeproxy.sources.apiserver.access import Access, Plugin, find_access, in_cluster
from kubeproxy.sources.apiserver.kubeconfig import from_kubeconfig, read_kubeconfig
from kubeproxy.sources.http.url import Url

PATH = Path("/etc/kubernetes/proxy.conf")
SERVER = Url("https", "10.0.0.1", 6443)


def kubeconfig(user: Any = None, more: dict[str, Any] | None = None, **cluster: Any) -> str:
    """A file with one of each, in use."""
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443", **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **(more or {}),
    }
    return yaml.safe_dump(whole)


def read(text: str, master: str = "") -> Access:
    return from_kubeconfig(text.encode(), PATH, master)


def access(**fields: Any) -> Access:
    return Access(server=fields.pop("server", SERVER), origin=str(PATH), **fields)


# As kubeadm writes it into the ConfigMap of kube-proxy.
KUBEADM = """\
apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: https://10.0.0.1:6443
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
"""


def test_kubeadms_own_file() -> None:
    place = "/var/run/secrets/kubernetes.io/serviceaccount"
    assert read(KUBEADM) == access(ca_file=f"{place}/ca.crt", token_file=f"{place}/token")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (kubeconfig(), access()),
        (kubeconfig({"token": "secret"}), access(token="secret")),
        (kubeconfig({"token": "secret\n"}), access(token="secret")),
        (kubeconfig({"tokenFile": "t"}), access(token_file="/etc/kubernetes/t")),
        (kubeconfig({"username": "me", "password": "pw"}), access(user="me", password="pw")),
        (
            kubeconfig({"client-certificate": "c.crt", "client-key": "/abs/c.key"}),
            access(cert_file="/etc/kubernetes/c.crt", key_file="/abs/c.key"),
        ),
        (
            kubeconfig({"client-certificate-data": "Y2VydA==", "client-key-data": "a2\n V5"}),
            access(cert_data=b"cert", key_data=b"key"),
        ),
        (
            kubeconfig(**{"certificate-authority": "../ca.crt"}),
            access(ca_file="/etc/kubernetes/../ca.crt"),
        ),
        (kubeconfig(**{"certificate-authority-data": "Y2E="}), access(ca_data=b"ca")),
        (kubeconfig(**{"insecure-skip-tls-verify": True}), access(insecure=True)),
        (kubeconfig(**{"tls-server-name": "api.test"}), access(server_name="api.test")),
        (kubeconfig(**{"disable-compression": True}), access(compress=False)),
        (
            kubeconfig(**{"proxy-url": "socks5://p:1"}),
            access(proxy=Url("socks5", "p", 1)),
        ),
        (
            kubeconfig(
                {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"x/y": ["1", "2"]}}
            ),
            access(
                impersonation=(
                    ("Impersonate-User", "jane"),
                    ("Impersonate-Uid", "7"),
                    ("Impersonate-Group", "a"),
                    ("Impersonate-Group", "b"),
                    ("Impersonate-Extra-x%2Fy", "1"),
                    ("Impersonate-Extra-x%2Fy", "2"),
                )
            ),
        ),
        (
            kubeconfig(server="https://[fd00::1]:6443/prefix/"),
            access(server=Url("https", "fd00::1", 6443, "/prefix")),
        ),
        (kubeconfig(server="10.0.0.1:8080"), access(server=Url("http", "10.0.0.1", 8080))),
        # fields of no concern, and nulls, as other programs write them
        (
            kubeconfig({"token": "t", "password": None}, {"preferences": {}, "extensions": None}),
            access(token="t"),
        ),
        (
            kubeconfig(None, {"users": None, "contexts": [{"name": "x", "context": {"cluster": "c"}}]}),
            access(),
        ),
    ],
)
def test_what_a_file_comes_to(text: str, found: Access) -> None:
    assert read(text) == found


EXEC = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "bin/login",
    "args": ["--now"],
    "env": [{"name": "A", "value": "b"}],
    "installHint": "get it there",
    "interactiveMode": "Never",
    "provideClusterInfo": True,
}


def test_a_plugin_is_read() -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "me"}}
    plugin = Plugin(
        command="/etc/kubernetes/bin/login",
        api_version="client.authentication.k8s.io/v1",
        args=("--now",),
        env=(("A", "b"),),
        install_hint="get it there",
        tells_cluster=True,
        config={"audience": "me"},
    )
    assert read(kubeconfig({"exec": EXEC}, extensions=[extension])) == access(plugin=plugin)
    from_path = read(kubeconfig({"exec": {**EXEC, "command": "aws"}})).plugin
    assert from_path is not None and from_path.command == "aws"


def complaints(text: str, master: str = "") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text, master)
    assert all(complaint.remedy for complaint in caught.value.complaints)
    return [complaint.problem for complaint in caught.value.complaints]


CERT = {"client-certificate": "c"}
MULTI = "more than one authentication method found for u; found [token basicAuth], only one is allowed"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "invalid configuration: no configuration has been provided"),
        ("# nothing\n", "invalid configuration: no configuration has been provided"),
        ("kind: Config\napiVersion: v1\n", "invalid configuration: no configuration has been provided"),
        ("just text", "a kubeconfig is a mapping of clusters, users and contexts"),
        ("[a", "yaml: line 2"),
        ("a: \tb: c\n  d: [", "yaml: line"),
        ("users: 5", "users: expected a list, found a whole number"),
        (
            kubeconfig(None, {"kind": "KubeProxyConfiguration"}),
            "it is a KubeProxyConfiguration, not a kubeconfig",
        ),
        (kubeconfig(None, {"current-context": "other"}), 'context "other" does not exist'),
        (
            kubeconfig(None, {"current-context": ""}),
            "invalid configuration: no configuration has been provided",
        ),
        (kubeconfig(None, {"clusters": []}), 'cluster "c" does not exist'),
        (kubeconfig(None, {"users": []}), 'auth info "u" does not exist'),
        (kubeconfig(None, {"users": [{"name": "u"}, {"name": "u"}]}), "duplicate name 'u' in list of users"),
        (kubeconfig(server="", insecure=1, **{"tls-server-name": "x"}), 'no server found for cluster "c"'),
        (kubeconfig(server="ftp://x"), "invalid server 'ftp://x' for cluster 'c': it begins with none of"),
        (kubeconfig(**{"proxy-url": "nonsense"}), "invalid 'proxy-url' 'nonsense' for cluster 'c'"),
        (
            kubeconfig(**{"certificate-authority": "a", "certificate-authority-data": "Y2E="}),
            "certificate-authority-data and certificate-authority are both specified for c",
        ),
        (kubeconfig(**{"certificate-authority-data": "%"}), "certificate-authority-data is not base64"),
        (
            kubeconfig(**{"certificate-authority": "a", "insecure-skip-tls-verify": True}),
            "specifying a root certificates file with the insecure flag is not allowed",
        ),
        (kubeconfig({"token": "t", "username": "u"}), MULTI),
        (kubeconfig({"token": "a\nX: y"}), "token of u has characters that cannot be sent"),
        (kubeconfig({"as": "jane", "as-groups": ["a\r\nb"]}), "as of u has characters that cannot be sent"),
        (kubeconfig(CERT), "client-key-data or client-key must be specified for u"),
        (
            kubeconfig({**CERT, "client-certificate-data": "Yw==", "client-key": "k"}),
            "client-cert-data and client-cert are both specified for u",
        ),
        (kubeconfig({"auth-provider": {"name": "oidc"}}), "no Auth Provider found for user u"),
        (
            kubeconfig({"as-groups": ["a"]}),
            "requesting uid, groups or user-extra for u without impersonating",
        ),
        (kubeconfig({"exec": {**EXEC, "command": ""}}), "command must be specified for u"),
        (kubeconfig({"exec": {**EXEC, "apiVersion": ""}}), "apiVersion must be specified for u"),
        (kubeconfig({"exec": {**EXEC, "apiVersion": "x/v9"}}), "exec plugin: invalid apiVersion 'x/v9'"),
        (kubeconfig({"exec": {**EXEC, "interactiveMode": ""}}), "interactiveMode must be specified for u"),
        (
            kubeconfig({"exec": {**EXEC, "interactiveMode": "Always"}}),
            "exec plugin cannot support interactive mode",
        ),
        (
            kubeconfig({"exec": {**EXEC, "env": [{"value": "x"}]}}),
            "env variable name must be specified for u",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text: str, said: str) -> None:
    (found,) = complaints(text)
    assert said in found


def test_everything_that_is_wrong_is_said_at_once() -> None:
    text = kubeconfig({**CERT, "token": "t", "username": "u"}, server="ftp://x", **{"proxy-url": "-"})
    assert len(complaints(text)) == 4


def test_master_replaces_the_server_and_nothing_else() -> None:
    other = Url("https", "other", 443)
    assert read(kubeconfig({"token": "t"}), "https://other") == access(server=other, token="t")
    with_ca = kubeconfig({"token": "t"}, **{"certificate-authority-data": "Y2E="})
    assert read(with_ca, "other:443").server == other
    assert read(kubeconfig(), "other:8080").server == Url("http", "other", 8080)
    assert read("", "https://other").server == other
    assert complaints(kubeconfig(), "ftp://x") == [
        "invalid --master 'ftp://x': it begins with none of http://, https://"
    ]


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with pytest.raises(ConfigError) as caught:
        read_kubeconfig(path)
    assert caught.value.complaints[0].problem == f"stat {path}: no such file or directory"
    with pytest.raises(ConfigError) as caught:
        read_kubeconfig(tmp_path)
    assert caught.value.complaints[0].problem == f"read {tmp_path}: is a directory"
    path.write_text(kubeconfig({"tokenFile": "token"}, **{"certificate-authority": "ca.crt"}))
    with pytest.raises(ConfigError) as caught:
        read_kubeconfig(path)
    assert [complaint.problem for complaint in caught.value.complaints] == [
        f"open {tmp_path}/ca.crt: no such file or directory",
        f"open {tmp_path}/token: no such file or directory",
    ]
    (tmp_path / "ca.crt").write_text("x")
    (tmp_path / "token").write_text("x")
    assert read_kubeconfig(path).token_file == f"{tmp_path}/token"


POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_in_a_pod_its_own_account_is_used(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    found = in_cluster(POD, tmp_path)
    assert found == Access(
        server=Url("https", "10.96.0.1", 443),
        origin="the pod's service account",
        ca_file=f"{tmp_path}/ca.crt",
        ca_optional=True,
        token_file=f"{tmp_path}/token",
    )
    assert (
        in_cluster({**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}, tmp_path).server.address == "[fd00::1]:443"
    )


@pytest.mark.parametrize("missing", POD)
def test_outside_a_pod_it_says_what_to_name(missing: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        in_cluster({**POD, missing: ""}, tmp_path)
    (complaint,) = caught.value.complaints
    assert complaint.problem == (
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
    )
    assert "--kubeconfig" in complaint.remedy and "--manifests" in complaint.remedy


def test_a_pod_without_a_token_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="token: no such file or directory"):
        in_cluster(POD, tmp_path)


def test_who_is_asked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBECONFIG and the home directory are nobody's business here."""
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig({"token": "t"}))
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert find_access(str(path), "", POD).token == "t"
    assert find_access(str(path), "https://other", POD).server.host == "other"
    assert find_access("", "https://other", POD) == Access(
        server=Url("https", "other", 443), origin="--master"
    )
    with pytest.raises(ConfigError, match="serviceaccount/token"):
        find_access("", "", POD)
