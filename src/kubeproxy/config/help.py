"""The text of --help: grouped by what an operator is thinking about, one line a flag."""

from collections.abc import Sequence
from typing import Final

from kubeproxy.config.flags import Flag, flags
from kubeproxy.config.kind import BOOL, VERSION
from kubeproxy.config.row import Group

_OPENING: Final = """\
kube-proxy programs this node so that the cluster's Services can be reached from it.

Usage:
  kube-proxy [flags]
"""
_FORMS: Final = """\
A flag is written --name value or --name=value; one that is true or false --name or --name=false.
"""
_TOLD_APART: Final = (BOOL, VERSION)


def help_text(commands: Sequence[tuple[str, str]] = ()) -> str:
    """Usage, the other commands with a word on each, and every flag that is not on its way out."""
    shown = [flag for flag in flags().values() if not flag.deprecated]
    width = max(len(_name(flag)) for flag in shown)
    forms = [(f"kube-proxy {name}", what) for name, what in commands]
    opening = _OPENING + "".join(f"  {form:<{width}}  {what}\n" for form, what in forms)
    parts = [opening, _FORMS]
    for group in Group:
        lines = [_line(flag, width) for flag in shown if flag.group is group]
        if lines:
            parts.append("\n".join([f"{group.value}:", *lines]) + "\n")
    return "\n".join(parts)


def _line(flag: Flag, width: int) -> str:
    return f"  {_name(flag):<{width}}  {flag.meaning}{_default(flag)}"


def _name(flag: Flag) -> str:
    short = f"-{flag.short}, " if flag.short else ""
    word = "" if flag.kind in _TOLD_APART else f" {flag.kind.word}"
    return f"{short}--{flag.name}{word}"


def _default(flag: Flag) -> str:
    """What holds without the flag, where that says anything."""
    if flag.default == flag.kind.zero and flag.kind.zero in ("", "0", (), {}, False):
        return ""
    if flag.group is Group.IGNORED:
        return ""
    return f" (default {flag.kind.show(flag.default)})"
