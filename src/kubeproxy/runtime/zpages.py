"""/flagz and /statusz: how this process was started, and how long it runs; for people, or as an object."""

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kubeproxy.config.release import KUBERNETES_VERSION
from kubeproxy.config.write import yaml_text
from kubeproxy.runtime.http import Answer, Headers, Page, Request
from kubeproxy.runtime.negotiation import MediaRange, accepted
from kubeproxy.runtime.standing import Standing

_GROUP: Final = "config.k8s.io"
_OFFERED: Final = ("application/json", "application/yaml", "text/plain")
_VERSIONS: Final = ("v1beta1", "v1alpha1")
_NOT_FOR_MACHINES: Final = (
    "Warning: This endpoint is not meant to be machine parseable, "
    "has no formatting compatibility guarantees and is for debugging purposes only."
)

#: the fields of the object beside its kind, and the lines of the text
Content = Callable[[], tuple[dict[str, Any], Sequence[tuple[str, str]]]]


def flagz(flags: Mapping[str, str]) -> Page:
    """Every flag and what the command line says of it, which is not what a file says."""
    return _page("Flagz", lambda: ({"flags": dict(flags)}, sorted(flags.items())))


def statusz(
    started: float,
    paths: Sequence[str],
    standing: Standing,
    clock: Callable[[], float] = time.time,
) -> Page:
    """What the configuration file says differently is told as well, while there is something."""

    def content() -> tuple[dict[str, Any], Sequence[tuple[str, str]]]:
        seconds = max(0, int(clock() - started))
        binary = KUBERNETES_VERSION.removeprefix("v")
        emulated = binary.rpartition(".")[0]
        python = f"python{platform.python_version()}"
        record = {
            "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "uptimeSeconds": seconds,
            "goVersion": python,
            "binaryVersion": binary,
            "emulationVersion": emulated,
            "paths": list(paths),
        }
        lines = (
            ("Started", time.strftime("%a %b %e %H:%M:%S UTC %Y", time.gmtime(started))),
            ("Up", f"{seconds // 3600} hr {seconds // 60 % 60:02} min {seconds % 60:02} sec"),
            ("Go version", python),
            ("Binary version", binary),
            ("Emulation version", emulated),
            ("Paths", " ".join(paths)),
        )
        return record | _standing_fields(standing), (*lines, *_standing_lines(standing))

    return _page("Statusz", content)


def _standing_fields(standing: Standing) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if standing.pending:
        fields["pendingConfig"] = [
            {"field": one.field, "running": one.before, "file": one.after} for one in standing.pending
        ]
    if standing.problem:
        fields["configProblem"] = standing.problem
    return fields


def _standing_lines(standing: Standing) -> list[tuple[str, str]]:
    lines = [("Pending config", str(one)) for one in standing.pending]
    return [*lines, ("Config problem", standing.problem)] if standing.problem else lines


def _page(kind: str, content: Content) -> Page:
    async def answer(request: Request) -> Answer:
        for media in accepted(request.headers.get("accept", "")) or [MediaRange("*/*", {})]:
            if media.type in ("*/*", "text/*", "text/plain"):
                return _text(kind, content()[1])
            if media.type in _OFFERED and _names(media, kind):
                return _object(kind, media, content()[0])
        return _refused()

    return answer


def _names(media: MediaRange, kind: str) -> bool:
    asked = media.parameters
    return asked.get("g") == _GROUP and asked.get("v") in _VERSIONS and asked.get("as") == kind


def _text(kind: str, lines: Sequence[tuple[str, str]]) -> Answer:
    # People's eyes: a long list starts at once, a short table after a blank line.
    separator = "\n" if kind == "Statusz" else ""
    data = "".join(f"{name}: {value}\n" for name, value in lines)
    body = f"\nkube-proxy {kind.lower()}\n{_NOT_FOR_MACHINES}\n{separator}{data}"
    return Answer(200, body.encode(), (("Content-Type", "text/plain; charset=utf-8"),))


def _object(kind: str, media: MediaRange, fields: dict[str, Any]) -> Answer:
    version = media.parameters["v"]
    record = {"kind": kind, "apiVersion": f"{_GROUP}/{version}", "metadata": {"name": "kube-proxy"}} | fields
    headers: Headers = (("Content-Type", f"{media.type};g={_GROUP};v={version};as={kind}"),)
    if version != _VERSIONS[0]:
        said = f"This version of the {kind.lower()} endpoint is deprecated. Please use a newer version."
        headers = (*headers, ("Warning", f'299 - "{said}"'))
    written = yaml_text(record) if media.type == "application/yaml" else json.dumps(record, indent=2)
    return Answer(200, written.encode(), headers)


def _refused() -> Answer:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"only the following media types are accepted: {', '.join(_OFFERED)}",
        "reason": "NotAcceptable",
        "code": 406,
    }
    return Answer(406, json.dumps(status, indent=2).encode(), (("Content-Type", "application/json"),))
