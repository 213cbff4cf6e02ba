"""A log line as klog writes it: as text for people, as JSON for programs."""

import json
import os
import time
from pathlib import PurePath
from typing import Final

from msgspec import Struct

from kubeproxy.config.goliteral import escaped

_PID: Final = f"{os.getpid():7d}"


class Entry(Struct, frozen=True):
    """What is to be said, by whom, and how important it is."""

    #: I, W or E
    level: str
    message: str
    keys: dict[str, object]
    #: the verbosity at which it is said
    v: int
    #: seconds since 1970
    moment: float
    #: path of the source file, and the line in it
    file: str
    line: int
    #: the message is a whole line that scripts read: no quotes around it
    bare: bool = False


def text_line(entry: Entry) -> str:
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(entry.moment))
    head = f"{entry.level}{stamp}.{int(entry.moment % 1 * 1e6):06d} {_PID}"
    message = entry.message if entry.bare else escaped(entry.message)
    said = f"{head} {PurePath(entry.file).name}:{entry.line}] {message}"
    return said + "".join(f" {key}={_text(value)}" for key, value in entry.keys.items())


def json_line(entry: Entry) -> str:
    file = "/".join(PurePath(entry.file).parts[-2:])
    record: dict[str, object] = {
        "ts": round(entry.moment * 1000, 3),
        "caller": f"{file}:{entry.line}",
        "msg": entry.message,
    }
    if entry.level != "E":
        record["v"] = entry.v
    if entry.level == "W":
        record["level"] = "warning"
    record |= {key: _plain(value) for key, value in entry.keys.items()}
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def _text(value: object) -> str:
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, list | tuple | set | frozenset):
        return json.dumps([str(item) for item in value], ensure_ascii=False, separators=(",", ":"))
    text = str(value)
    if "\n" not in text:
        return escaped(text)
    indented = "\n".join(f"\t{line}" for line in text.rstrip("\n").split("\n"))
    return f"<\n{indented}\n >"


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value)
