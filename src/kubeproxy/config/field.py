"""Field: a row of the table with everything that follows from where it stands."""

from functools import cache
from typing import Any, Final, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.config import kind as kinds
from kubeproxy.config.kind import Kind
from kubeproxy.config.row import Group, Row, When, Written
from kubeproxy.config.schema import Block, KubeProxyConfig


class Field(Struct, frozen=True, kw_only=True):
    """One field of the file."""

    path: str
    kind: Kind
    default: Any
    meaning: str
    when: When
    group: Group
    modes: tuple[str, ...]
    written: Written
    flag: str
    flag_default: Any
    beside_file: bool
    live: bool


class Member(Struct, frozen=True):
    """One name inside a block: a field, or a block of its own."""

    name: str
    field: Field | None
    block: type[Block] | None


_KINDS: Final[dict[Any, Kind]] = {
    "str": kinds.STRING,
    "bool": kinds.BOOL,
    "int": kinds.INT32,
    "float": kinds.FLOAT,
    "Duration": kinds.DURATION,
    "tuple": kinds.STRINGS,
    "Mapping": kinds.SWITCHES,
}


@cache
def members(block: type[Block], path: str = "") -> tuple[Member, ...]:
    """What a block holds, in the order of the schema."""
    found = []
    for name, hint in get_type_hints(block, include_extras=True).items():
        if get_origin(hint) is None and isinstance(hint, type):
            found.append(Member(name, None, hint))
        elif rows := [row for row in getattr(hint, "__metadata__", ()) if isinstance(row, Row)]:
            found.append(Member(name, _field(block, path + name, hint.__origin__, rows[0]), None))
    return tuple(found)


def _field(block: type[Block], path: str, hint: Any, row: Row) -> Field:
    default = getattr(_default_block(block), path.rpartition(".")[2])
    named = (get_origin(hint) or hint).__name__
    return Field(
        path=path,
        kind=row.kind or _KINDS[named],
        default=default,
        meaning=row.meaning,
        when=row.when,
        group=row.group or block.group,
        modes=row.modes or block.modes,
        written=row.written,
        flag=row.flag,
        flag_default=default if row.flag_default is None else row.flag_default,
        beside_file=row.beside_file,
        live=row.live,
    )


@cache
def _default_block(block: type[Block]) -> Block:
    return block()


@cache
def fields() -> tuple[Field, ...]:
    """Every field of the file, in the order of the schema."""
    return tuple(_walk(KubeProxyConfig, ""))


def _walk(block: type[Block], path: str) -> list[Field]:
    found: list[Field] = []
    for member in members(block, path):
        if member.field is not None:
            found.append(member.field)
        elif member.block is not None:
            found += _walk(member.block, f"{path}{member.name}.")
    return found


def value_at(config: KubeProxyConfig, path: str) -> Any:
    value: Any = config
    for name in path.split("."):
        value = getattr(value, name)
    return value


def with_values(config: KubeProxyConfig, values: dict[str, Any]) -> KubeProxyConfig:
    """The configuration with some fields changed; values by path."""
    for path, value in values.items():
        config = _with(config, path.split("."), value)
    return config


def _with(block: Any, names: list[str], value: Any) -> Any:
    inner = value if len(names) == 1 else _with(getattr(block, names[0]), names[1:], value)
    return replace(block, **{names[0]: inner})
