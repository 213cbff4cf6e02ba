"""The text of a configuration file → a KubeProxyConfig, or every complaint about it at once."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.api.addresses import parse_ip
from kubeproxy.config import kind as kinds
from kubeproxy.config.complaint import Complaint, ConfigError, Form, Notice, Remark
from kubeproxy.config.field import Field, members
from kubeproxy.config.filevalue import Plain, found
from kubeproxy.config.hostport import with_port
from kubeproxy.config.row import When
from kubeproxy.config.schema import API_VERSION, KIND, Block, KubeProxyConfig
from kubeproxy.config.settle import settled
from kubeproxy.config.yamltree import Tree, UnreadableText, read_tree

HEALTHZ_PORT: Final = 10256
METRICS_PORT: Final = 10249
#: where the servers listen by default when bindAddress is an IPv6 one
_IPV6_SERVERS: Final = {
    "healthzBindAddress": f"[::]:{HEALTHZ_PORT}",
    "metricsBindAddress": f"[::1]:{METRICS_PORT}",
}
#: no value at all, where None is the file's null
_ABSENT: Final = object()
_ENVELOPE: Final = ("apiVersion", "kind")
#: the kinds of text whose remedy speaks of quotes, which would not help where there are several values
_SINGLE: Final = (kinds.STRING.word, kinds.FILE.word)


class ConfigReading(Struct, frozen=True):
    """A configuration, and what the operator should hear of it."""

    config: KubeProxyConfig
    notices: tuple[Notice, ...] = ()


def file_text(data: bytes, source: str) -> str:
    """The text of a file, or ConfigError."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        said = f"the file is not UTF-8: byte {data[error.start]:#04x} at position {error.start}"
        complaint = Complaint("", None, said, "save it as UTF-8", form=Form.PLAIN, where=source)
        raise ConfigError(complaint) from error


def decode_config(text: str, source: str) -> ConfigReading:
    """The file's configuration with every default filled in; ConfigError holds all that is wrong with it.

    Names that the schema does not know are dropped with a notice, and of names given twice the last counts: a
    file written for another release must not keep a node from starting. Values of the wrong type are errors.
    `source` is what the file is called in what is said about it.
    """
    tree = _tree(text, source)
    decoder = _Decoder(tree, source)
    decoder.envelope()
    if decoder.complaints:
        raise ConfigError(*decoder.complaints)
    config = decoder.config()
    if decoder.complaints:
        raise ConfigError(*decoder.complaints)
    notices = sorted(decoder.notices, key=lambda notice: (notice.remark is not Remark.REPEATED, notice.field))
    return ConfigReading(settled(config), tuple(notices) + _remarks(config, tree.root, source))


def _tree(text: str, source: str) -> Tree:
    try:
        tree = read_tree(text)
    except UnreadableText as error:
        where = f"{source} line {error.line}" if error.line else source
        said = f"the file is neither YAML nor JSON: {error.problem}"
        remedy = "look at this line and the one above it: indentation, colons and quotes"
        raise ConfigError(Complaint("", None, said, remedy, form=Form.PLAIN, where=where)) from error
    if tree.root is not None and not isinstance(tree.root, dict):
        said = f"the file must hold a mapping, not {found(tree.root)}"
        remedy = f"begin it with 'apiVersion: {API_VERSION}' and 'kind: {KIND}'"
        raise ConfigError(Complaint("", None, said, remedy, form=Form.PLAIN, where=source))
    return tree


class _Decoder:
    """Walks the schema and the document side by side and collects what does not fit."""

    def __init__(self, tree: Tree, source: str) -> None:
        self._root: dict[str, Plain] = tree.root or {}
        self._lines = tree.lines
        self._source = source
        self.complaints: list[Complaint] = []
        self.notices = [
            Notice(Remark.REPEATED, path, "remove all but one: the last one counts", self._where(path))
            for path in dict.fromkeys(tree.repeated)
        ]

    def envelope(self) -> None:
        """Only our own kind and version are read: another one may use the same names for other things."""
        for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
            given = self._root.get(name)
            if given is None or given == "":
                said = f"Object '{'Kind' if name == 'kind' else name}' is missing"
                self._complain(name, None, said, f"add the line '{name}: {wanted}'", Form.PLAIN)
            elif given != wanted:
                self._complain(name, given, f"must be {wanted}", f"write '{name}: {wanted}'")

    def config(self) -> KubeProxyConfig:
        bind = self._root.get("bindAddress")
        address = parse_ip(bind) if isinstance(bind, str) else None
        defaults = _IPV6_SERVERS if address is not None and address.version == 6 else {}
        config: KubeProxyConfig = self._block(KubeProxyConfig, self._root, "", defaults)
        return replace(
            config,
            healthzBindAddress=with_port(config.healthzBindAddress, HEALTHZ_PORT),
            metricsBindAddress=with_port(config.metricsBindAddress, METRICS_PORT),
        )

    def _block(
        self, block: type[Block], given: dict[str, Plain], path: str, defaults: Mapping[str, Any]
    ) -> Any:
        known = members(block, path)
        names = {member.name for member in known}
        for name in given:
            if name not in names and (path or name not in _ENVELOPE):
                self._unknown(path + name, name, names)
        values: dict[str, Any] = {}
        for member in known:
            value = given.get(member.name, _ABSENT)
            if member.block is not None:
                inner = self._mapping(path + member.name, value)
                values[member.name] = self._block(member.block, inner, f"{path}{member.name}.", defaults)
            elif member.field is not None:
                default = defaults.get(member.field.path, member.field.default)
                values[member.name] = self._value(member.field, value, default)
        return block(**values)

    def _mapping(self, path: str, value: Plain) -> dict[str, Plain]:
        if value is _ABSENT or value is None:
            return {}
        if isinstance(value, dict):
            return value
        said = f"must be a mapping, not {found(value)}"
        self._complain(path, value, said, "write its fields below it, indented")
        return {}

    def _value(self, field: Field, value: Plain, default: Any) -> Any:
        null_is_absent = field.kind.takes_null or field.when is When.NOT_NULL
        if value is _ABSENT or (value is None and null_is_absent):
            return default
        try:
            read = field.kind.read(value)
        except ValueError as error:
            several = isinstance(value, (list, dict)) and field.kind.word in _SINGLE
            remedy = "write one value, without a dash or brackets" if several else field.kind.remedy
            self._complain(field.path, value, str(error), remedy)
            return default
        for place, entry in enumerate(value if field.kind.entry_names else ()):
            for name in entry:
                if name not in field.kind.entry_names:
                    self._unknown(f"{field.path}[{place}].{name}", name, set(field.kind.entry_names))
        return default if field.when is When.NOT_EMPTY and not read else read

    def _unknown(self, path: str, name: str, names: set[str]) -> None:
        alike = [known for known in names if known.lower() == name.lower()]
        remedy = (
            f"did you mean {alike[0]}?" if alike else "remove it, or check its spelling and its indentation"
        )
        self.notices.append(Notice(Remark.UNKNOWN, path, remedy, self._where(path)))

    def _complain(
        self, path: str, value: Plain, problem: str, remedy: str, form: Form = Form.INVALID
    ) -> None:
        self.complaints.append(Complaint(path, value, problem, remedy, form=form, where=self._where(path)))

    def _where(self, path: str) -> str:
        return f"{self._source} line {self._lines[path]}" if path in self._lines else self._source


def _remarks(config: KubeProxyConfig, root: Mapping[str, Plain], source: str) -> tuple[Notice, ...]:
    """What a correct file should perhaps say differently."""
    remarks = []
    if not root.get("mode"):
        remarks.append(Notice(Remark.NO_MODE, "mode", no_mode_remedy("in the file"), source))
    for name in ("portRange", "udpIdleTimeout"):
        if config.mode != "userspace" and root.get(name):
            remarks.append(Notice(Remark.NO_EFFECT, name, "only mode userspace looks at it", source))
    return tuple(remarks)


def no_mode_remedy(place: str) -> str:
    return f"iptables is used; say so {place}, because the default may change one day"
