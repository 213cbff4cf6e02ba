"""The daemon, and its one-shot modes."""

import asyncio
import gc
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from signal import Signals

from kubeproxy.cli.settings import Unusable, load, unopened
from kubeproxy.config.commandline import FlagError
from kubeproxy.config.complaint import ConfigError
from kubeproxy.config.goliteral import quoted
from kubeproxy.config.invocation import Invocation, parse_flags
from kubeproxy.config.release import KUBERNETES_VERSION
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.kernel.errors import KernelError
from kubeproxy.runtime import signals
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.modes import unavailable
from kubeproxy.runtime.reload import Reenter

#: what may go wrong with an operator's wishes or with this machine; anything else is a defect
EXPECTED = (ConfigError, KernelError, OSError)

#: the parts of --version=raw, and where they stand in the build's metric
_RECORD = (
    ("Major", "major"),
    ("Minor", "minor"),
    ("EmulationMajor", ""),
    ("EmulationMinor", ""),
    ("MinCompatibilityMajor", ""),
    ("MinCompatibilityMinor", ""),
    ("GitVersion", "git_version"),
    ("GitCommit", "git_commit"),
    ("GitTreeState", "git_tree_state"),
    ("BuildDate", "build_date"),
    ("GoVersion", "go_version"),
    ("Compiler", "compiler"),
    ("Platform", "platform"),
)

COMMANDS = (
    ("render", "print the rules that a directory of manifests leads to"),
    ("explain", "say what happens to a packet, and why"),
    ("demo", "show it all on real packets, in a throw-away cluster"),
)


def main(arguments: Sequence[str]) -> int:
    from kubeproxy.config.help import help_text

    try:
        invocation = parse_flags(arguments)
    except FlagError as error:
        print(f"{help_text(COMMANDS)}\n{error}\nError: {error.message}", file=sys.stderr)
        return 1
    for warning in invocation.warnings:
        print(warning, file=sys.stderr)
    if invocation.help:
        print(help_text(COMMANDS))
        return 0
    if invocation.version in ("true", "raw"):
        return _version(invocation)
    try:
        return _run(invocation, load(invocation))
    except Unusable:
        return 1
    except EXPECTED as error:
        return _failed(error)
    except ExceptionGroup as group:
        expected, others = group.split(EXPECTED)
        if others is not None:
            raise
        for leaf in leaves(expected):
            _failed(leaf)
        return 1


def _failed(error: BaseException) -> int:
    log.error("Error running ProxyServer", error)
    log.error("command failed", error)
    return 1


def leaves(error: BaseException | None) -> Iterator[BaseException]:
    """The errors in a group of groups: what runs side by side fails side by side."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    elif error is not None:
        yield error


def _version(invocation: Invocation) -> int:
    """The version this one replaces, as scripts that look for it expect."""
    if invocation.version == "raw":
        from kubeproxy.runtime.standardmetrics import build_labels

        said = build_labels()
        fields = (f"{name}:{quoted(said.get(label, ''))}" for name, label in _RECORD)
        print(f"version.Info{{{', '.join(fields)}}}")
    else:
        print(f"Kubernetes {KUBERNETES_VERSION}")
    return 0


def _run(invocation: Invocation, config: KubeProxyConfig) -> int:
    if invocation.write_config_to:
        return _write_config(config, Path(invocation.write_config_to))
    foreign = unavailable(config.mode)
    if foreign is not None:
        log.error("command failed", foreign.problem, remedy=foreign.remedy)
        return 1
    if invocation.cleanup:
        from kubeproxy.cli.cleanup import cleanup

        return cleanup()
    return _serve(invocation, config)


def _write_config(config: KubeProxyConfig, path: Path) -> int:
    from kubeproxy.config.write import write_config

    try:
        path.write_text(write_config(config), encoding="utf-8")
    except OSError as error:
        log.error("command failed", unopened(str(path), error), remedy="name a file that can be written")
        return 1
    log.info("Wrote configuration", file=str(path))
    return 0


def _serve(invocation: Invocation, config: KubeProxyConfig) -> int:
    # What is loaded now lives as long as the process; nothing in it needs to be looked at again.
    gc.freeze()
    signals.prepare()
    stopped = asyncio.run(_until_stopped(invocation, config))
    if stopped:
        signals.die_by(stopped)
    return 0


async def _until_stopped(invocation: Invocation, config: KubeProxyConfig) -> int:
    """Serve until a signal comes; return which one it was."""
    caught: list[int] = []
    task = asyncio.ensure_future(_again_and_again(invocation, config))

    def stop(number: int) -> None:
        caught.append(number)
        task.cancel()

    signals.on_ending(asyncio.get_running_loop(), stop)
    try:
        await task
    except asyncio.CancelledError:
        log.info("Stopping; the rules stay as they are", signal=Signals(caught[0]).name)
    return caught[0] if caught else 0


async def _again_and_again(invocation: Invocation, config: KubeProxyConfig) -> None:
    """Serve; a change of the mode leaves and enters again, and finds the kernel as it was left."""
    from kubeproxy.runtime.daemon import serve

    wanted: KubeProxyConfig | None = config
    while wanted is not None:
        config, wanted = wanted, None
        try:
            await serve(invocation, config)
        except* Reenter as group:
            wanted = next(leaf.config for leaf in leaves(group) if isinstance(leaf, Reenter))
