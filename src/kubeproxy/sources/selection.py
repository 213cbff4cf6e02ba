"""Which objects a proxy is sent at all: an API server selects before it sends, and so does a directory."""

from collections.abc import Iterable, Iterator
from typing import Final

from kubeproxy.api.endpointslice import EndpointSlice
from kubeproxy.api.service import Service
from kubeproxy.sources.admit import Entry
from kubeproxy.sources.endpoints import SERVICE_NAME, SKIP_MIRROR, Endpoints
from kubeproxy.sources.notice import Level, Notice

PROXY_NAME: Final = "service.kubernetes.io/service-proxy-name"
HEADLESS: Final = "service.kubernetes.io/headless"


def left_out(entry: Entry) -> Notice | None:
    """Why an entry is not delivered. The labels count by being there, whatever they say."""
    labels = entry.obj.metadata.labels
    if isinstance(entry.obj, Service):
        if PROXY_NAME in labels:
            return _label(
                entry, PROXY_NAME, "left to another proxy", "remove the label to have it proxied here"
            )
        if entry.obj.spec.clusterIP == "None":
            problem = "headless: its clients look up the endpoints, so there is nothing to program"
            return about(entry, "spec.clusterIP", "None", problem, "remove clusterIP to have it proxied")
    elif isinstance(entry.obj, EndpointSlice):
        return _slice_left_out(entry, entry.obj)
    elif isinstance(entry.obj, Endpoints) and labels.get(SKIP_MIRROR) == "true":
        return _label(
            entry, SKIP_MIRROR, "not meant to be made into slices", "remove the label to have it used"
        )
    elif isinstance(entry.obj, Endpoints) and HEADLESS in labels:
        return _label(entry, HEADLESS, "of a headless Service", "remove the label to have it used")
    return None


def _slice_left_out(entry: Entry, found: EndpointSlice) -> Notice | None:
    labels = found.metadata.labels
    if HEADLESS in labels:
        return _label(entry, HEADLESS, "of a headless Service", "remove the label to have it used")
    if not labels.get(SERVICE_NAME):
        problem = "ignored: it does not say which Service it is of"
        return about(
            entry,
            f"metadata.labels[{SERVICE_NAME}]",
            labels.get(SERVICE_NAME, ""),
            problem,
            "add the label with the name of the Service",
            Level.WARNING,
        )
    if found.addressType == "FQDN":
        problem = "ignored: packets cannot be sent to names"
        return about(
            entry, "addressType", "FQDN", problem, "write the addresses, with IPv4 or IPv6", Level.WARNING
        )
    return None


def _label(entry: Entry, label: str, problem: str, remedy: str) -> Notice:
    return about(entry, f"metadata.labels[{label}]", entry.obj.metadata.labels[label], problem, remedy)


def about(
    entry: Entry, field: str, value: str, problem: str, remedy: str, level: Level = Level.INFO
) -> Notice:
    return Notice(level, entry.file, entry.document, entry.ref, field, value, problem, remedy)


def idle(
    services: Iterable[Entry], slices: Iterable[Entry], made: Iterable[EndpointSlice]
) -> Iterator[Notice]:
    """Services without slices and slices without Services: what is missing is often a slip in a name."""
    known = {(entry.ref.namespace, entry.ref.name) for entry in services}
    wanted = [(entry, _service_of(entry.obj)) for entry in slices if isinstance(entry.obj, EndpointSlice)]
    served = {of for _, of in wanted} | {_service_of(found) for found in made}
    for entry in services:
        if not isinstance(entry.obj, Service):
            continue
        if entry.obj.spec.type == "ExternalName":
            problem = "a name for DNS to answer with, so there is nothing to program"
            yield about(entry, "spec.type", "ExternalName", problem, "change the type to have it proxied")
        elif (entry.ref.namespace, entry.ref.name) not in served and entry.obj.spec.clusterIP != "None":
            problem = "no EndpointSlice or Endpoints of it, so connections to it are refused"
            remedy = f"write an EndpointSlice with the label {SERVICE_NAME}: {entry.ref.name}"
            yield about(entry, "", "", problem, remedy)
    for entry, (namespace, name) in wanted:
        if (namespace, name) not in known:
            problem = f"there is no Service {namespace}/{name}"
            remedy = "write the Service, or correct the label"
            yield about(entry, f"metadata.labels[{SERVICE_NAME}]", name, problem, remedy)


def _service_of(found: EndpointSlice) -> tuple[str, str]:
    return found.metadata.namespace, found.metadata.labels.get(SERVICE_NAME, "")
