"""What a server says of an object → a Change, or why it is none."""

import re
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct

from kubeproxy.api.change import KINDS, Delete, KubeObject, Upsert
from kubeproxy.api.decode import DecodeError, decode_as
from kubeproxy.api.meta import Ref
from kubeproxy.sources.apiserver.lines import TooLong
from kubeproxy.sources.apiserver.refusal import Status
from kubeproxy.sources.apiserver.resources import Resource
from kubeproxy.sources.http.failure import Nonsense

INITIAL_END: Final = "k8s.io/initial-events-end"
_START: Final = re.compile(
    rb'"metadata":\s*\{\s*"name":\s*"(?P<name>[^"\\]+)"(?:\s*,\s*"namespace":\s*"(?P<namespace>[^"\\]+)")?'
)
_NOT_JSON: Final = "see what stands between here and the API server; the list is asked for again"
_SHRINK: Final = "make the object smaller: an API server does not store one of this size"


class Put(Struct, frozen=True, gc=False):
    """An object as it is now."""

    change: Upsert
    version: str


class Gone(Struct, frozen=True, gc=False):
    """An object that is no longer there, or no longer wanted."""

    change: Delete
    version: str


class Mark(Struct, frozen=True, gc=False):
    """Where we are, without an object; `whole` says that this was everything there was at the start."""

    version: str
    whole: bool


class Ended(Struct, frozen=True, gc=False):
    """The server gives this watch up."""

    status: Status


class Unusable(Struct, frozen=True, gc=False):
    """Something was said about an object, which is not usable; `ref` where at least that can be told."""

    ref: Ref | None
    version: str
    field: str
    value: object
    problem: str
    remedy: str


Event: TypeAlias = Put | Gone | Mark | Ended | Unusable


class _Line(Struct, frozen=True, gc=False):
    type: str
    object: Raw


class _Meta(Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    resourceVersion: str = ""
    annotations: dict[str, str] | None = None


class _Bare(Struct, frozen=True, gc=False):
    """Of an object only what names it."""

    metadata: _Meta = _Meta()


_LINE: Final = msgspec.json.Decoder(_Line)
_BARE: Final = msgspec.json.Decoder(_Bare)
_STATUS: Final = msgspec.json.Decoder(Status)


def read_line(resource: Resource, line: bytes | TooLong) -> Event:
    """One line of a watch; Nonsense when it is not even that."""
    if isinstance(line, TooLong):
        return _too_long(resource, line)
    try:
        said = _LINE.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Nonsense(f"a watch of {resource.name} says what is no event: {error}", _NOT_JSON) from error
    if said.type in ("ADDED", "MODIFIED"):
        return read_object(resource, said.object)
    bare = _bare(said.object)
    if said.type == "DELETED":
        return Gone(Delete(_ref(resource, bare.metadata)), bare.metadata.resourceVersion)
    if said.type == "BOOKMARK":
        whole = (bare.metadata.annotations or {}).get(INITIAL_END) == "true"
        return Mark(bare.metadata.resourceVersion, whole)
    if said.type == "ERROR":
        return Ended(_ended(said.object))
    raise Nonsense(f"a watch of {resource.name} says {said.type[:40]!r}", _NOT_JSON)


def read_object(resource: Resource, raw: Raw | bytes) -> Put | Unusable:
    """One object, of a watch or of a list."""
    kind: type[KubeObject] = KINDS[resource.kind]
    try:
        obj = decode_as(kind, bytes(raw))
    except DecodeError as error:
        meta = _bare(raw).metadata
        ref = _ref(resource, meta) if meta.name else None
        return Unusable(ref, meta.resourceVersion, error.field, error.value, error.problem, error.remedy)
    return Put(Upsert(obj), obj.metadata.resourceVersion)


def _too_long(resource: Resource, line: TooLong) -> Unusable:
    found = _START.search(line.start)
    ref = None
    if found is not None:
        namespace = (found["namespace"] or b"").decode(errors="replace")
        ref = Ref(resource.kind, namespace, found["name"].decode(errors="replace"))
    return Unusable(ref, "", "", None, "too large to be an object of an API server", _SHRINK)


def _bare(raw: Raw | bytes) -> _Bare:
    try:
        return _BARE.decode(bytes(raw))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _Bare()


def _ended(raw: Raw) -> Status:
    try:
        return _STATUS.decode(bytes(raw))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Status(message="an error that it does not explain")


def _ref(resource: Resource, meta: _Meta) -> Ref:
    return Ref(resource.kind, meta.namespace if resource.namespaced else "", meta.name)
