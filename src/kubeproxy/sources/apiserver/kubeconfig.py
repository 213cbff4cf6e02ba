"""A kubeconfig: its current context, as what it means for us."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from kubeproxy.api.decode import DecodeError, decode_as
from kubeproxy.config.complaint import Complaint, ConfigError, Form
from kubeproxy.config.yamltree import UnreadableText, read_tree
from kubeproxy.sources.apiserver.access import Access, Plugin, readable, refused, under_another_server
from kubeproxy.sources.apiserver.kubecheck import about_cluster, about_user, decoded
from kubeproxy.sources.apiserver.kubefile import (
    Cluster,
    Context,
    Exec,
    KubeFile,
    NamedCluster,
    NamedContext,
    NamedUser,
    User,
)
from kubeproxy.sources.http.proxies import SCHEMES
from kubeproxy.sources.http.url import Url, parse_url

_NOTHING: Final = (
    "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment"
    " variable"
)
_NAME_ONE: Final = "name a kubeconfig that has a cluster with a server, a user, and a current-context"
_PLUGIN_CONFIG: Final = "client.authentication.k8s.io/exec"


def read_kubeconfig(path: Path, master: str = "") -> Access:
    """What the file at this path comes to; ConfigError with everything that is wrong with it."""
    try:
        path.stat()
    except OSError as error:
        said = f"stat {path}: {(error.strerror or str(error)).lower()}"
        raise refused(said, "name a kubeconfig that exists, or leave it out to use the pod's own") from error
    data = readable(path, "name a file that can be read", "read")
    access = from_kubeconfig(data, path, master)
    needed = (access.ca_file, access.cert_file, access.key_file, "" if access.token else access.token_file)
    complaints: list[Complaint] = []
    for name in filter(None, needed):
        try:
            readable(Path(name), f"correct its path in {path}, or put the file there")
        except ConfigError as error:
            complaints += error.complaints
    if complaints:
        raise ConfigError(*complaints)
    return access


def from_kubeconfig(data: bytes, path: Path, master: str = "") -> Access:
    """The same, given its text; files it names are not looked at."""
    file = _parsed(data, path)
    if file.kind not in ("", "Config"):
        said = f'error loading config file "{path}": it is a {file.kind}, not a kubeconfig'
        raise refused(said, _NAME_ONE)
    if not (file.clusters or file.contexts or file.current_context or master):
        raise refused(_NOTHING, _NAME_ONE, where=str(path))
    context = _context(file, path)
    cluster, user = _cluster(file, context, path, master), _user(file, context, path)
    complaints = [
        Complaint("", None, said, remedy, form=Form.PLAIN, where=str(path))
        for said, remedy in (
            *about_cluster(cluster, context.cluster, master),
            *about_user(user, context.user),
        )
    ]
    if complaints:
        raise ConfigError(*complaints)
    access = _access(cluster, user, path, bool(master))
    return under_another_server(access, master) if master else access


def _parsed(data: bytes, path: Path) -> KubeFile:
    try:
        root = read_tree(data.decode("utf-8")).root
        if root is None:
            return KubeFile()
        if isinstance(root, dict):
            return decode_as(KubeFile, root)
        said, remedy = "a kubeconfig is a mapping of clusters, users and contexts", _NAME_ONE
    except UnreadableText as error:
        line = f"line {error.line}: " if error.line else ""
        said, remedy = f"yaml: {line}{error.problem}", "correct that line; kubectl config view shows the file"
    except UnicodeDecodeError:
        said, remedy = "it is not text", "save it as UTF-8"
    except DecodeError as error:
        said, remedy = f"{error}", error.remedy
    raise refused(f'error loading config file "{path}": {said}', remedy)


_N = TypeVar("_N", NamedCluster, NamedUser, NamedContext)


def _named(entries: list[_N], name: str, what: str, path: Path) -> _N | None:
    found = [entry for entry in entries if entry.name == name]
    if len(found) > 1:
        said = f'error loading config file "{path}": duplicate name {name!r} in list of {what}s'
        raise refused(said, f"give each {what} a name of its own")
    return found[0] if found else None


def _context(file: KubeFile, path: Path) -> Context:
    name = file.current_context
    found = _named(file.contexts, name, "context", path)
    if found is None and name:
        known = ", ".join(entry.name for entry in file.contexts) or "none"
        raise refused(f'context "{name}" does not exist', f"set current-context to one there is: {known}")
    return found.context if found is not None else Context()


def _cluster(file: KubeFile, context: Context, path: Path, master: str) -> Cluster:
    found = _named(file.clusters, context.cluster, "cluster", path)
    if found is None and context.cluster:
        raise refused(f'cluster "{context.cluster}" does not exist', _among("cluster", file.clusters))
    if (found is None or found.cluster == Cluster()) and not master:
        raise refused(_NOTHING, "set current-context: contexts, clusters and users alone choose nothing")
    return found.cluster if found is not None else Cluster()


def _user(file: KubeFile, context: Context, path: Path) -> User:
    found = _named(file.users, context.user, "user", path)
    if found is None and context.user:
        raise refused(f'auth info "{context.user}" does not exist', _among("user", file.users))
    return found.user if found is not None else User()


def _among(what: str, entries: Iterable[NamedCluster | NamedUser]) -> str:
    known = ", ".join(entry.name for entry in entries) or "none"
    return f"name a {what} in the context that the file has: {known}"


def _access(cluster: Cluster, user: User, path: Path, master: bool) -> Access:
    where = path.absolute().parent
    secure = bool(cluster.certificate_authority or cluster.certificate_authority_data)
    scheme = "https" if secure or user.client_certificate or user.client_certificate_data else "http"
    server = Url("http", "localhost", 80) if not cluster.server and master else None
    return Access(
        server=server or parse_url(cluster.server, scheme),
        origin=str(path),
        ca_file=_beside(where, cluster.certificate_authority),
        ca_data=decoded(cluster.certificate_authority_data),
        insecure=cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name,
        proxy=parse_url(cluster.proxy_url, "", SCHEMES) if cluster.proxy_url else None,
        compress=not cluster.disable_compression,
        token=user.token.strip(),
        token_file=_beside(where, user.token_file),
        user=user.username,
        password=user.password,
        cert_file=_beside(where, user.client_certificate),
        cert_data=decoded(user.client_certificate_data),
        key_file=_beside(where, user.client_key),
        key_data=decoded(user.client_key_data),
        impersonation=tuple(_impersonation(user)),
        plugin=_plugin(user.exec, cluster, where) if user.exec is not None else None,
    )


def _beside(where: Path, name: str) -> str:
    """A relative path is meant from the file that names it."""
    return str(where / name) if name else ""


def _impersonation(user: User) -> Iterator[tuple[str, str]]:
    if user.impersonate:
        yield "Impersonate-User", user.impersonate
    if user.as_uid:
        yield "Impersonate-Uid", user.as_uid
    for group in user.as_groups:
        yield "Impersonate-Group", group
    for key, values in user.as_user_extra.items():
        yield from ((f"Impersonate-Extra-{quote(key, safe='')}", value) for value in values)


def _plugin(plugin: Exec, cluster: Cluster, where: Path) -> Plugin:
    command = _beside(where, plugin.command) if "/" in plugin.command else plugin.command
    return Plugin(
        command=command,
        api_version=plugin.api_version,
        args=tuple(plugin.args),
        env=tuple((variable.name, variable.value) for variable in plugin.env),
        install_hint=plugin.install_hint,
        tells_cluster=plugin.provide_cluster_info,
        config={item.name: item.extension for item in cluster.extensions}.get(_PLUGIN_CONFIG),
    )
