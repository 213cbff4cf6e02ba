"""One document → the object it holds, checked and with its defaults, or why it is left out."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.api.change import CLUSTER_SCOPED, KubeObject
from kubeproxy.api.decode import VERSIONS, DecodeError, decode_as
from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.meta import Ref
from kubeproxy.api.node import Node
from kubeproxy.api.service import Service
from kubeproxy.api.servicecidr import ServiceCIDR
from kubeproxy.sources.checkothers import check_endpoints, check_node, check_servicecidr, check_slice
from kubeproxy.sources.checkservice import check_service
from kubeproxy.sources.defaults import fill_node, fill_service, fill_slice, in_namespace
from kubeproxy.sources.documents import Document
from kubeproxy.sources.endpoints import Endpoints
from kubeproxy.sources.notice import Level, Notice, shown
from kubeproxy.sources.rules import Wrong

Readable: TypeAlias = KubeObject | Endpoints

_MOST_WRONGS: Final = 5


class Entry(Struct, frozen=True, gc=False):
    """An object and where it stands."""

    file: str
    document: int
    ref: Ref
    obj: Readable


class Refused(Struct, frozen=True, gc=False):
    """What a document is not, in notices; `ref` is whom it would have been, if it says so."""

    ref: Ref | None
    notices: tuple[Notice, ...]


class _Kind(Struct, frozen=True):
    cls: type[Readable]
    versions: tuple[str, ...]
    fill: Callable[[Any], Readable]
    check: Callable[[Any], Iterator[Wrong]]


_KINDS: Final = {
    "Service": _Kind(Service, VERSIONS["Service"], fill_service, check_service),
    "EndpointSlice": _Kind(EndpointSlice, VERSIONS["EndpointSlice"], fill_slice, check_slice),
    "Node": _Kind(Node, VERSIONS["Node"], fill_node, check_node),
    "ServiceCIDR": _Kind(
        ServiceCIDR,
        VERSIONS["ServiceCIDR"],
        lambda found: replace(found, metadata=replace(found.metadata, namespace="")),
        check_servicecidr,
    ),
    "Endpoints": _Kind(
        Endpoints,
        ("v1",),
        lambda found: replace(found, metadata=in_namespace(found.metadata)),
        check_endpoints,
    ),
}

_WORKLOADS: Final = frozenset(
    ("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController")
)


def admit(file: str, document: Document) -> Entry | Refused:
    """The object, or every complaint about it at once, up to a handful."""
    raw = document.raw
    ref = _claimed_ref(raw)
    kind = raw.get("kind")
    known = _KINDS.get(kind) if isinstance(kind, str) else None
    try:
        if known is None or not isinstance(kind, str):
            return Refused(ref, (_unknown(file, document, ref),))
        version = raw.get("apiVersion")
        if version not in known.versions:
            return Refused(ref, (_other_version(file, document, ref, version, known),))
        obj = known.fill(decode_as(known.cls, raw))
    except DecodeError as error:
        return Refused(ref, (_from_error(file, document, ref, error),))
    wrongs = [wrong for wrong, _ in zip(known.check(obj), range(_MOST_WRONGS), strict=False)]
    if wrongs:
        return Refused(ref, tuple(_from_wrong(file, document, ref, wrong) for wrong in wrongs))
    meta = obj.metadata
    # Kinds and namespaces repeat in every object, so one text serves them all.
    return Entry(file, document.number, Ref(kind, meta.namespace, meta.name), obj)


def _claimed_ref(raw: dict[str, Any]) -> Ref | None:
    """Whom the document means, believed only as far as a log line goes."""
    kind, meta = raw.get("kind"), raw.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    if not isinstance(kind, str) or not isinstance(meta, dict) or not isinstance(name, str):
        return None
    namespace = meta.get("namespace") or "default"
    scoped = kind in CLUSTER_SCOPED or kind == "Namespace"
    return Ref(shown(kind), "" if scoped else shown(namespace), shown(name))


def _at(document: Document, field: str) -> str:
    return f"{document.path}.{field}" if document.path and field else document.path or field


def _from_error(file: str, document: Document, ref: Ref | None, error: DecodeError) -> Notice:
    field, value = _at(document, error.field), shown(error.value)
    return Notice(Level.ERROR, file, document.number, ref, field, value, error.problem, error.remedy)


def _from_wrong(file: str, document: Document, ref: Ref | None, wrong: Wrong) -> Notice:
    field, value = _at(document, shown(wrong.field)), shown(wrong.value)
    return Notice(Level.ERROR, file, document.number, ref, field, value, wrong.problem, wrong.remedy)


def _unknown(file: str, document: Document, ref: Ref | None) -> Notice:
    """A kind that is none of ours is no mistake; a document that does not say what it is, is one."""
    kind = document.raw.get("kind")
    field = _at(document, "kind")
    if not isinstance(kind, str) or not kind:
        problem = "the document does not say what it is" if not kind else "the kind is not text"
        remedy = "write one of " + ", ".join(_KINDS)
        return Notice(Level.ERROR, file, document.number, ref, field, shown(kind), problem, remedy)
    problem, remedy = "ignored: a service proxy does not read this kind", "move it elsewhere to silence this"
    if kind in _WORKLOADS:
        problem = "ignored: nothing here runs it or makes endpoints of it"
        remedy = "write an EndpointSlice with the addresses of its pods"
    return Notice(Level.INFO, file, document.number, ref, field, shown(kind), problem, remedy)


def _other_version(file: str, document: Document, ref: Ref | None, version: object, known: _Kind) -> Notice:
    """Another API may have a kind of the same name, such as Knative's Service; that one is only ignored."""
    level, wanted = Level.ERROR, known.versions[0]
    problem, remedy = "not a version that is read here", f"write {wanted}"
    if not version:
        problem = "the version is missing"
    elif isinstance(version, str) and "/" in version and version.split("/")[0] != wanted.split("/")[0]:
        level, problem = Level.INFO, f"ignored: another API's {document.raw['kind']}"
        remedy = f"if {wanted} was meant, write that"
    field = _at(document, "apiVersion")
    return Notice(level, file, document.number, ref, field, shown(version), problem, remedy)
