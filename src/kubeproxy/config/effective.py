"""The configuration that counts, out of the command line and the file."""

from typing import Any

from kubeproxy.config.complaint import Complaint, ConfigError, Form, Notice, Remark
from kubeproxy.config.decode import ConfigReading, decode_config, no_mode_remedy
from kubeproxy.config.field import fields, value_at, with_values
from kubeproxy.config.flags import flags
from kubeproxy.config.gates import gate_complaints, gate_notices
from kubeproxy.config.hostport import with_port
from kubeproxy.config.invocation import Invocation
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.config.settle import settled


def effective_config(invocation: Invocation, file_text: str | None) -> KubeProxyConfig:
    """The configuration to run with; `file_text` is what --config names, None without it.

    With a file, flags do not count, except those for the node's name and for logging, in which nodes that
    share one file differ. ConfigError names all that keeps it from being understood; whether its values make
    sense is the next question, see `check`.
    """
    return read_effective(invocation, file_text).config


def read_effective(invocation: Invocation, file_text: str | None) -> ConfigReading:
    """The same, with what the operator should hear of it."""
    if file_text is None:
        reading = _from_flags(invocation)
    else:
        reading = decode_config(file_text, invocation.config or "the configuration file")
    config = with_values(reading.config, _beside_file(invocation, reading.config))
    complaints = gate_complaints(config.featureGates)
    if complaints:
        raise ConfigError(*complaints)
    return ConfigReading(config, reading.notices + gate_notices(config.featureGates))


def _from_flags(invocation: Invocation) -> ConfigReading:
    values = {field.path: field.flag_default for field in fields() if field.flag_default != field.default}
    for name, value in invocation.given.items():
        values.update(dict.fromkeys(flags()[name].paths, value))
    values["healthzBindAddress"] = _server(invocation, "healthz")
    values["metricsBindAddress"] = _server(invocation, "metrics")
    for path in ("mode", "detectLocalMode"):
        if values.get(path) == "":
            del values[path]
    config = with_values(KubeProxyConfig(), values)
    _refuse_empty_cluster_cidr(invocation, config)
    notices = () if "mode" in values else (_no_mode(),)
    return ConfigReading(settled(config), notices)


def _server(invocation: Invocation, name: str) -> str:
    """Where a server listens: the deprecated port flag fills in a missing port, and zero switches it off."""
    port = invocation.value(f"{name}-port")
    if not port and invocation.write_config_to:
        # A file cannot say "nowhere", so a written one says where it is by default.
        port = flags()[f"{name}-port"].default
    return with_port(invocation.value(f"{name}-bind-address"), port) if port else ""


def _no_mode() -> Notice:
    return Notice(Remark.NO_MODE, "mode", no_mode_remedy("with --proxy-mode iptables"))


def _refuse_empty_cluster_cidr(invocation: Invocation, config: KubeProxyConfig) -> None:
    # A flag that is there but empty is one network without a name, most often an unset variable in a script.
    if invocation.given.get("cluster-cidr") == "" and config.detectLocalMode == "ClusterCIDR":
        said = "must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)"
        path = "KubeProxyConfiguration.DetectLocalConfiguration.ClusterCIDRs[0]"
        raise ConfigError(
            Complaint("--cluster-cidr", "", said, "leave the flag out, or name the pods' network", path)
        )


def _beside_file(invocation: Invocation, config: KubeProxyConfig) -> dict[str, Any]:
    """What the flags say that count in any case."""
    values: dict[str, Any] = {}
    for field in fields():
        if field.beside_file and field.flag in invocation.given:
            values[field.path] = invocation.given[field.flag]
    if "logging.vmodule" in values and invocation.config:
        values["logging.vmodule"] += value_at(config, "logging.vmodule")
    if values.get("hostnameOverride"):
        values["hostnameOverride"] = _node_name(values["hostnameOverride"])
    else:
        values.pop("hostnameOverride", None)
    return values


def _node_name(text: str) -> str:
    name = text.strip().lower()
    if not name:
        said = "empty hostname-override is invalid"
        remedy = "name the node, or leave the flag out to use the host name"
        raise ConfigError(Complaint("--hostname-override", text, said, remedy, form=Form.PLAIN))
    return name
