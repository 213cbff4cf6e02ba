"""docs/config.md: every field, flag and gate, written from the same tables that the proxy works with.

The page is in the tree so that it can be read without running anything; a test compares it with this text.
"""

from typing import Final

from kubeproxy.config.field import Field, fields
from kubeproxy.config.flags import Flag, flags
from kubeproxy.config.gates import PROXY_GATES, gates
from kubeproxy.config.row import When
from kubeproxy.config.schema import API_VERSION, KIND

_WHEN: Final = {
    When.GIVEN: "",
    When.NOT_EMPTY: "0→",
    When.NOT_NULL: "null→",
}
NOTHING: Final = '""'
_OPENING: Final = f"""\
# Configuration

This page is written from the proxy's own tables (`src/kubeproxy/config`); a test fails when they disagree.

## Flags or file

A node is configured by flags, or by a file that `--config` names. With a file the flags do not count, except
those marked "yes" in the table of flags: they say what differs between nodes that share one file, or what to
do once. `--write-config-to FILE` writes the configuration that would be used, in full.

Flags are written `--name value` or `--name=value`, with `_` and `-` taken for the same; those that are true
or false `--name` or `--name=false`. Durations are numbers with units (`1h30m`, `500ms`). Lists are separated
by commas, and grow when the flag is repeated.

A file begins with these two lines:

```yaml
apiVersion: {API_VERSION}
kind: {KIND}
```

It is YAML or JSON; only the first document counts. Names that are unknown are dropped, and of names given
twice the last counts: each is told in a log line. Values of the wrong type, and values that make no sense,
keep the proxy from starting, with all complaints at once.

"""
_FIELDS: Final = """\
## Fields of the file

"0→": zero, empty and null mean the default, so a file cannot set them. "null→": null means the default, zero
is a value. Elsewhere null is the same as leaving the field out, except that a duration must not be null.

Sync periods and `masqueradeAll` count in the block of the mode in use: `nftables` for nftables, `ipvs` for
ipvs (but `iptables.masqueradeAll`), `iptables` for the others. A written file shows zero in the blocks
that do not count.

When the file changes, the proxy looks at it, says field by field what is different, and with
`--config-reload=live` applies what "live" marks; everything else waits for the next start, see "When the file
changes" below.

| Field | Type | Default | Flag | Modes | Live | Meaning |
|---|---|---|---|---|---|---|
"""
_FLAGS: Final = """
## Flags

| Flag | Type | Default | With `--config` | Sets | Meaning |
|---|---|---|---|---|---|
"""
_RELOAD: Final = """
## When the file changes

`--config` names a file; its directory is watched, so that an editor's new file and the swapped links of a
ConfigMap are noticed as well as writing in place. A file that cannot be used is told of, and changes nothing.
What a usable one changes is told field by field. Then it is a matter of `--config-reload`:

- `pending`: nothing until the next start. `kubeproxy_config_pending_changes` counts what waits, and
  `/statusz` lists it.
- `live`: what is marked "live" above is applied at once, and a change of `mode` by leaving and entering again
  with the rules in place; the rest waits.
- `exit`: the proxy ends with code 1, for something to start it again.

`detectLocalMode` waits for the next start where it was or becomes `NodeCIDR`, since that waits for the Node.
"""
_GATES: Final = """
## Feature gates

Every gate of Kubernetes 1.36 may be named, since clusters often give one list to all components. These are
the ones that the proxy looks at:

| Gate | Stage | Default | Locked | What it does |
|---|---|---|---|---|
"""


def reference() -> str:
    """The whole page."""
    parts = [_OPENING, _FIELDS, *map(_field, fields()), _FLAGS, *map(_flag, flags().values())]
    return "".join([*parts, _RELOAD, _GATES, *map(_gate, PROXY_GATES)])


def _field(field: Field) -> str:
    default = field.kind.show(field.default)
    flag = f"`--{field.flag}`" if field.flag else ""
    modes = ", ".join(field.modes) or "all"
    when = _WHEN[field.when]
    live = "live" if field.live else ""
    shown = f"{when}`{default or NOTHING}`"
    return _row(f"`{field.path}`", field.kind.word, shown, flag, modes, live, field.meaning)


def _flag(flag: Flag) -> str:
    name = f"`-{flag.short}`, `--{flag.name}`" if flag.short else f"`--{flag.name}`"
    paths = ", ".join(f"`{path}`" for path in flag.paths)
    default = f"`{flag.kind.show(flag.default) or NOTHING}`"
    meaning = f"Deprecated: {flag.deprecated}. {flag.meaning}" if flag.deprecated else flag.meaning
    return _row(name, flag.kind.word, default, "yes" if flag.beside_file else "", paths, meaning)


def _gate(name: str) -> str:
    gate = gates()[name]
    default = "on" if gate.default else "off"
    return _row(f"`{name}`", gate.stage.value, default, "yes" if gate.locked else "", PROXY_GATES[name])


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
