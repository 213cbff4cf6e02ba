"""A kubeconfig as it is written, as far as we understand it; what is not known is ignored."""

from typing import Any

from msgspec import Struct, field


class Extension(Struct):
    name: str = ""
    extension: Any = None


class Cluster(Struct, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[Extension] = []


class EnvVar(Struct):
    name: str = ""
    value: str = ""


class Exec(Struct, rename="camel"):
    command: str = ""
    args: list[str] = []
    env: list[EnvVar] = []
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(Struct, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = field(name="tokenFile", default="")
    impersonate: str = field(name="as", default="")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}
    username: str = ""
    password: str = ""
    auth_provider: Any = None
    exec: Exec | None = None


class Context(Struct):
    cluster: str = ""
    user: str = ""


class NamedCluster(Struct):
    name: str = ""
    cluster: Cluster = field(default_factory=Cluster)


class NamedUser(Struct):
    name: str = ""
    user: User = field(default_factory=User)


class NamedContext(Struct):
    name: str = ""
    context: Context = field(default_factory=Context)


class KubeFile(Struct, rename="kebab"):
    kind: str = ""
    clusters: list[NamedCluster] = []
    users: list[NamedUser] = []
    contexts: list[NamedContext] = []
    current_context: str = ""
