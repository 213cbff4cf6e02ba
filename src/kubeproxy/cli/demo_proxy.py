"""The real daemon on the stage: this very program, started on a node, and when it is ready."""

import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kubeproxy.cli.stage.questions import Dial
from kubeproxy.cli.stage.rooms import StageError
from kubeproxy.cli.stage.stage import Stage

#: wherever it is installed
KUBE_PROXY = (sys.executable, "-c", "import sys; from kubeproxy.cli.main import main; sys.exit(main())")
STARTS_WITHIN = 30.0
LAST_WORDS = 20
PORTION_OF_PATIENCE = 1.0


class Files(Struct, frozen=True):
    """What a proxy reads and writes, in one folder."""

    folder: Path

    @property
    def manifests(self) -> Path:
        return self.folder / "manifests"

    @property
    def config(self) -> Path:
        return self.folder / "config.yaml"

    @property
    def log(self) -> Path:
        return self.folder / "kube-proxy.log"

    def options(self) -> list[str]:
        """What the daemon, and every verb that shall see the same, is started with."""
        return ["--manifests", str(self.manifests), "--config", str(self.config)]


def start(
    stage: Stage, room: str, argv: Sequence[str], log: Path, ready: Iterable[Dial]
) -> "subprocess.Popen[str]":
    """Starts any proxy, and returns once all these dials are answered."""
    with log.open("a") as words:
        process = stage.start(room, argv, words)
    for dial in ready:
        _wait_for(stage, process, log, replace(dial, timeout=PORTION_OF_PATIENCE))
    return process


def _wait_for(stage: Stage, process: "subprocess.Popen[str]", log: Path, dial: Dial) -> None:
    """Dials until it is answered; says what the proxy said when it never is."""
    deadline = time.monotonic() + STARTS_WITHIN
    while True:
        try:
            stage.until(dial, seconds=PORTION_OF_PATIENCE)
            return
        except StageError as error:
            ended = process.poll()
            if ended is None and time.monotonic() < deadline:
                continue
            state = "did not get ready" if ended is None else f"ended with {ended}"
            said = "\n".join(log.read_text(errors="replace").splitlines()[-LAST_WORDS:])
            raise StageError(f"kube-proxy {state}: {error}\nIts last words:\n{said}") from None
