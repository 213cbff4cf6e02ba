"""The rules of the house, as functions from source text to complaints.

They take text and not files, so that `test_house.py` can show each of them a bad sample:
a rule that nothing can break protects nothing.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

# A folder imports only folders of a later row. Folders of one row do not know each other.
ORDER = (
    ("cli",),
    ("runtime",),
    ("sources", "kernel"),
    ("backends",),
    ("packets",),
    ("routes",),
    ("model",),
    ("config",),
    ("api", "wire"),
)
# Narrower than the order allows: the hands must not know Kubernetes, nor the sources a dialect.
NARROWER = {"kernel": {"wire"}, "sources": {"api", "config"}}
# Where a library of others may be imported. What is not in this table, nobody may import.
LIBRARIES = {
    "msgspec": {name for row in ORDER for name in row},
    "yaml": {"api", "config", "sources", "cli"},
    "watchfiles": {"sources", "runtime"},
    "rich": {"cli"},  # only for people; the daemon must not pay for it
}
PURE = ("backends", "packets", "routes", "model", "config", "api", "wire")

# Modules of the standard library and of others that touch no socket, file, process, clock, thread,
# log or random number. A folder marked pure imports nothing else.
PURE_MODULES = frozenset(
    {"__future__", "abc", "array", "base64", "binascii", "bisect", "collections", "contextlib", "copy"}
    | {"decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "ipaddress", "itertools"}
    | {"json", "math", "operator", "re", "shlex", "string", "struct", "textwrap", "types", "typing"}
    | {"unicodedata", "zlib", "msgspec", "yaml"}
)
# Modules of which only some names are pure.
PURE_NAMES = {
    "datetime": {"UTC", "date", "datetime", "timedelta", "timezone"},
    "pathlib": {"PurePath", "PurePosixPath"},
    "sys": {"byteorder", "intern", "maxsize"},
}
IMPURE_CALLS = frozenset({"open", "print", "input", "exec", "eval", "__import__", "breakpoint"})
IMPURE_METHODS = frozenset(
    {"now", "today", "utcnow", "read_text", "read_bytes", "write_text", "write_bytes", "is_file", "is_dir"}
    | {"iterdir", "rglob", "mkdir", "unlink", "rmdir", "touch", "chmod", "symlink_to", "readlink"}
)
ASYNCHRONOUS = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)

VAGUE = re.compile(r"(^|_)(utils?|helpers?|common|managers?|misc|stuff)(_|$)")
OURS = re.compile(r"kubeproxy(\.\w+)+")
FILE_LINES, FUNCTION_LINES = 400, 60
# Spelled in pieces, so that this file does not complain about itself.
MACHINE_PATHS = re.compile(
    r"\.\./" + r"shared\b|(?<![~\w./-])/" + r"(work|root|home)/[\w.]|(?<![\w./])/tmp/" + r"brief"
)
RECORD_HEADINGS = ("Context", "Choice", "Price", "What would change our mind")


class Source(NamedTuple):
    """One Python file: its path below the repository, and what it says."""

    path: str
    text: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The path below the package: ("backends", "iptables", "names")."""
        path = PurePosixPath(self.path).with_suffix("")
        return path.parts[2:] if path.parts[:2] == ("src", "kubeproxy") else ()

    @property
    def folder(self) -> str:
        """The stage this file belongs to; empty for what lies beside the stages."""
        return self.parts[0] if len(self.parts) > 1 else ""

    @property
    def tree(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.text, self.path)


class Word(NamedTuple):
    """A dialect's word, where it is at home, and why it may be said elsewhere."""

    word: re.Pattern[str]
    home: tuple[str, ...]
    allowed: dict[str, str]


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Every module or name a file imports, wherever in the file; relative ones are made absolute.

    A string that spells a module of ours counts too: importing by name is how a mode loads only
    its own dialect, and it must not be a way around the rules.
    """
    package = ("kubeproxy", *source.parts[:-1])
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *([node.module] if node.module else [])))
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Constant) and OURS.fullmatch(str(node.value)):
            yield node.lineno, str(node.value)


def may_import(folder: str) -> set[str]:
    """The folders a folder may import, its own included."""
    row = next(i for i, names in enumerate(ORDER) if folder in names)
    later = {name for names in ORDER[row + 1 :] for name in names}
    return {folder} | NARROWER.get(folder, later)


def wrong_direction(source: Source, dialects: Iterable[str] = ()) -> Iterator[str]:
    """Imports against the direction of the picture, and backends that know each other."""
    if not source.folder:
        return
    dialects = frozenset(dialects)
    own = source.parts[1] if source.folder == "backends" else ""
    for line, target in imports(source):
        parts = target.split(".")
        if parts[0] != "kubeproxy" or len(parts) < 2:
            continue
        if parts[1] not in may_import(source.folder):
            yield f"{source.path}:{line}: {source.folder} may not import {target}"
        elif source.folder == "backends" and len(parts) > 2 and parts[2] in dialects - {own}:
            yield f"{source.path}:{line}: {'/'.join(source.parts)} may not know the dialect {parts[2]}"


def misplaced_library(source: Source) -> Iterator[str]:
    """Libraries of others outside the folders that were weighed for them."""
    for line, target in imports(source):
        root = target.partition(".")[0]
        if root == "kubeproxy" or root in sys.stdlib_module_names:
            continue
        if source.folder not in LIBRARIES.get(root, set()):
            yield f"{source.path}:{line}: {source.folder} may not import the library {root}"


def impure_imports(source: Source) -> Iterator[str]:
    """Modules a pure folder may not import: whatever is not known to be pure."""
    for line, target in imports(source):
        root, _, name = target.partition(".")
        if root == "kubeproxy" or root in PURE_MODULES or name in PURE_NAMES.get(root, ()):
            continue
        if root in PURE_NAMES and not name:
            continue  # "import sys": its uses are looked at as calls
        yield f"{source.path}:{line}: {source.folder} is pure and may not import {target}"


def impurity(node: ast.AST) -> str:
    """What this piece of code does that pure code may not, or nothing."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
            return f"call {name}()"
        case ast.Call(func=ast.Attribute(attr=name)) if name in IMPURE_METHODS:
            return f"call .{name}()"
        case ast.Attribute(value=ast.Name(id="sys" | "pathlib" as module), attr=name):
            return "" if name in PURE_NAMES[module] else f"use {module}.{name}"
        case ast.Global(names=names):
            return f"keep state in the global {', '.join(names)}"
    return "be asynchronous" if isinstance(node, ASYNCHRONOUS) else ""


def impure_calls(source: Source) -> Iterator[str]:
    """Calls, coroutines and globals by which pure code would see or change the world."""
    for node in ast.walk(source.tree):
        if said := impurity(node):
            line = getattr(node, "lineno", 0)
            yield f"{source.path}:{line}: {source.folder} is pure and may not {said}"


def docstrings(tree: ast.Module) -> set[int]:
    """The constants that are docstrings: prose may name a dialect, code may not."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = set()
    for node in ast.walk(tree):
        body = node.body if isinstance(node, owners) else []
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            found.add(id(body[0].value))
    return found


def spoken(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What the code itself says: texts that are no docstring, and the names it makes up or uses."""
    prose = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in prose:
            value = node.value
            yield node.lineno, value if isinstance(value, str) else value.decode("latin-1")
            continue
        for field in ("id", "attr", "name", "arg"):  # variables, attributes, definitions, parameters
            if isinstance(name := getattr(node, field, None), str):
                yield getattr(node, "lineno", 0), name


def foreign_words(source: Source, words: Iterable[Word]) -> Iterator[str]:
    """A dialect's words outside its folder, unless the list of exceptions has a reason."""
    where = "/".join(source.parts)
    said = list(spoken(source.tree))
    for word in words:
        if any(where == place or where.startswith(f"{place}/") for place in (*word.home, *word.allowed)):
            continue
        for line, text in said:
            if found := word.word.search(text):
                yield f"{source.path}:{line}: {found[0]!r} belongs in {' or '.join(word.home)}"
                break


def vague_name(path: str) -> Iterator[str]:
    """Names that say nothing about what is inside attract everything."""
    for part in PurePosixPath(path).with_suffix("").parts:
        if VAGUE.search(part):
            yield f"{path}: name it after what it holds, not {part!r}"


def functions(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Every function with its first line and its length."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def too_long(source: Source, excused: dict[str, str]) -> Iterator[str]:
    """Files and functions that no longer fit a glance; `excused` maps path or path:function to a reason."""
    lines = source.text.count("\n")
    if lines > FILE_LINES and source.path not in excused:
        yield f"{source.path}: {lines} lines, more than {FILE_LINES}"
    for name, line, length in functions(source.tree):
        if length > FUNCTION_LINES and f"{source.path}:{name}" not in excused:
            yield f"{source.path}:{line}: {name} has {length} lines, more than {FUNCTION_LINES}"


def machine_paths(path: str, text: str) -> Iterator[str]:
    """Paths that exist on one machine only: a clone elsewhere would miss them."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := MACHINE_PATHS.search(line):
            yield f"{path}:{number}: {found[0]!r} does not exist in a clone"


def incomplete_record(path: str, text: str) -> Iterator[str]:
    """A decision record without its price, or without what would overturn it, is an opinion."""
    if not re.match(r"# \d{4} \S", text):
        yield f"{path}: starts with '# NNNN title'"
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    for heading in RECORD_HEADINGS:
        if not sections.get(heading, "").strip():
            yield f"{path}: '## {heading}' is missing or empty"


def complaints(rule: Callable[[Source], Iterable[str]], sources: Iterable[Source]) -> list[str]:
    """All a rule has to say about some files."""
    return [said for source in sources for said in rule(source)]


def mapped_modules(text: str) -> list[str]:
    """The modules a map names: first column of the table under each folder's heading."""
    found, folder = [], ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = re.fullmatch(r"### `([\w/]+)`.*", line)
            folder = heading[1] if heading else ""
        elif folder and line.startswith("| `"):
            found += [f"{folder}/{name}" for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    return found
