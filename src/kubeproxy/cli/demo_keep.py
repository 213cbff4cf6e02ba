"""KEEP=1: the cluster stays up, and somebody may look around in it."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from kubeproxy.cli import demo_cluster as plan
from kubeproxy.cli.demo_acts import Theatre
from kubeproxy.cli.demo_proxy import KUBE_PROXY
from kubeproxy.cli.stage.rooms import DIES_WITH_US

HINTS = """
  iptables -t nat -L -n          the rules
  curl 10.96.10.1                a Service, from the node
  on client curl 198.51.100.10   another, from outside; also: on {rooms}
  explain 198.51.100.10:80       why a packet goes where it goes; --from ADDRESS asks for another client
  {manifests}
                                 edit these, and dial again
  {log}
"""

# From inside its user namespace a process cannot enter it again.
ON = """\
#!/bin/sh
# on ROOM COMMAND...: runs a command in one of the namespaces of the demo
case "${{1-}}" in
{cases}
*) echo "on ROOM COMMAND...; the rooms are {rooms}" >&2; exit 2 ;;
esac
shift
[ $# -gt 0 ] || set -- "${{SHELL:-sh}}"
PATH={path}:$PATH
export PATH
if [ "$(readlink /proc/self/ns/user)" = "$(readlink "/proc/$pid/ns/user")" ]; then
  exec nsenter --net="/proc/$pid/ns/net" -- "$@"
fi
exec nsenter --target "$pid" --user --preserve-credentials --mount --net -- "$@"
"""
VERB = """\
#!/bin/sh
exec {command} "$@" {options}
"""


def linger(theatre: Theatre) -> None:
    """A shell on the node until it is left; without a terminal, until somebody interrupts us."""
    tools = write_tools(theatre)
    rooms = ", ".join(name for name in theatre.stage.residents if name not in ("client", "lan"))
    hints = HINTS.format(manifests=theatre.files.manifests, log=theatre.files.log, rooms=rooms)
    if sys.stdin.isatty():
        print(f"This is a shell on {plan.NODE}; leaving it takes the cluster down.{hints}", flush=True)
        _shell([str(tools / "on"), plan.NODE, "bash", "--norc", "-i"])
    else:
        print(f"The cluster stays until process {os.getpid()} is interrupted. To get in:")
        print(f"  {tools / 'on'} {plan.NODE} bash{hints}", flush=True)
        signal.pause()


def _shell(argv: list[str]) -> None:
    # Ctrl-C belongs to the shell and to what runs in it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    environ = {**os.environ, "PS1": f"{plan.NODE}# "}
    subprocess.run([*DIES_WITH_US, *argv], env=environ, check=False)
    signal.signal(signal.SIGINT, before)


def write_tools(theatre: Theatre) -> Path:
    """Two commands that know this cluster: `on ROOM COMMAND...`, and `explain` with the proxy's options."""
    folder = theatre.files.folder / "bin"
    folder.mkdir()
    pids = {name: resident.pid for name, resident in theatre.stage.residents.items()}
    _script(folder / "on", on_script(pids, [folder, Path(sys.executable).parent]))
    command = [*KUBE_PROXY, "explain"]
    _script(
        folder / "explain",
        VERB.format(command=shlex.join(command), options=shlex.join(theatre.files.options())),
    )
    return folder


def on_script(pids: Mapping[str, int], path: list[Path]) -> str:
    """The text of `on`: which process is inside which room."""
    return ON.format(
        cases="\n".join(f"{name}) pid={pid} ;;" for name, pid in pids.items()),
        rooms=", ".join(pids),
        path=shlex.quote(os.pathsep.join(map(str, path))),
    )


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
