"""YAML text → plain values, read the way kubectl reads it and not the way YAML 1.1 would.

The scanner is the C library's; what its events mean is decided here, because PyYAML's own answers surprise
people who write manifests: `20:30` would be 1230, `2024-01-01` a date, the key `on` the truth, a repeated key
silently the last one, and nine lines of aliases four billion entries.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

import yaml
from msgspec import Struct

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MARKER: Final = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_INTEGER: Final = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|0|[1-9][0-9_]*)\Z", re.ASCII
)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_TRUTH: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_WORDS: Final[dict[str, bool | None]] = {
    **{spelt: truth for word, truth in _TRUTH.items() for spelt in (word, word.capitalize(), word.upper())},
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_STANDARD: Final = "tag:yaml.org,2002:"
_TYPES: Final[dict[str, type | None]] = {"int": int, "float": float, "bool": bool, "null": type(None)}

DEEPEST: Final = 64
MOST_ALIASED: Final = 200_000
_LONGEST_NUMBER: Final = 40

_NO_TABS: Final = "indent with spaces: YAML allows no tabs there"
_ADVICE: Final = (
    ("mapping values are not allowed", "check the indentation, or put the text with the colon in quotes"),
    ("could not find expected ':'", "add the missing colon, or check the indentation"),
    ("control characters", "remove the character, or write it in double quotes as an escape such as \\x07"),
    ("cannot start any token", "put the text in quotes"),
)
_ANY_ADVICE: Final = "check indentation, colons, brackets and quotes there"


class Part(Struct, frozen=True, gc=False):
    """The text from one `---` line to the next: a broken document leaves its neighbours readable.

    `line` is where it begins in the file, counted from 1.
    """

    line: int
    text: str


class YamlError(ValueError):
    """`text` is the line itself, because people search for what they wrote and not for a number."""

    def __init__(self, part: Part, line: int, problem: str, remedy: str) -> None:
        self.line = part.line + line
        self.text = _line(part, line).strip() or part.text.strip().rpartition("\n")[2].strip()
        self.problem = f"line {self.line}: {problem}"
        self.remedy = remedy
        super().__init__(self.problem)


def parts(text: str) -> Iterator[Part]:
    """The parts of a text; what only introduces a document (comments, %YAML) stays with it."""
    starts = [found.start() for found in _MARKER.finditer(text) if found.start()]
    line, begin = 1, 0
    for end in starts:
        piece = text[begin:end]
        if _introduces(piece):
            continue
        yield Part(line, piece)
        line += piece.count("\n")
        begin = end
    yield Part(line, text[begin:])


def _introduces(piece: str) -> bool:
    if piece.startswith("---"):
        return False
    return all(not line or line[0] in "#%" for line in map(str.strip, piece.splitlines()))


def values(part: Part) -> Iterator[Any]:
    """Every document of a part, as dict with text keys, list, str, int, float, bool and None."""
    loader = None
    try:
        loader = _LOADER(part.text)
        builder = _Builder(part)
        while loader.check_event():
            event = loader.get_event()
            if isinstance(event, yaml.DocumentStartEvent):
                builder = _Builder(part)
            elif isinstance(event, yaml.DocumentEndEvent):
                yield builder.root
            else:
                builder.take(event)
    except yaml.YAMLError as error:
        raise _scanner_error(error, part) from error
    finally:
        if loader is not None:
            loader.dispose()


class _Frame:
    """A list or mapping that is still being filled."""

    __slots__ = ("anchor", "key", "merged", "size", "target")

    def __init__(self, target: dict[str, Any] | list[Any], anchor: str | None, size: int) -> None:
        self.target = target
        self.anchor = anchor
        self.size = size
        self.key: str | None = None
        self.merged: list[Any] = []


_MERGE: Final = "\0<<"


class _Builder:
    """Events of one document → its value."""

    def __init__(self, part: Part) -> None:
        self.root: Any = None
        self._part = part
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._size = 0
        self._aliased = 0

    def take(self, event: yaml.Event) -> None:
        step = _STEPS.get(type(event))
        if step is not None:
            step(self, event)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._size += 1
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.key is None and isinstance(frame.target, dict):
            self._key(frame, event)
            value: Any = event.value
        else:
            value = self._meaning(event)
            self._put(value)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)

    def _key(self, frame: _Frame, event: yaml.ScalarEvent) -> None:
        if event.value == "<<" and event.implicit[0]:
            frame.key = _MERGE
        elif event.value in frame.target:
            raise self._error(event, f"{event.value!r} appears twice in one mapping", "remove one of them")
        else:
            frame.key = event.value

    def _meaning(self, event: yaml.ScalarEvent) -> Any:
        tag = event.tag
        if tag is None:
            return _plain(event.value) if event.implicit[0] else event.value
        if tag in ("!", f"{_STANDARD}str"):
            return event.value
        wanted = _TYPES.get(tag.removeprefix(_STANDARD))
        value = _plain(event.value)
        if wanted is None or type(value) is not wanted:
            raise self._error(event, f"the tag {tag} cannot be read here", "write the value without a tag")
        return value

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._anchors:
            raise self._error(event, f"no anchor &{event.anchor} before this alias", "write the value out")
        value, size = self._anchors[event.anchor]
        self._aliased += size
        self._size += size
        if self._aliased > MOST_ALIASED:
            problem = f"aliases stand for more than {MOST_ALIASED} values"
            raise self._error(event, problem, "write the values out, or split the document")
        if self._frames and self._frames[-1].key is None and isinstance(self._frames[-1].target, dict):
            raise self._error(event, "an alias as the name of a field", "write the name out")
        self._put(value)

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if len(self._frames) >= DEEPEST:
            raise self._error(event, f"nested deeper than {DEEPEST} levels", "remove the nesting")
        if self._frames and self._frames[-1].key is None and isinstance(self._frames[-1].target, dict):
            raise self._error(
                event, "the name of a field is a list or a mapping", "a name is text; check the brackets"
            )
        mapping = isinstance(event, yaml.MappingStartEvent)
        allowed = (None, "!", f"{_STANDARD}{'map' if mapping else 'seq'}")
        if event.tag not in allowed:
            raise self._error(event, f"the tag {event.tag} cannot be read here", "remove the tag")
        self._size += 1
        self._frames.append(_Frame({} if mapping else [], event.anchor, self._size))

    def _close(self, event: yaml.MappingEndEvent | yaml.SequenceEndEvent) -> None:
        frame = self._frames.pop()
        for merged in frame.merged:
            self._merge(frame.target, merged, event)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.target, self._size - frame.size + 1)
        self._put(frame.target)

    def _merge(self, target: Any, merged: Any, event: yaml.Event) -> None:
        """`<<: *defaults`: fields written here win, then the first mapping of several."""
        for mapping in merged if isinstance(merged, list) else [merged]:
            if not isinstance(mapping, dict):
                raise self._error(event, "<< needs a mapping, or a list of mappings", "write the fields out")
            for key, value in mapping.items():
                target.setdefault(key, value)

    def _put(self, value: Any) -> None:
        if not self._frames:
            self.root = value
            return
        frame = self._frames[-1]
        if isinstance(frame.target, list):
            frame.target.append(value)
        elif frame.key == _MERGE:
            frame.merged.append(value)
        elif frame.key is not None:
            frame.target[frame.key] = value
        frame.key = None

    def _error(self, event: yaml.Event, problem: str, remedy: str) -> YamlError:
        mark = event.start_mark
        return YamlError(self._part, mark.line if mark is not None else 0, problem, remedy)


_STEPS: Final[dict[type, Callable[[_Builder, Any], None]]] = {
    yaml.ScalarEvent: _Builder._scalar,
    yaml.AliasEvent: _Builder._alias,
    yaml.MappingStartEvent: _Builder._open,
    yaml.SequenceStartEvent: _Builder._open,
    yaml.MappingEndEvent: _Builder._close,
    yaml.SequenceEndEvent: _Builder._close,
}


@lru_cache(maxsize=4096)
def _plain(text: str) -> Any:
    """What an unquoted scalar means. Clocks, dates and base 60 are text, as for the API server."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _LONGEST_NUMBER:
        return text
    try:
        if _INTEGER.match(text):
            return _integer(text.replace("_", ""))
        return float(text) if _FLOAT.match(text) else text
    except ValueError:
        return text


def _integer(text: str) -> int:
    """A leading zero means octal in YAML 1.1, and kubectl keeps to that."""
    digits = text.lstrip("+-").lower()
    if digits.startswith(("0x", "0b", "0o")):
        return int(text, 0)
    return int(text, 8 if len(digits) > 1 and digits[0] == "0" else 10)


def _scanner_error(error: yaml.YAMLError, part: Part) -> YamlError:
    mark = getattr(error, "problem_mark", None)
    line = mark.line if mark is not None else part.text.count("\n", 0, getattr(error, "position", None) or 0)
    told = [getattr(error, name, None) for name in ("problem", "reason", "context")]
    sentence = " ".join(["not YAML:", *(words for words in told if words)])
    remedy = next((advice for sign, advice in _ADVICE if sign in sentence), _ANY_ADVICE)
    raw = _line(part, line)
    if "\t" in raw[: len(raw) - len(raw.lstrip())]:
        remedy = _NO_TABS
    return YamlError(part, line, sentence, remedy)


def _line(part: Part, number: int) -> str:
    lines = part.text.split("\n", number + 1)
    return lines[number] if number < len(lines) else ""
