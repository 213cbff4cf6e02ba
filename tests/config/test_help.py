"""--help and docs/config.md are made from the tables, and leave nothing out."""

from pathlib import Path

from kubeproxy.config.field import fields
from kubeproxy.config.flags import flags
from kubeproxy.config.gates import PROXY_GATES
from kubeproxy.config.help import help_text
from kubeproxy.config.reference import reference

DOCS = Path(__file__).resolve().parents[2] / "docs" / "config.md"


def test_every_flag_that_is_not_deprecated_has_one_line():
    lines = help_text().splitlines()
    for flag in flags().values():
        mentions = [line for line in lines if f"--{flag.name} " in f"{line} " and flag.meaning in line]
        assert len(mentions) == (0 if flag.deprecated else 1), flag.name


def test_the_lines_fit_a_wide_terminal_and_line_up():
    lines = [line for line in help_text().splitlines() if line.lstrip().startswith("-")]
    assert max(map(len, lines)) <= 140
    starts = {len(line) - len(line[4:].partition("  ")[2].lstrip()) for line in lines}
    assert len(starts) == 1


def test_help_reads_like_this():
    text = help_text([("render [flags]", "native text on stdout")])
    assert text.startswith(
        "kube-proxy programs this node so that the cluster's Services can be reached from it.\n\nUsage:\n"
        "  kube-proxy [flags]\n  kube-proxy render [flags]"
    )
    assert f"\n  kube-proxy render [flags]{' ' * 21}native text on stdout\n" in text
    assert (
        "\nMode ipvs:\n"
        "  --ipvs-exclude-cidrs list                     networks whose virtual servers belong to somebody else\n"
        "  --ipvs-min-sync-period duration               shortest pause between two syncs (default 1s)\n"
    ) in text
    assert "\n  -v, --v level " in text
    assert "\n  --cleanup    " in text
    assert "healthz-port" not in text


def test_the_page_in_the_tree_is_the_one_the_tables_make():
    command = "from kubeproxy.config.reference import reference; print(reference(), end='')"
    assert DOCS.read_text() == reference(), f'run: .venv/bin/python -c "{command}" > docs/config.md'


def test_the_page_mentions_every_field_flag_and_gate():
    page = DOCS.read_text()
    names = [f"`{field.path}`" for field in fields()] + [f"`--{name}`" for name in flags()]
    assert [name for name in [*names, *(f"`{gate}`" for gate in PROXY_GATES)] if name not in page] == []


def test_the_page_is_a_table_that_renders():
    rows = [line for line in DOCS.read_text().splitlines() if line.startswith("|")]
    assert len(rows) > len(fields()) + len(flags())
    for row in rows:
        assert row.replace("\\|", "").count("|") in (6, 7, 8), row
