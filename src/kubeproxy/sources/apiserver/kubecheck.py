"""What is wrong with the parts of a kubeconfig that are in use: every complaint, each with its remedy."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from kubeproxy.sources.apiserver.kubefile import Cluster, Exec, User
from kubeproxy.sources.http.proxies import SCHEMES
from kubeproxy.sources.http.url import parse_url

_PLUGIN_VERSIONS: Final = tuple(f"client.authentication.k8s.io/{v}" for v in ("v1", "v1beta1"))
_INTERACTIVE: Final = ("Never", "IfAvailable", "Always")


def about_cluster(cluster: Cluster, name: str, master: str) -> Iterator[tuple[str, str]]:
    """What is wrong, each with its remedy."""
    if not cluster.server and not master:
        yield f'no server found for cluster "{name}"', "write server: https://host:port"
    elif cluster.server and (why := _wrong_url(cluster.server, "https")):
        yield f"invalid server {cluster.server!r} for cluster {name!r}: {why}", "write https://host:port"
    if cluster.proxy_url and (why := _wrong_url(cluster.proxy_url, "", SCHEMES)):
        said = f"invalid 'proxy-url' {cluster.proxy_url!r} for cluster {name!r}: {why}"
        yield said, "write http://host:port"
    data, file = cluster.certificate_authority_data, cluster.certificate_authority
    if data and file:
        said = f"certificate-authority-data and certificate-authority are both specified for {name}"
        yield said, "keep one of the two"
    if cluster.insecure_skip_tls_verify and (data or file):
        said = "specifying a root certificates file with the insecure flag is not allowed"
        yield said, "remove insecure-skip-tls-verify, or the certificate authority"
    yield from _about_base64("certificate-authority-data", data)


def about_user(user: User, name: str) -> Iterator[tuple[str, str]]:
    if user.token and (user.username or user.password):
        said = f"more than one authentication method found for {name}; found [token basicAuth], only one is"
        yield f"{said} allowed", "keep the token, or user name and password"
    if user.auth_provider is not None:
        said = f"no Auth Provider found for user {name}: auth-provider was removed from Kubernetes"
        yield said, "use an exec plugin, a token or a client certificate"
    if (user.as_uid or user.as_groups or user.as_user_extra) and not user.impersonate:
        said = f"requesting uid, groups or user-extra for {name} without impersonating a user"
        yield said, "add as: with the name of the user"
    yield from _about_headers(user, name)
    yield from _about_certificate(user, name)
    if user.exec is not None:
        yield from _about_plugin(user.exec, name)


def _about_headers(user: User, name: str) -> Iterator[tuple[str, str]]:
    """What is sent as headers; a line break in it would begin another one."""
    extra = (text for values in user.as_user_extra.values() for text in values)
    texts = {"token": user.token.strip(), "as": user.impersonate, "as-uid": user.as_uid}
    for field, text in (*texts.items(), *(("as", text) for text in (*user.as_groups, *extra))):
        if not text.isprintable():
            yield f"{field} of {name} has characters that cannot be sent", "write it on one line"


def _about_certificate(user: User, name: str) -> Iterator[tuple[str, str]]:
    certificate = user.client_certificate or user.client_certificate_data
    if certificate and user.client_certificate and user.client_certificate_data:
        said = f"client-cert-data and client-cert are both specified for {name}"
        yield said, "keep one of the two"
    if certificate and user.client_key and user.client_key_data:
        yield f"client-key-data and client-key are both specified for {name}", "keep one of the two"
    if certificate and not (user.client_key or user.client_key_data):
        said = f"client-key-data or client-key must be specified for {name}"
        yield f"{said} to use the clientCert authentication method", "add the key of the certificate"
    yield from _about_base64("client-certificate-data", user.client_certificate_data)
    yield from _about_base64("client-key-data", user.client_key_data)


def _about_plugin(plugin: Exec, name: str) -> Iterator[tuple[str, str]]:
    suffix = f"for {name} to use exec authentication plugin"
    if not plugin.command:
        yield f"command must be specified {suffix}", "write command: with the program to run"
    if not plugin.api_version:
        yield f"apiVersion must be specified {suffix}", f"write apiVersion: {_PLUGIN_VERSIONS[0]}"
    elif plugin.api_version not in _PLUGIN_VERSIONS:
        said = f"exec plugin: invalid apiVersion {plugin.api_version!r}"
        yield said, f"write one of {', '.join(_PLUGIN_VERSIONS)}"
    if any(not variable.name for variable in plugin.env):
        yield f"env variable name must be specified {suffix}", "give every variable a name"
    mode = plugin.interactive_mode
    if not mode and plugin.api_version == _PLUGIN_VERSIONS[0]:
        yield f"interactiveMode must be specified {suffix}", "write interactiveMode: Never"
    elif mode and mode not in _INTERACTIVE:
        yield f"invalid interactiveMode for {name}: {mode!r}", f"write one of {', '.join(_INTERACTIVE)}"
    elif mode == "Always":
        said = f"exec plugin cannot support interactive mode for {name}: a daemon has no standard input"
        yield said, "write interactiveMode: IfAvailable, and a plugin that does not ask"


def _about_base64(name: str, text: str) -> Iterator[tuple[str, str]]:
    try:
        decoded(text)
    except ValueError as error:
        yield f"{name} is not base64: {error}", f"write what base64 -w0 FILE prints, or use {name[:-5]}"


def _wrong_url(text: str, scheme: str, known: frozenset[str] = frozenset(("http", "https"))) -> str:
    try:
        parse_url(text, scheme, known)
    except ValueError as error:
        return str(error)
    return ""


def decoded(text: str) -> bytes:
    return b64decode("".join(text.split()), validate=True)
