"""Who we are, request by request: tokens, certificates and programs that change while we run."""

import asyncio
import base64
import json
import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubeproxy.sources.apiserver.access import Access, Plugin
from kubeproxy.sources.apiserver.execplugin import Credential, exec_info
from kubeproxy.sources.apiserver.login import Login
from kubeproxy.sources.http.failure import Distrusted
from kubeproxy.sources.http.url import Url

VERSION = "client.authentication.k8s.io/v1"


def access(**fields: Any) -> Access:
    return Access(server=Url("https", "api.test", 443), origin="the test", **fields)


def credential(login: Login) -> Credential:
    return asyncio.run(login.credential())


def bearer(token: str) -> Credential:
    return Credential((("Authorization", f"Bearer {token}"),))


def test_nobody_in_particular() -> None:
    assert credential(Login(access())) == Credential()


def test_a_token_a_password_and_somebody_else() -> None:
    assert credential(Login(access(token="secret"))) == bearer("secret")
    basic = base64.b64encode(b"me:p:w").decode()
    assert credential(Login(access(user="me", password="p:w"))).headers == (
        ("Authorization", f"Basic {basic}"),
    )
    as_jane = (("Impersonate-User", "jane"),)
    found = credential(Login(access(token="t", impersonation=as_jane)))
    assert found.headers == (*bearer("t").headers, *as_jane)


def test_a_token_file_is_read_each_time(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    login = Login(access(token_file=str(token), token="beside"))
    assert credential(login) == bearer("one")
    token.write_text("two")
    assert credential(login) == bearer("two")
    for bad in ("", "two\nlines", "ümlaut"):
        token.write_text(bad)
        assert credential(login) == bearer("two"), bad
    token.unlink()
    assert credential(login) == bearer("two")


def test_without_any_token_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(Distrusted, match=f"the token in {tmp_path}/token cannot be read"):
        credential(Login(access(token_file=f"{tmp_path}/token")))
    (tmp_path / "token").write_text("\n")
    with pytest.raises(Distrusted, match="there is no token in"):
        credential(Login(access(token_file=f"{tmp_path}/token")))


def test_certificates_are_read_each_time(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"cert")
    (tmp_path / "k").write_bytes(b"key")
    login = Login(access(cert_file=f"{tmp_path}/c", key_file=f"{tmp_path}/k"))
    assert credential(login) == Credential((), b"cert", b"key")
    before = login.files()
    (tmp_path / "c").write_bytes(b"newer cert")
    assert credential(login).certificate == b"newer cert"
    assert login.files() != before
    (tmp_path / "k").unlink()
    with pytest.raises(Distrusted, match="cannot be read"):
        credential(login)


class Program:
    """A plugin that prints what a file says, and counts how often it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "plugin"
        script = (
            f'#!/bin/sh\necho x >>"{folder}/runs"\nprintenv KUBERNETES_EXEC_INFO >"{folder}/info"\n'
            f'echo "$A:$*" >"{folder}/words"\ncat "{folder}/said"\n[ ! -f "{folder}/fail" ] || {{ echo oh no >&2; exit 3; }}\n'
        )
        self.path.write_text(script)
        self.path.chmod(stat.S_IRWXU)

    @property
    def runs(self) -> int:
        return len((self.folder / "runs").read_text().splitlines())

    def says(self, expires: datetime | None = None, **status: Any) -> None:
        whole = {"apiVersion": VERSION, "kind": "ExecCredential", "status": status}
        if expires is not None:
            status["expirationTimestamp"] = expires.isoformat().replace("+00:00", "Z")
        (self.folder / "said").write_text(json.dumps(whole))

    def login(self, **fields: Any) -> Login:
        plugin = Plugin(str(self.path), VERSION, ("--now", "a b"), (("A", "b"),), **fields)
        return Login(access(plugin=plugin))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_a_program_is_asked_without_a_shell_and_believed_until_it_expires(program: Program) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=1.5)
    program.says(soon, token="one")
    login = program.login()
    assert credential(login) == bearer("one")
    program.says(token="two")
    assert credential(login) == bearer("one")
    assert program.runs == 1
    assert (program.folder / "words").read_text() == "b:--now a b\n"
    while time.time() < soon.timestamp():
        time.sleep(0.05)
    assert credential(login) == bearer("two")
    assert credential(login) == bearer("two")
    assert program.runs == 2


def test_a_program_is_asked_again_when_it_was_not_believed(program: Program) -> None:
    program.says(token="one")
    login = program.login()
    assert credential(login) == bearer("one")
    program.says(token="two")
    login.refused(bearer("one"))
    assert credential(login) == bearer("two")
    # Somebody else was not believed either, but that was with the old token.
    login.refused(bearer("one"))
    assert credential(login) == bearer("two")
    assert program.runs == 2


def test_four_who_ask_at_once_run_it_once(program: Program) -> None:
    program.says(token="one")
    login = program.login()

    async def story() -> list[Credential]:
        return await asyncio.gather(*(login.credential() for _ in range(4)))

    assert asyncio.run(story()) == [bearer("one")] * 4
    assert program.runs == 1


def test_a_program_may_give_a_certificate(program: Program) -> None:
    program.says(clientCertificateData="CERT", clientKeyData="KEY")
    assert credential(program.login()) == Credential((), b"CERT", b"KEY")


def test_what_a_program_is_told(tmp_path: Path, program: Program) -> None:
    program.says(token="t")
    credential(program.login())
    told = json.loads((program.folder / "info").read_text())
    assert told == {"apiVersion": VERSION, "kind": "ExecCredential", "spec": {"interactive": False}}
    (tmp_path / "ca").write_text("AUTHORITY")
    plugin = Plugin("x", VERSION, tells_cluster=True, config={"audience": "me"})
    found = exec_info(plugin, access(ca_file=f"{tmp_path}/ca", server_name="other", compress=False))
    assert found["spec"]["cluster"] == {
        "server": "https://api.test",
        "tls-server-name": "other",
        "certificate-authority-data": "QVVUSE9SSVRZ",
        "disable-compression": True,
        "config": {"audience": "me"},
    }


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("not json", "what it prints is no ExecCredential"),
        ("[]", "what it prints is no ExecCredential"),
        ("{}", "it prints nothing of no version, not an ExecCredential of"),
        (
            '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1"}',
            "it prints ExecCredential of client.authentication.k8s.io/v1beta1, not an ExecCredential of",
        ),
        (
            f'{{"kind": "ExecCredential", "apiVersion": "{VERSION}"}}',
            "it prints neither a token nor a certificate",
        ),
        (
            f'{{"kind": "ExecCredential", "apiVersion": "{VERSION}", "status": {{"clientKeyData": "x"}}}}',
            "it prints only one of clientCertificateData and clientKeyData",
        ),
        (
            f'{{"kind": "ExecCredential", "apiVersion": "{VERSION}", "status": {{"token": "a\\r\\nX: y"}}}}',
            "its token has characters that cannot be sent",
        ),
    ],
)
def test_what_makes_no_sense_is_named(said: str, why: str, program: Program) -> None:
    (program.folder / "said").write_text(said)
    with pytest.raises(Distrusted) as caught:
        credential(program.login())
    assert f"the credential plugin {program.path} does not help: {why}" in caught.value.problem


def test_a_program_that_fails_or_is_not_there_is_named(program: Program) -> None:
    program.says(token="t")
    (program.folder / "fail").touch()
    with pytest.raises(Distrusted, match="it ended with status 3: oh no"):
        credential(program.login())
    program.path.unlink()
    with pytest.raises(Distrusted, match=r"it cannot be run: no such file or directory \(get it there\)"):
        credential(program.login(install_hint="get it there\n"))
