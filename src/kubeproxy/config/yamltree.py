"""YAML or JSON text → plain values, with what a plain value cannot say: lines, and names given twice.

The event stream is read directly because the usual loaders differ from Go's in what a bare word means
(`1:30`, `0o17`, `y`), and because they silently keep the last of two equal names.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from kubeproxy.config.filevalue import Plain
from kubeproxy.config.yamlscalar import plain_value

_DEEPEST: Final = 50
_LARGEST: Final = 100_000
_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = "<<"


class Tree(Struct, frozen=True):
    """A document, and by path the line on which each name stands."""

    root: Plain
    lines: dict[str, int]
    repeated: tuple[str, ...]


class UnreadableText(Exception):
    """The text is not YAML; `line` counts from 1, 0 when there is none to name."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(line, problem)
        self.line = line
        self.problem = problem


def read_tree(text: str) -> Tree:
    """The first document of the text; what follows it is not even looked at."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        reader = _Reader(yaml.parse(text.removeprefix("\ufeff"), Loader=loader))
        return reader.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        raise UnreadableText(mark.line + 1 if mark else 0, said) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise UnreadableText(0, "there are characters in it that no text has") from error


class _Reader:
    """Builds plain values out of the events of one document."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, Plain] = {}
        self._lines: dict[str, int] = {}
        self._repeated: list[str] = []
        self._count = 0

    def document(self) -> Tree:
        for event in self._events:
            if type(event).__name__ == "DocumentStartEvent":
                return Tree(self._node(next(self._events), "", 0), self._lines, tuple(self._repeated))
        return Tree(None, {}, ())

    def _node(self, event: Any, path: str, depth: int) -> Plain:
        self._count += 1
        line = event.start_mark.line + 1
        if depth > _DEEPEST or self._count > _LARGEST:
            raise UnreadableText(line, "nested too deeply, or too long")
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._alias(event.anchor, line)
        if event.anchor:
            self._anchors.pop(event.anchor, None)
        if kind == "ScalarEvent":
            value = _scalar(event, line)
        elif kind == "SequenceStartEvent":
            value = self._sequence(path, depth)
        else:
            value = self._mapping(path, depth)
        if event.anchor:
            self._anchors[event.anchor] = value
        return value

    def _alias(self, anchor: str, line: int) -> Plain:
        # An anchor is known only after its end, so one that holds itself is unknown here too.
        if anchor not in self._anchors:
            raise UnreadableText(line, f"unknown anchor '{anchor}'")
        return self._anchors[anchor]

    def _sequence(self, path: str, depth: int) -> list[Plain]:
        values: list[Plain] = []
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            entry = f"{path}[{len(values)}]"
            self._lines[entry] = event.start_mark.line + 1
            values.append(self._node(event, entry, depth + 1))
        return values

    def _mapping(self, path: str, depth: int) -> dict[str, Plain]:
        values: dict[str, Plain] = {}
        merged: dict[str, Plain] = {}
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            line = event.start_mark.line + 1
            merges = type(event).__name__ == "ScalarEvent" and event.implicit[0] and event.value == _MERGE
            name = _name(self._node(event, path, depth + 1), line)
            field = f"{path}.{name}" if path else name
            if name in values and not merges:
                self._repeated.append(field)
            self._lines[field] = line
            value = self._node(next(self._events), field, depth + 1)
            if merges:
                merged = _merge(value, line) | merged
            else:
                values[name] = value
        return merged | values


def _scalar(event: Any, line: int) -> Plain:
    text: str = event.value
    if event.implicit[0]:
        return plain_value(text)
    tag = event.tag or ""
    if tag in (_TAG + "int", _TAG + "float", _TAG + "bool", _TAG + "null"):
        value = plain_value(text)
        if isinstance(value, str):
            raise UnreadableText(line, f"{text!r} is not what its tag !!{tag.removeprefix(_TAG)} says")
        return value
    return text


def _name(value: Plain, line: int) -> str:
    """A name as JSON would have it: text, whatever YAML took it for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise UnreadableText(line, "a name in a mapping must be text")


def _merge(value: Plain, line: int) -> dict[str, Plain]:
    """What `<<` brings in; the first mapping that has a name wins."""
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, dict) for part in parts):
        raise UnreadableText(line, "'<<' must be followed by a mapping, or a list of mappings")
    return {name: part[name] for part in reversed(parts) for name in part}
