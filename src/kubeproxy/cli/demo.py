"""`kube-proxy demo`: a throw-away cluster in namespaces, and real packets.

Whatever ends it, nothing stays: the namespaces live as long as our processes, those die with us,
and a folder that a killed run left behind is removed by the next one.
"""

import argparse
import io
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from kubeproxy.cli import demo_cluster as plan
from kubeproxy.cli import privilege
from kubeproxy.cli.demo_acts import Theatre, explain, furnish, part, perform, start_proxy
from kubeproxy.cli.demo_keep import linger
from kubeproxy.cli.demo_proxy import KUBE_PROXY, Files
from kubeproxy.cli.demo_table import show
from kubeproxy.cli.stage.layout import cluster
from kubeproxy.cli.stage.rooms import StageError
from kubeproxy.cli.stage.stage import Farewell, Stage

FOLDER = "kube-proxy-demo."


def main(words: Sequence[str]) -> int:
    """Plays the demo; 0 when every packet went where it should."""
    options = parser().parse_args(words)
    # In a pipe, what is said and what went wrong must stay in order.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    keep = options.keep or bool(os.environ.get("KEEP"))
    try:
        privilege.find_programs()
        privilege.enter([*KUBE_PROXY, "demo", *words])
    except privilege.NoPrivilegeError as problem:
        print(f"kube-proxy demo: {problem}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, stopped)
    signal.signal(signal.SIGHUP, stopped)
    try:
        return play(keep)
    except KeyboardInterrupt:
        print("\nstopped; everything is gone again", file=sys.stderr)
        return 130
    except StageError as problem:
        print(f"kube-proxy demo: {problem}", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """The options of the verb."""
    made = argparse.ArgumentParser(
        prog="kube-proxy demo",
        description="Builds a small cluster out of network namespaces, runs kube-proxy on one of its nodes, "
        "and sends real packets. Nothing on this machine changes, and nothing stays.",
    )
    made.add_argument(
        "--keep", action="store_true", help="leave the cluster up, with a shell on the node (KEEP=1)"
    )
    return made


def stopped(number: int, frame: FrameType | None) -> None:
    """Somebody ends us: the way out is the same as after Ctrl-C."""
    raise KeyboardInterrupt


def play(keep: bool) -> int:
    """All acts, one after the other."""
    sweep(Path(tempfile.gettempdir()))
    began = time.monotonic()
    folder = tempfile.TemporaryDirectory(prefix=f"{FOLDER}{os.getpid()}.")
    with folder as path, Stage(cluster(plan.PODS)) as stage:
        theatre = Theatre(stage, Files(Path(path)))
        furnish(theatre.files)
        print(f"Built a client, 2 nodes and {len(plan.PODS)} pods in {time.monotonic() - began:.1f} s.")
        seconds = start_proxy(theatre)
        print(f"Started kube-proxy on {plan.NODE}; after {seconds:.1f} s the last Service answered.\n")
        well = first_act(theatre) & second_act(theatre) & third_act(theatre)
        print(f"Took {time.monotonic() - began:.1f} s.")
        if keep:
            linger(theatre)
    return 0 if well else 1


def first_act(theatre: Theatre) -> bool:
    """Packets of every kind, in a table."""
    lines = perform(theatre)
    show(lines, theatre.names())
    wrong = sum(bool(line.lie) for line in lines)
    print(f"{len(lines) - wrong} of {len(lines)} went where they should.\n")
    return not wrong


def second_act(theatre: Theatre) -> bool:
    """A pod leaves."""
    print(f"Taking {plan.LEAVER} away while {plan.LEFT.who} keeps dialling {plan.LEFT.what} ...")
    farewell = part(theatre)
    print(f"{departure(farewell)}\n")
    return farewell.gone


def departure(farewell: Farewell) -> str:
    """How the pod left, in a sentence."""
    after = ", ".join(f"{name} {count}x" for name, count in sorted(farewell.afterwards.items()))
    if not farewell.gone:
        return f"UNEXPECTED: it was still answering after {farewell.count} connections."
    if farewell.last < 0:
        return f"No new connection reached it after the change. Those after it: {after}."
    last = f"{farewell.last / 1e6:.0f} ms after the change"
    return f"The last new connection to it was made {last}. Those after it: {after}."


def third_act(theatre: Theatre) -> bool:
    """One packet, explained."""
    words, answer = explain(theatre, plan.PUZZLE)
    print(f"Why was the stranger not served?\n$ kube-proxy {' '.join(words)}\n{answer}")
    return True


def sweep(folder: Path) -> None:
    """Removes the folders of runs that were killed: their names say which process they belonged to."""
    for left in folder.glob(f"{FOLDER}*"):
        pid = left.name.removeprefix(FOLDER).partition(".")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(left, ignore_errors=True)
