"""A file's bytes → its documents, lists taken apart; what cannot be read is a Fault, never an exception."""

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproxy.sources.notice import shown
from kubeproxy.sources.yamltext import Part, YamlError, parts, values

_LISTS_REMEDY: Final = "write a list of objects below items, each after a dash"
_MAPPING_REMEDY: Final = "a document begins with apiVersion: and kind:"
_NO_CONSTANT: Final = "not a JSON number"


class Document(Struct, frozen=True, gc=False):
    """One object as it stands in the file. `path` is where in the document: `items[2]` of a List."""

    number: int
    path: str
    raw: dict[str, Any]


class Fault(Struct, frozen=True, gc=False):
    """Something wrong with a document. An unreadable one may have held any object."""

    number: int
    field: str
    value: str
    problem: str
    remedy: str
    unreadable: bool = False


def documents(name: str, data: bytes) -> Iterator[Document | Fault]:
    """Everything in a file, in order. Empty documents do not count."""
    try:
        text = _text(data)
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} does not belong into {error.encoding.upper()}"
        there = repr(error.object[error.start : error.start + 4])
        yield Fault(0, "", shown(there), problem, "save it as UTF-8", True)
        return
    number = 0
    for found in _json(text) if name.endswith(".json") else _yaml(text):
        if found is None:
            continue
        number += 1
        if isinstance(found, Fault):
            yield msgspec.structs.replace(found, number=number)
        elif isinstance(found, dict):
            yield from _flat(number, "", found)
        else:
            problem = "not a Kubernetes object: it is not a mapping"
            yield Fault(number, "", shown(found), problem, _MAPPING_REMEDY, True)


def _text(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


def _yaml(text: str) -> Iterator[Any]:
    for part in parts(text):
        if part.text.lstrip()[:1] == "{":
            # What machines write is often JSON, which is YAML too, but far quicker to read as JSON.
            try:
                yield msgspec.json.decode(part.text)
                continue
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                pass
        yield from _yaml_part(part)


def _yaml_part(part: Part) -> Iterator[Any]:
    try:
        yield from values(part)
    except YamlError as error:
        yield Fault(0, "", shown(error.text), error.problem, error.remedy, True)


def _json(text: str) -> Iterator[Any]:
    """One JSON value after the other, as several documents in a .json file are written."""
    find_end = json.JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str).raw_decode
    start, end = 0, len(text)
    while start < end:
        while start < end and text[start] in " \t\r\n":
            start += 1
        if start == end:
            return
        try:
            stop = end if start == 0 and _whole(text) else find_end(text, start)[1]
            yield msgspec.json.decode(text[start:stop])
        except (ValueError, RecursionError) as error:
            yield _json_fault(text, error, start)
            return
        start = stop


def _whole(text: str) -> bool:
    """Usually a file is one value; finding its end by reading it twice would be a waste."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant}: {_NO_CONSTANT}")


def _json_fault(text: str, error: Exception, start: int) -> Fault:
    place = error.pos if isinstance(error, json.JSONDecodeError) else start
    begin, line = text.rfind("\n", 0, place) + 1, text.count("\n", 0, place) + 1
    words = "nested too deeply" if isinstance(error, RecursionError) else getattr(error, "msg", str(error))
    there = text[begin : begin + 200].split("\n", 1)[0].strip()
    remedy = "check commas, quotes and brackets there; a file of YAML ends in .yaml"
    return Fault(0, "", shown(there), f"line {line}: not JSON: {words}", remedy, True)


def _flat(number: int, path: str, raw: dict[str, Any]) -> Iterator[Document | Fault]:
    """The object, or those in it if it is a List. What kubectl prints leaves kinds out inside typed lists."""
    kind = raw.get("kind")
    if not (isinstance(kind, str) and kind.endswith("List") and "items" in raw):
        yield Document(number, path, raw)
        return
    items = raw["items"] if raw["items"] is not None else []
    prefix = f"{path}.items" if path else "items"
    if not isinstance(items, list):
        yield Fault(number, prefix, shown(items), "not a list", _LISTS_REMEDY)
        return
    inherited = {"apiVersion": raw.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, item in enumerate(items):
        place = f"{prefix}[{index}]"
        if not isinstance(item, dict):
            yield Fault(number, place, shown(item), "not a mapping", _MAPPING_REMEDY)
        elif kind == "List" or item.get("kind"):
            yield from _flat(number, place, item)
        else:
            yield from _flat(number, place, {**item, **inherited})
