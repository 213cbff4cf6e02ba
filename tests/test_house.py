"""The house keeps its shape: every rule is applied to the tree, and shown a sample that breaks it."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.processmetrics import started_metric
from kubeproxy.runtime.restmetrics import RestMetrics
from kubeproxy.runtime.selfcheck import SelfCheck
from kubeproxy.runtime.setup import counter_metrics
from kubeproxy.runtime.standardmetrics import add_standard_metrics
from tests import house_rules as rules
from tests.house_rules import Source, Word

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "kubeproxy"
SKIPPED = {"__pycache__", "golden", "dist", "build"}

# path, or path:function -> why it may be longer than a glance
EXCUSED: dict[str, str] = {
    "tests/cli/test_explain.py": "the questions operators ask, each with its answer in whole",
    "tests/model/test_tracker.py": "one row a line for every case of the tables of Services, slices and folds",
}

DIALECT_WORDS = (
    Word(
        re.compile(r"\bKUBE-[A-Z]"),
        home=("backends/iptables", "backends/ipvs"),
        allowed={"kernel/flavour": "which programs to run is told by the chains the kubelet and we left"},
    ),
    Word(
        re.compile(r"--(to-destination|dport|ctstate)\b|\b[xd]tables-\w|\bDNAT\b|\bMASQUERADE\b"),
        home=("backends/iptables", "backends/ipvs", "wire/iptables"),
        allowed={"kernel/memtables": "the in-memory kernel refuses what the real one refuses of a target"},
    ),
    Word(
        re.compile(r"\bip6?tables-(legacy-|nft-)?(restore|save)\b|--noflush\b"),
        home=("backends/iptables", "wire/iptables", "kernel"),
        allowed={"cli/render": "tells the reader which program takes what it prints"},
    ),
    Word(
        re.compile(r"\bnft\b"),
        home=("backends/nftables", "wire/nftables", "wire/nfexpr", "kernel"),
        allowed={"wire/restore": "names the program that shows what iptables-save cannot"},
    ),
    Word(
        re.compile(r"\bkube-ipvs0\b|\bipvsadm\b|\bipset\b"),
        home=("backends/ipvs", "wire/ipvs", "wire/ipset", "kernel"),
        allowed={},
    ),
    Word(
        # "chain" alone is also itertools.chain.
        re.compile(r"(?i)(^|_)chain_|_chains?(_|$)|^chains$"),
        home=("backends", "wire", "kernel", "runtime", "cli"),
        allowed={"sources/apiserver/trust": "a certificate comes with the chain of those who vouch for it"},
    ),
)


def sources(*folders: str) -> list[Source]:
    """The Python files below some folders of the repository."""
    found = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not SKIPPED & set(path.relative_to(ROOT).parts):
                found.append(Source(path.relative_to(ROOT).as_posix(), path.read_text()))
    return found


def documents() -> Iterator[tuple[str, str]]:
    """Every text file a clone would hold."""
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = parts[0].startswith(".") and parts[0] not in (".ci", ".gitignore")
        if path.is_file() and not hidden and "__pycache__" not in parts and path.suffix != ".pyc":
            yield path.relative_to(ROOT).as_posix(), path.read_text(errors="replace")


def dialects() -> list[str]:
    """The backends that exist."""
    return [path.name for path in (PACKAGE / "backends").iterdir() if (path / "__init__.py").exists()]


def pure() -> list[Source]:
    """The files of the folders that only compute."""
    return [source for source in sources("src") if source.folder in rules.PURE]


def test_every_folder_has_its_place_in_the_picture():
    """A folder nobody placed could import anything."""
    known = {name for row in rules.ORDER for name in row}
    found = {path.name for path in PACKAGE.iterdir() if path.is_dir()} - SKIPPED
    assert found == known


def test_imports_point_one_way():
    assert rules.complaints(lambda s: rules.wrong_direction(s, dialects()), sources("src")) == []


def test_every_module_named_in_a_text_exists():
    """A verb that is loaded by name would otherwise fail only when somebody asks for it."""
    known = {"kubeproxy." + ".".join(s.parts).removesuffix(".__init__") for s in sources("src") if s.parts}
    named = {
        (source.path, node.value)
        for source in sources("src")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and rules.OURS.fullmatch(str(node.value))
    }
    assert [(path, name) for path, name in sorted(named) if name not in known] == []


def test_libraries_stay_where_they_were_weighed():
    assert rules.complaints(rules.misplaced_library, sources("src")) == []


def test_every_dependency_is_used():
    """What nothing imports would still be installed, as root's code, on every node."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[<>=~!\[; ]", line)[0].lower().replace("pyyaml", "yaml") for line in wanted}
    used = {target.partition(".")[0] for source in sources("src") for _, target in rules.imports(source)}
    assert names == set(rules.LIBRARIES)
    assert names - used == set()


def test_pure_folders_import_nothing_that_touches_the_world():
    assert rules.complaints(rules.impure_imports, pure()) == []


def test_pure_folders_call_nothing_that_touches_the_world():
    assert rules.complaints(rules.impure_calls, pure()) == []


def test_dialect_words_stay_in_their_folder():
    assert rules.complaints(lambda s: rules.foreign_words(s, DIALECT_WORDS), sources("src")) == []


def test_every_exception_for_a_dialect_word_is_still_needed():
    """An exception that outlives its reason would hide the next mistake."""
    stale = []
    for word in DIALECT_WORDS:
        for place, reason in word.allowed.items():
            bare = Word(word.word, word.home, {})
            users = [s for s in sources("src") if "/".join(s.parts) == place]
            stale += [] if rules.complaints(lambda s, w=bare: rules.foreign_words(s, [w]), users) else [place]
            assert len(reason) > 10, place
    assert stale == []


def test_names_say_what_is_inside():
    paths = [source.path for source in sources("src", "tests", "tools", "benchmarks")]
    assert [said for path in paths for said in rules.vague_name(path)] == []


def test_files_and_functions_fit_a_glance():
    everything = sources("src", "tests", "tools", "benchmarks")
    assert rules.complaints(lambda s: rules.too_long(s, EXCUSED), everything) == []


def test_every_excuse_for_length_is_still_needed():
    everything = sources("src", "tests", "tools", "benchmarks")
    long = rules.complaints(lambda s: rules.too_long(s, {}), everything)
    for entry, reason in EXCUSED.items():
        path, _, function = entry.partition(":")
        assert any(said.startswith(path) and function in said for said in long), entry
        assert len(reason) > 10, entry


def test_no_file_needs_a_path_of_one_machine():
    assert [said for path, text in documents() for said in rules.machine_paths(path, text)] == []


def test_decision_records_are_whole_and_numbered_without_gaps():
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    texts = [(path.name, path.read_text()) for path in records]
    assert [said for name, text in texts for said in rules.incomplete_record(name, text)] == []
    assert [path.name[:4] for path in records] == [f"{n:04}" for n in range(1, len(records) + 1)]
    assert [text[2:6] for _, text in texts] == [name[:4] for name, _ in texts]


def test_the_map_names_every_module_and_no_other():
    """ARCHITECTURE.md is where a newcomer looks first."""
    mapped = rules.mapped_modules((ROOT / "ARCHITECTURE.md").read_text())
    modules = {"/".join(s.parts) for s in sources("src") if s.parts and s.parts[-1] != "__init__"}
    assert {"missing": sorted(modules - set(mapped)), "gone": sorted(set(mapped) - modules)} == {
        "missing": [],
        "gone": [],
    }
    assert len(mapped) == len(set(mapped))


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_the_readme_tells_the_two_commands(command):
    assert re.search(rf"^ +{command}\b|^{command}\b", (ROOT / "README.md").read_text(), re.M)


def test_every_metric_is_explained():
    """A number nobody can look up is a number nobody trusts."""
    explained = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "metrics.md").read_text(), re.M)
    metrics = Metrics()
    add_standard_metrics(metrics, {})
    beside = (*RestMetrics(), *counter_metrics(None), *SelfCheck(started_metric()).metrics)
    assert sorted(explained) == sorted({metric.name for metric in (*metrics, *beside)})


# The rules themselves: each must find the fault in a sample, and leave the good one alone.

WRONG = [
    ("routes/decide", "from kubeproxy.backends.contract import Plan"),
    ("routes/decide", "def f():\n    import kubeproxy.kernel.hands"),
    ("kernel/hands", "from kubeproxy.api import service"),
    ("kernel/hands", "from kubeproxy import sources"),
    ("sources/manifests", "from kubeproxy.model.tracker import Tracker"),
    ("api/meta", "from ..wire import op"),
    ("backends/ipvs/plan", "from kubeproxy.backends.iptables import names"),
    ("backends/ipvs/plan", "from ..iptables.names import chain"),
    ("backends/contract", "import kubeproxy.backends.iptables.names"),
    ("packets/oracle", "importlib.import_module('kubeproxy.backends.iptables.walk')"),
    ("runtime/proxy", "from kubeproxy.cli.main import main"),
]
RIGHT = [
    ("cli/serve", "from kubeproxy.runtime.proxy import run"),
    ("kernel/hands", "from kubeproxy.wire.op import Op\nfrom .errors import KernelError"),
    ("backends/iptables/walk", "from kubeproxy.packets.packet import Packet\nfrom . import names"),
    ("backends/iptables/plan", "from kubeproxy.backends.contract import Plan"),
    ("sources/manifests", "from kubeproxy.config.schema import Config"),
    ("runtime/proxy", "import_module('kubeproxy.backends.iptables.plan')"),
    ("routes/decide", "import msgspec\nfrom kubeproxyish.backends import x"),
]


def sample(place: str, text: str) -> Source:
    """A made-up file of the package."""
    return Source(f"src/kubeproxy/{place}.py", text)


@pytest.mark.parametrize(("place", "text"), WRONG)
def test_a_wrong_import_is_found(place, text):
    assert len(list(rules.wrong_direction(sample(place, text), ["iptables", "ipvs"]))) == 1


@pytest.mark.parametrize(("place", "text"), RIGHT)
def test_a_right_import_is_left_alone(place, text):
    assert list(rules.wrong_direction(sample(place, text), ["iptables", "ipvs"])) == []


@pytest.mark.parametrize(
    "text",
    [
        *(f"import {name}" for name in ("socket", "os", "time", "random", "logging", "threading")),
        *(f"import {name}" for name in ("subprocess", "asyncio", "os.path", "pathlib.os", "tempfile")),
        "from pathlib import Path",
        "from datetime import tzinfo",
        "def f():\n    from os import environ",
        "from aiohttp import web",
    ],
)
def test_an_impure_import_is_found(text):
    assert len(list(rules.impure_imports(sample("routes/decide", text)))) == 1


@pytest.mark.parametrize(
    ("place", "text"),
    [("runtime/proxy", "import rich.table"), ("routes/decide", "import yaml"), ("cli/x", "import requests")],
)
def test_a_misplaced_library_is_found(place, text):
    assert len(list(rules.misplaced_library(sample(place, text)))) == 1


def test_a_library_in_its_place_is_left_alone():
    text = "import rich.table\nimport os\nimport msgspec\nfrom kubeproxy.runtime import x\nfrom . import y"
    assert list(rules.misplaced_library(sample("cli/x", text))) == []


def test_a_pure_import_is_left_alone():
    text = (
        "import re, sys\nfrom collections.abc import Sequence\nfrom datetime import datetime\nimport msgspec"
    )
    assert list(rules.impure_imports(sample("routes/decide", text))) == []


@pytest.mark.parametrize(
    "text",
    [
        "open('x')",
        "print(1)",
        "datetime.now()",
        "datetime.datetime.now(tz=UTC)",
        "path.read_text()",
        "sys.stderr.write('x')",
        "async def f(): pass",
        "def f():\n    global seen\n    seen = 1",
        "eval('1')",
    ],
)
def test_an_impure_call_is_found(text):
    assert len(list(rules.impure_calls(sample("model/tracker", text)))) == 1


def test_a_pure_call_is_left_alone():
    text = "x = sys.intern('a')\nlisting = words.index('open')\n'print(1)'\ny = flow.now"
    assert list(rules.impure_calls(sample("model/tracker", text))) == []


WORDS = (
    Word(re.compile(r"\bKUBE-[A-Z]|(^|_)chain_"), home=("backends/iptables",), allowed={"cli/demo": "shows"}),
)


@pytest.mark.parametrize(
    "text",
    [
        "x = 'KUBE-SVC-1'",
        "x = f'see KUBE-SEP-{n}'",
        "x = b'KUBE-X'",
        "def chain_of(x): ...",
        "f(chain_name=1)",
    ],
)
def test_a_foreign_word_is_found(text):
    assert len(list(rules.foreign_words(sample("routes/decide", text), WORDS))) == 1


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("backends/iptables/names", "x = 'KUBE-SVC-1'"),
        ("cli/demo", "x = 'KUBE-SVC-1'"),
        ("routes/decide", '"""Why: KUBE-SVC chains are short."""'),
        ("routes/decide", "def f():\n    '''KUBE-SVC'''\n    # KUBE-SVC\n    return chain(x)"),
    ],
)
def test_a_word_at_home_allowed_or_in_prose_is_left_alone(place, text):
    assert list(rules.foreign_words(sample(place, text), WORDS)) == []


@pytest.mark.parametrize(
    "path", ["src/utils.py", "src/x/string_helpers.py", "tests/common/x.py", "a/manager.py"]
)
def test_a_vague_name_is_found(path):
    assert len(list(rules.vague_name(path))) == 1


def test_a_telling_name_is_left_alone():
    assert list(rules.vague_name("src/kubeproxy/routes/utility_of_commons.py")) == []


def test_length_is_counted_to_the_line():
    body = "def f():\n" + "    pass\n" * 59
    assert list(rules.too_long(sample("a/b", body), {})) == []
    longer = sample("a/b", body + "    pass\n")
    assert list(rules.too_long(longer, {})) == ["src/kubeproxy/a/b.py:1: f has 61 lines, more than 60"]
    assert list(rules.too_long(longer, {"src/kubeproxy/a/b.py:f": "a table"})) == []
    assert list(rules.too_long(sample("a/b", "x = 1\n" * 400), {})) == []
    assert len(list(rules.too_long(sample("a/b", "x = 1\n" * 401), {}))) == 1


def test_a_path_of_one_machine_is_found():
    for bad in ("see ../" + "shared/x", "'/" + "work/main'", "cd /" + "root/x", "(/" + "home/me)"):
        assert len(list(rules.machine_paths("README.md", bad))) == 1, bad
    for good in ("~/work/x", "src/root/x", "/var/run/x", "http://host/work/", "/network"):
        assert list(rules.machine_paths("README.md", good)) == [], good


def test_a_decision_without_a_price_is_found():
    whole = "# 0001 Title\n" + "".join(f"\n## {heading}\ntext\n" for heading in rules.RECORD_HEADINGS)
    assert list(rules.incomplete_record("0001-x.md", whole)) == []
    assert list(rules.incomplete_record("0001-x.md", whole.replace("## Price\ntext", "## Price\n"))) == [
        "0001-x.md: '## Price' is missing or empty"
    ]
    assert len(list(rules.incomplete_record("0001-x.md", "Title\n"))) == 5


def test_the_map_is_read_by_folder():
    text = "### `api`\n| | |\n|---|---|\n| `meta`, `node` | x |\n### `backends/iptables`\n| `names` | `y` |\n## Other\n| `z` | |\n"
    assert rules.mapped_modules(text) == ["api/meta", "api/node", "backends/iptables/names"]
