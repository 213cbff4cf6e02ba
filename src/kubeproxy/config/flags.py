"""Every flag: those that set a field of the configuration come out of its table, the others stand here."""

from functools import cache
from typing import Any, Final

from msgspec import Struct

from kubeproxy.config import kind as kinds
from kubeproxy.config.field import Field, fields
from kubeproxy.config.kind import Kind, choice
from kubeproxy.config.row import Group

RELOADS: Final = ("pending", "live", "exit")


class Flag(Struct, frozen=True, kw_only=True):
    """One flag of the command line."""

    name: str
    kind: Kind
    meaning: str
    group: Group
    default: Any = ""
    short: str = ""
    #: the fields it sets
    paths: tuple[str, ...] = ()
    #: it counts even when --config is given
    beside_file: bool = True
    #: what to use instead; such a flag is left out of --help
    deprecated: str = ""


def _own(name: str, kind: Kind, group: Group, meaning: str, **more: Any) -> Flag:
    return Flag(name=name, kind=kind, group=group, meaning=meaning, **{"default": kind.zero} | more)


OWN: Final = (
    _own("config", kinds.FILE, Group.RUN, "configuration file; most other flags are then ignored"),
    _own("config-reload", choice(*RELOADS), Group.RUN, "when the file changes: note it, apply it, or exit",
         default=RELOADS[0]),
    _own("write-config-to", kinds.FILE, Group.RUN, "write the effective configuration to a file and exit"),
    _own("cleanup", kinds.BOOL, Group.RUN, "remove every rule of every mode and exit"),
    _own("init-only", kinds.BOOL, Group.RUN, "do only what needs privileges and exit"),
    _own("version", kinds.VERSION, Group.RUN, "print the version and exit"),
    _own("help", kinds.BOOL, Group.RUN, "print this text and exit", short="h"),
    _own("manifests", kinds.DIRECTORY, Group.SOURCE, "directory of YAML or JSON files to use as a cluster"),
    _own("service-cidr", kinds.CIDRS, Group.SOURCE, "networks to take missing cluster IPs of manifests from"),
    _own("record", kinds.FILE, Group.SOURCE, "file to write everything heard of the cluster to"),
    _own("play", kinds.FILE, Group.SOURCE, "recording to use as a cluster"),
    _own("master", kinds.STRING, Group.API, "URL of the API server, if not the kubeconfig's"),
    _own("healthz-port", kinds.INT32, Group.SERVERS, "port for --healthz-bind-address; 0: do not listen",
         default=10256, beside_file=False, deprecated="use --healthz-bind-address"),
    _own("metrics-port", kinds.INT32, Group.SERVERS, "port for --metrics-bind-address",
         default=10249, beside_file=False, deprecated="use --metrics-bind-address"),
    _own("boot-id-file", kinds.FILE, Group.IGNORED, "was read by a library that is gone",
         default="/proc/sys/kernel/random/boot_id"),
    _own("machine-id-file", kinds.FILE, Group.IGNORED, "was read by a library that is gone",
         default="/etc/machine-id,/var/lib/dbus/machine-id"),
)  # fmt: skip
_SHORT: Final = {"v": "v"}


@cache
def flags() -> dict[str, Flag]:
    """All flags by name, sorted."""
    known = {flag.name: flag for flag in OWN}
    for field in fields():
        if field.flag and field.flag not in known:
            known[field.flag] = _of_field(field)
    return dict(sorted(known.items()))


def _of_field(field: Field) -> Flag:
    return Flag(
        name=field.flag,
        kind=field.kind,
        meaning=field.meaning,
        group=field.group,
        # Empty on the command line, where nobody has chosen yet; the file's default is what that comes to.
        default="" if field.path in ("mode", "detectLocalMode") else field.flag_default,
        short=_SHORT.get(field.flag, ""),
        paths=tuple(other.path for other in fields() if other.flag == field.flag),
        beside_file=field.beside_file,
    )
