"""The types of values: each knows how a flag and a file spell it, and how it is written back."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.config import filevalue, flagvalue, goliteral
from kubeproxy.config.duration import Duration, NanosecondCount, parse_duration
from kubeproxy.config.filevalue import INT32 as INT32_RANGE
from kubeproxy.config.filevalue import UINT32 as UINT32_RANGE
from kubeproxy.config.filevalue import Plain, VModuleItem
from kubeproxy.config.quantity import canonical_quantity
from kubeproxy.config.release import KUBERNETES_VERSION


class Kind(Struct, frozen=True, kw_only=True):
    """One type. `parse` and `read` raise ValueError with the problem; `remedy` is what to do about it."""

    word: str
    parse: Callable[[str], Any]
    read: Callable[[Plain], Any]
    write: Callable[[Any], Plain] = lambda value: value
    #: a value as the command line would spell it
    show: Callable[[Any], str] = str
    remedy: str
    zero: Any = ""
    #: a flag of this type, given twice, adds to what it said first
    adds: bool = False
    #: what the flag says when it has no value; "" when it must have one
    bare: str = ""
    #: the file may hold null where a value belongs
    takes_null: bool = True
    #: names inside each entry of the list; none: the entries are no mappings
    entry_names: tuple[str, ...] = ()


def _float_plain(value: float) -> Plain:
    return int(value) if value.is_integer() else float(goliteral.float32_text(value))


def _flush_plain(value: Duration) -> Plain:
    return int(value) if isinstance(value, NanosecondCount) else str(value)


def _show_strings(value: Sequence[str]) -> str:
    return f"[{','.join(value)}]"


def _show_switches(value: Mapping[str, bool]) -> str:
    return ",".join(f"{name}={'true' if value[name] else 'false'}" for name in sorted(value))


def _patterns_plain(items: tuple[VModuleItem, ...]) -> Plain:
    return [{"filePattern": item.filePattern, "verbosity": item.verbosity} for item in items]


def _show_patterns(items: tuple[VModuleItem, ...]) -> str:
    return ",".join(f"{item.filePattern}={item.verbosity}" for item in items)


def choice(*choices: str) -> Kind:
    """One of a few words."""
    return Kind(
        word="|".join(choices),
        parse=partial(flagvalue.choice, choices=choices),
        read=filevalue.text,
        remedy=f"write one of {', '.join(choices)}",
    )


STRING: Final = Kind(
    word="string",
    parse=str,
    read=filevalue.text,
    remedy="put the value in quotes: bare numbers, and yes, no, on, off, true and false are not text in YAML",
)
FILE: Final = replace(STRING, word="file")
DIRECTORY: Final = replace(STRING, word="directory")
BOOL: Final = Kind(
    word="bool",
    parse=goliteral.parse_bool,
    read=filevalue.boolean,
    show=lambda value: "true" if value else "false",
    remedy="write true or false, without quotes",
    zero=False,
    bare="true",
)
INT32: Final = Kind(
    word="int",
    parse=partial(goliteral.parse_int, low=INT32_RANGE[0], high=INT32_RANGE[1]),
    read=partial(filevalue.whole, low=INT32_RANGE[0], high=INT32_RANGE[1]),
    remedy="write a whole number of at most 32 bits, without quotes",
    zero=0,
)
VERBOSITY: Final = Kind(
    word="level",
    parse=partial(goliteral.parse_decimal, high=flagvalue.UINT31),
    read=partial(filevalue.whole, low=UINT32_RANGE[0], high=UINT32_RANGE[1]),
    remedy="write a whole number, such as 2",
    zero=0,
)
FLOAT: Final = Kind(
    word="float",
    parse=goliteral.parse_float32,
    read=filevalue.number,
    write=_float_plain,
    show=goliteral.float32_text,
    remedy="write a number, without quotes",
    zero=0.0,
)
DURATION: Final = Kind(
    word="duration",
    parse=parse_duration,
    read=filevalue.duration,
    write=str,
    remedy="write a number with a unit, such as 30s, 1m30s or 500ms; for nothing write 0s",
    zero=Duration(0),
    takes_null=False,
)
FLUSH: Final = Kind(
    word="duration",
    parse=parse_duration,
    read=filevalue.flush_frequency,
    write=_flush_plain,
    remedy="write a number with a unit, such as 5s, or a whole number of nanoseconds",
    zero=Duration(0),
)
STRINGS: Final = Kind(
    word="list",
    parse=goliteral.split_list,
    read=filevalue.strings,
    write=lambda value: list(value) or None,
    show=_show_strings,
    remedy="write a list: each entry on its own line after a dash, in quotes if it looks like a number",
    zero=(),
    adds=True,
)
SWITCHES: Final = Kind(
    word="name=bool,…",
    parse=flagvalue.switches,
    read=filevalue.switches,
    write=lambda value: {name: value[name] for name in sorted(value)},
    show=_show_switches,
    remedy="write name=true or name=false, with commas between; in a file, one name: true a line",
    zero={},
    adds=True,
)
PATTERNS: Final = Kind(
    word="pattern=N,…",
    parse=flagvalue.patterns,
    read=filevalue.patterns,
    write=_patterns_plain,
    show=_show_patterns,
    entry_names=VModuleItem.__struct_fields__,
    remedy="write pattern=level, with commas between; in a file a list of filePattern and verbosity",
    zero=(),
    adds=True,
)
CIDRS: Final = Kind(
    word="list",
    parse=flagvalue.cidrs,
    read=filevalue.strings,
    show=_show_strings,
    remedy="write networks such as 10.96.0.0/12,fd00:10:96::/112",
    zero=(),
    adds=True,
)
QUANTITY: Final = Kind(
    word="quantity",
    parse=canonical_quantity,
    read=filevalue.quantity,
    remedy="write a number of bytes, such as 64Ki or 1M",
    zero="0",
)
IP: Final = Kind(
    word="ip",
    parse=flagvalue.ip,
    read=filevalue.text,
    remedy="write an address such as 192.0.2.10 or 2001:db8::10; a file needs quotes around the IPv6 ones",
)
IP_PORT: Final = Kind(
    word="ip[:port]",
    parse=flagvalue.ip_port,
    read=filevalue.text,
    remedy="write an address with a port, such as 0.0.0.0:10256 or [::]:10256",
)
VERSION: Final = Kind(
    word="true|raw|vX.Y.Z",
    parse=flagvalue.version,
    read=filevalue.text,
    show=lambda value: value or "false",
    remedy=f"write --version alone, --version=raw or --version={KUBERNETES_VERSION}",
    bare="true",
)
