"""Invocation: what the command line asks for."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from kubeproxy.config.commandline import FlagError, parse
from kubeproxy.config.complaint import Complaint, Form
from kubeproxy.config.field import value_at
from kubeproxy.config.flags import Flag, flags
from kubeproxy.config.goliteral import quoted
from kubeproxy.config.schema import KubeProxyConfig


class Invocation(Struct, frozen=True, kw_only=True):
    """The command line as values; `given` holds only the flags that were there, by name."""

    given: Mapping[str, Any] = {}
    #: one line each, for stderr
    warnings: tuple[str, ...] = ()

    @property
    def help(self) -> bool:
        return bool(self.value("help"))

    @property
    def version(self) -> str:
        """ "" to run, "true" or "raw" to print and exit, vX.Y.Z to run under this version."""
        return str(self.value("version"))

    @property
    def config(self) -> str:
        """Path of the configuration file, or ""."""
        return str(self.value("config"))

    @property
    def config_reload(self) -> str:
        return str(self.value("config-reload"))

    @property
    def write_config_to(self) -> str:
        return str(self.value("write-config-to"))

    @property
    def cleanup(self) -> bool:
        return bool(self.value("cleanup"))

    @property
    def init_only(self) -> bool:
        return bool(self.value("init-only"))

    @property
    def master(self) -> str:
        return str(self.value("master"))

    @property
    def manifests(self) -> str:
        return str(self.value("manifests"))

    @property
    def record(self) -> str:
        return str(self.value("record"))

    @property
    def play(self) -> str:
        return str(self.value("play"))

    @property
    def service_cidrs(self) -> tuple[str, ...]:
        return tuple(self.value("service-cidr"))

    @property
    def verbosity(self) -> int:
        """Before a file is read; afterwards `logging.verbosity` of the configuration counts."""
        return int(self.value("v"))

    def value(self, name: str) -> Any:
        """What the flag says, given or not."""
        return self.given.get(name, flags()[name].default)


def parse_flags(arguments: Sequence[str]) -> Invocation:
    """The daemon's command line, without the program's name; FlagError when it makes no sense."""
    line = parse(arguments, flags())
    if line.words and any(line.words) and not line.given.get("help"):
        listed = " ".join(quoted(word) for word in line.words)
        said = f'"kube-proxy" does not take any arguments, got [{listed}]'
        raise FlagError(Complaint("", line.words, said, _remedy(line.words), form=Form.PLAIN))
    return Invocation(given=line.given, warnings=line.warnings)


def _remedy(words: Sequence[str]) -> str:
    if any(word in ("true", "false") for word in words):
        return "a flag that is true or false takes its value after an equals sign: --cleanup=false"
    return "flags begin with two dashes; see --help"


#: flags that show what they came to; all others show what was given
_SETTLED: Final = {
    "detect-local-mode": "detectLocalMode",
    "healthz-bind-address": "healthzBindAddress",
    "hostname-override": "hostnameOverride",
    "metrics-bind-address": "metricsBindAddress",
    "nodeport-addresses": "nodePortAddresses",
    "proxy-mode": "mode",
}


def flag_texts(invocation: Invocation, config: KubeProxyConfig) -> tuple[tuple[str, str], ...]:
    """Every flag and the command line's value of it, sorted, as /flagz and the log show them."""
    return tuple((flag.name, _text(flag, invocation, config)) for flag in flags().values())


def _text(flag: Flag, invocation: Invocation, config: KubeProxyConfig) -> str:
    settled = flag.name in _SETTLED and not invocation.config
    value = value_at(config, _SETTLED[flag.name]) if settled else invocation.value(flag.name)
    return flag.kind.show(value)
