"""A configuration as plain values in the order of the schema, and as the canonical YAML file."""

import re
from typing import Any, Final

from kubeproxy.config.field import Field, members, value_at
from kubeproxy.config.filevalue import Plain
from kubeproxy.config.goliteral import escaped
from kubeproxy.config.row import Written
from kubeproxy.config.schema import API_VERSION, KIND, Block, KubeProxyConfig
from kubeproxy.config.yamlscalar import needs_quotes

#: characters with which a bare word cannot begin, because YAML gives them a meaning
_INDICATORS: Final = re.compile(r"[#,\[\]{}&*!|>'\"%@`]|[-?:](?:\s|\Z)|---|\.\.\.")
#: what ends a bare word before its end
_BREAKS: Final = re.compile(r":(?:\s|\Z)|\s#|\A\s|\s\Z")


def plain_config(config: KubeProxyConfig) -> dict[str, Plain]:
    """What /configz shows: every field that is always written, and the others when they say something."""
    return {"kind": KIND, "apiVersion": API_VERSION} | _plain_block(KubeProxyConfig, config, "")


def write_config(config: KubeProxyConfig) -> str:
    """The file that reads back as this configuration: sorted, so that two of them can be compared by line."""
    return yaml_text(plain_config(config))


def yaml_text(value: dict[str, Plain]) -> str:
    """Plain values as Kubernetes' components write them: names sorted, quotes only where they are needed."""
    return "".join(f"{line}\n" for line in _lines(value, ""))


def _plain_block(block: type[Block], config: KubeProxyConfig, path: str) -> dict[str, Plain]:
    plain: dict[str, Plain] = {}
    for member in members(block, path):
        if member.block is not None:
            plain[member.name] = _plain_block(member.block, config, f"{path}{member.name}.")
        elif member.field is not None and _is_written(member.field, config):
            plain[member.name] = member.field.kind.write(value_at(config, member.field.path))
    return plain


def _is_written(field: Field, config: KubeProxyConfig) -> bool:
    if field.written is Written.IN_USERSPACE:
        return config.mode == "userspace"
    return field.written is Written.ALWAYS or bool(value_at(config, field.path))


def _lines(value: dict[str, Plain], indent: str) -> list[str]:
    lines: list[str] = []
    for name in sorted(value):
        lines += _entry(f"{indent}{_scalar(name)}:", value[name], indent)
    return lines


def _entry(start: str, value: Any, indent: str) -> list[str]:
    if isinstance(value, dict) and value:
        return [start, *_lines(value, indent + "  ")]
    if isinstance(value, list) and value:
        return [start, *(line for entry in value for line in _item(entry, indent))]
    return [f"{start} {_scalar(value)}"]


def _item(entry: Any, indent: str) -> list[str]:
    if not isinstance(entry, dict):
        return [f"{indent}- {_scalar(entry)}"]
    first, *rest = _lines(entry, indent + "  ")
    return [f"{indent}- {first.lstrip()}", *rest]


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)  # a number, or what [] and {} look like anyway


def _text(text: str) -> str:
    """Bare where that is safe, in single quotes where YAML would trip, in double ones where it means more."""
    if not text.isprintable() or needs_quotes(text):
        return escaped(text)
    if _INDICATORS.match(text) or _BREAKS.search(text):
        return "'" + text.replace("'", "''") + "'"
    return text
