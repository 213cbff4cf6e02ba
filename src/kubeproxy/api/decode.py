"""JSON bytes, or what a YAML reader made of a document → a kind, or an error that names the field.

Decoding checks only shape: that a port is a number. Whether it is a sensible one is somebody else's question.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from kubeproxy.api.change import KINDS, KubeObject

T = TypeVar("T")


class TypeMeta(Struct, frozen=True, gc=False):
    """Enough of an object to know what it is."""

    apiVersion: str = ""
    kind: str = ""


class DecodeError(ValueError):
    """`field` is a dotted path from the top of the object; `value` is what stood there: None, nothing did."""

    def __init__(self, field: str, value: object, problem: str, remedy: str) -> None:
        super().__init__(f"{field or 'object'}: {problem}")
        self.field = field
        self.value = value
        self.problem = problem
        self.remedy = remedy


VERSIONS: Final[dict[str, tuple[str, ...]]] = {
    "Service": ("v1",),
    "Node": ("v1",),
    "EndpointSlice": ("discovery.k8s.io/v1",),
    "ServiceCIDR": ("networking.k8s.io/v1", "networking.k8s.io/v1beta1"),
}

_REMEDIES: Final = {
    "int": "write a whole number, without quotes",
    "str": "put the value in quotes: bare numbers, and yes, no, on, off, true and false are not text in YAML",
    "bool": "write true or false, without quotes",
    "array": "write a list: each entry on its own line, after a dash",
    "object": "write a mapping: name: value, indented below the field",
}
_ALTERNATIVES: Final = {"int | str | null": "write a port number, or the name of a container port"}

_FIELD: Final = re.compile(r" - at (?:`key` in )?`\$(?P<path>[^`]*)`\Z")
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>\w+)`")
_EXPECTED: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`")
_STEP: Final = re.compile(r"\.([\w-]+)|\[(\d+|\.\.\.)\]")


def decode(source: bytes | Mapping[str, Any]) -> KubeObject:
    """Any of the four kinds, by its own `apiVersion` and `kind`."""
    raw = tree(source) if isinstance(source, bytes) else source
    if not isinstance(raw, Mapping):
        raise DecodeError(
            "", raw, f"a Kubernetes object is a mapping, not {_json_name(raw)}", _REMEDIES["object"]
        )
    return decode_as(known_kind(raw), raw)


def known_kind(raw: Mapping[str, Any]) -> type[KubeObject]:
    """The class for a raw object, or an error that says which versions are read."""
    kind, version = raw.get("kind"), raw.get("apiVersion")
    if not isinstance(kind, str) or kind not in KINDS:
        problem = "the object does not say what it is" if kind is None else "not a kind that is read here"
        raise DecodeError("kind", kind, problem, f"write one of {', '.join(KINDS)}")
    if version not in VERSIONS[kind]:
        problem = (
            "the version is missing" if version is None else f"not a version of {kind} that is read here"
        )
        raise DecodeError("apiVersion", version, problem, f"write {VERSIONS[kind][0]}")
    return KINDS[kind]


def decode_as(cls: type[T], source: bytes | Mapping[str, Any]) -> T:
    """One object of a class that the caller knows.

    Go writes `null` for an empty list or struct and reads it as absent. That is rare, and looking for it in
    every object would cost all of them: so only an object that does not fit is read again without its nulls.
    """
    try:
        if isinstance(source, bytes):
            return msgspec.json.decode(source, type=cls)
        return msgspec.convert(source, cls)
    except RecursionError as error:
        raise _too_deep() from error
    except (msgspec.DecodeError, UnicodeError):
        pass
    raw = tree(source) if isinstance(source, bytes) else source
    try:
        bare = without_nulls(raw)
        return msgspec.convert(bare, cls)
    except msgspec.ValidationError as error:
        raise _named(error, bare) from error
    except RecursionError as error:
        raise _too_deep() from error


def tree(data: bytes) -> Any:
    """JSON as plain values."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise DecodeError(
            "", None, f"not JSON: {error}", "compare it with the output of kubectl get -o json"
        ) from error
    except RecursionError as error:
        raise _too_deep() from error


_TEXT_MAPS: Final = frozenset({"labels", "annotations", "selector"})


def without_nulls(raw: Any) -> Any:
    """As Go reads null: the field is not there; but a label without a value is there, and empty."""
    if isinstance(raw, Mapping):
        return {
            key: _empty_texts(value) if key in _TEXT_MAPS else without_nulls(value)
            for key, value in raw.items()
            if value is not None
        }
    if isinstance(raw, list):
        return [without_nulls(value) for value in raw]
    return raw


def _empty_texts(raw: Any) -> Any:
    if isinstance(raw, Mapping):
        return {key: "" if value is None else value for key, value in raw.items()}
    return raw


def _too_deep() -> DecodeError:
    return DecodeError(
        "",
        None,
        "nested too deeply",
        "remove the nesting: no Kubernetes object is deeper than a dozen levels",
    )


def _named(error: msgspec.ValidationError, raw: Any) -> DecodeError:
    """The error in our words: the last word of a message is a path such as `$.spec.ports[0]`."""
    message = str(error)
    found = _FIELD.search(message)
    path = found["path"] if found else ""
    missing = _MISSING.search(message)
    if missing:
        field = f"{path}.{missing['name']}".lstrip(".")
        return DecodeError(field, None, "required, and missing", f"add {missing['name']}")
    wanted = _EXPECTED.search(message)
    expected = wanted["wanted"] if wanted else ""
    field, value = _walk(raw, path, expected)
    if " at `key` in " in message:
        return DecodeError(
            field, None, "a name in this mapping is not text", "put the name before the colon in quotes"
        )
    remedy = _ALTERNATIVES.get(expected) or _REMEDIES.get(
        expected.split(" | ")[0], "see kubectl explain for this field"
    )
    return DecodeError(field, value, f"expected {_english(expected)}, found {_json_name(value)}", remedy)


def _walk(raw: Any, path: str, expected: str) -> tuple[str, Any]:
    """The value at a path, whose `[...]` is some entry of a mapping: the first of an unexpected type."""
    field, value = "", raw
    for name, index in _STEP.findall(path):
        if name:
            field, value = f"{field}.{name}", value.get(name) if isinstance(value, Mapping) else None
        elif index != "...":
            field, value = f"{field}[{index}]", value[int(index)] if isinstance(value, list) else None
        elif isinstance(value, Mapping):
            wrong = [(k, v) for k, v in value.items() if _json_name(v) not in (_english(expected), "nothing")]
            key, value = wrong[0] if wrong else ("?", None)
            field = f"{field}[{key}]"
        else:
            field, value = f"{field}[...]", None
    return field.lstrip("."), value


_ENGLISH: Final = {
    "str": "text",
    "int": "a whole number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
}
_NAMES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number with a fraction"),
    (str, "text"),
    (list, "a list"),
    (Mapping, "a mapping"),
    (type(None), "nothing"),
)


def _english(expected: str) -> str:
    return " or ".join(_ENGLISH.get(part, part) for part in expected.split(" | ") if part != "null")


def _json_name(value: object) -> str:
    return next((name for cls, name in _NAMES if isinstance(value, cls)), type(value).__name__)
