"""Manifests as dictionaries, with everything in place that a test is not about."""

import json
from pathlib import Path
from typing import Any

from kubeproxy.api.change import Change, Delete, KubeObject, Synced, Upsert, ref_of
from kubeproxy.sources.notice import Notice, Reading


def service(
    name: str = "cart", namespace: str | None = "shop", meta: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """A Service with one port and a cluster IP, unless told otherwise; a value of ... takes a field away."""
    fields = {"clusterIP": "10.96.0.10", "ports": [{"port": 80}], **spec}
    metadata = {"name": name, **({"namespace": namespace} if namespace is not None else {}), **(meta or {})}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {key: value for key, value in fields.items() if value is not ...},
    }


def slice_of(
    of: str = "cart", name: str | None = None, namespace: str = "shop", **fields: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name or f"{of}-1",
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": of},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.244.0.5"]}],
        "ports": [{"port": 8080}],
        **fields,
    }


def write(directory: Path, name: str, *objects: Any) -> Path:
    """A YAML file with a document for each object; text is written as it is."""
    path = directory / name
    texts = [found if isinstance(found, str) else json.dumps(found) for found in objects]
    path.write_text("\n---\n".join(texts) + "\n")
    return path


def upserts(changes: Reading | tuple[Change, ...]) -> dict[str, KubeObject]:
    found = changes.changes if isinstance(changes, Reading) else changes
    return {str(ref_of(change.obj)): change.obj for change in found if isinstance(change, Upsert)}


def deletes(reading: Reading) -> list[str]:
    return sorted(str(change.ref) for change in reading.changes if isinstance(change, Delete))


def synced(reading: Reading) -> list[str]:
    return [change.kind for change in reading.changes if isinstance(change, Synced)]


def about(reading: Reading, file: str) -> list[Notice]:
    return [notice for notice in reading.notices if notice.file == file]
