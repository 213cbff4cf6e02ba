"""Which server, and who we are to it: what --kubeconfig, --master and the pod we run in come to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproxy.config.complaint import Complaint, ConfigError, Form
from kubeproxy.sources.http.url import Url, bracketed, parse_url

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_HOST: Final = "KUBERNETES_SERVICE_HOST"
_PORT: Final = "KUBERNETES_SERVICE_PORT"


class Plugin(Struct, frozen=True):
    """A program that says who we are."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    #: the program is told which cluster it is for, and `config` with that
    tells_cluster: bool = False
    config: Any = None


class Access(Struct, frozen=True, kw_only=True):
    """What is in files stays in files here: they are read when they are needed, because they change."""

    server: Url
    #: where all this comes from, for people
    origin: str
    ca_file: str = ""
    ca_data: bytes = b""
    #: a CA file that cannot be read is only mentioned
    ca_optional: bool = False
    insecure: bool = False
    server_name: str = ""
    proxy: Url | None = None
    compress: bool = True
    token: str = ""
    token_file: str = ""
    user: str = ""
    password: str = ""
    cert_file: str = ""
    cert_data: bytes = b""
    key_file: str = ""
    key_data: bytes = b""
    #: whom the server shall take us for, as headers
    impersonation: tuple[tuple[str, str], ...] = ()
    plugin: Plugin | None = None


def find_access(kubeconfig: str, master: str, environ: Mapping[str, str]) -> Access:
    """The server that is meant; ConfigError with what keeps it from being known."""
    if kubeconfig:
        from kubeproxy.sources.apiserver.kubeconfig import read_kubeconfig

        return read_kubeconfig(Path(kubeconfig), master)
    if master:
        return Access(server=master_url(master, secure=False), origin="--master")
    return in_cluster(environ, SERVICE_ACCOUNT)


def in_cluster(environ: Mapping[str, str], account: Path) -> Access:
    """The cluster whose pod we are, with the files its kubelet keeps fresh."""
    host, port = environ.get(_HOST, ""), environ.get(_PORT, "")
    if not host or not port:
        said = f"unable to load in-cluster configuration, {_HOST} and {_PORT} must be defined"
        remedy = "name a kubeconfig with --kubeconfig, a directory with --manifests DIR, or run in a pod"
        raise refused(said, remedy)
    token, authority = account / "token", account / "ca.crt"
    readable(token, "run as a pod whose service account token is mounted, or use --kubeconfig")
    try:
        server = parse_url(f"https://{bracketed(host)}:{port}")
    except ValueError as error:
        raise refused(f"{_HOST} and {_PORT} name no server: {error}", "correct the variables") from error
    return Access(
        server=server,
        origin="the pod's service account",
        ca_file=str(authority),
        ca_optional=True,
        token_file=str(token),
    )


def master_url(text: str, *, secure: bool) -> Url:
    """--master, which may be a bare host and port."""
    try:
        return parse_url(text, "https" if secure else "http")
    except ValueError as error:
        raise refused(f"invalid --master {text!r}: {error}", "write https://host:port") from error


def under_another_server(access: Access, master: str) -> Access:
    """--master replaces only the server's address; who we are stays."""
    secure = bool(access.ca_file or access.ca_data or access.cert_file or access.cert_data or access.insecure)
    return msgspec.structs.replace(access, server=master_url(master, secure=secure))


def readable(path: Path, remedy: str, verb: str = "open") -> bytes:
    """The content of a file; ConfigError in the words that scripts look for."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise refused(f"{verb} {path}: {(error.strerror or str(error)).lower()}", remedy) from error


def refused(said: str, remedy: str, field: str = "", where: str = "") -> ConfigError:
    return ConfigError(Complaint(field, None, said, remedy, form=Form.PLAIN, where=where))
