"""Runs the tests tier by tier and prints one line each.

    tools/tiers.py                  the everyday tiers that this machine can run; the others say why not
    TIERS=all tools/tiers.py        every tier and the slow tests: what cannot run, or skips, has failed
    TIERS="unit lab" tools/tiers.py just these
    tools/tiers.py --show lab       just these, with everything they print

A tier in which no test ran has failed: a green line must mean that something was looked at.
Only the standard library is used, so that this can say what is wrong when nothing else can.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
PACKET_PROGRAMS = ("ip", "iptables", "iptables-restore", "ip6tables", "nft")
# A namespace tree of one's own needs a /run of one's own: ip keeps names there, iptables its lock.
OWN_RUN = 'mount -t tmpfs tmpfs /run && mkdir -p /run/netns && exec "$@"'
AS_ROOT_OF_ITS_OWN = (
    "unshare",
    "--user",
    "--map-root-user",
    "--net",
    "--mount",
    "--",
    "sh",
    "-c",
    OWN_RUN,
    "sh",
)


def anywhere() -> str:
    """Pure tests need nothing."""
    return ""


def real_kernel() -> str:
    """Why real packets cannot be sent here, or nothing."""
    missing = [name for name in PACKET_PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (make setup as root, or it names the packages)"
    probe = [*as_root(), "unshare", "--net", "ip", "link", "set", "lo", "up"]
    outcome = subprocess.run(probe, capture_output=True, text=True, check=False)
    if outcome.returncode == 0:
        return ""
    words = outcome.stderr.strip().splitlines()[-1:] or ["no reason given"]
    return f"no network namespace of our own: {words[0]} (run as root, or allow user namespaces)"


def as_root() -> tuple[str, ...]:
    """What to put before a command that needs root: nothing for root, a user namespace for others."""
    return () if os.geteuid() == 0 else AS_ROOT_OF_ITS_OWN


@dataclass(frozen=True)
class Tier:
    """A directory of tests and what it needs of the machine."""

    name: str
    paths: tuple[str, ...]
    without: tuple[str, ...] = ()
    obstacle: Callable[[], str] = anywhere
    root: bool = False
    everyday: bool = True


# A tier that has a directory of its own is left out of unit by that directory's name.
OWN_DIRECTORY = ("stories", "lab")
TIERS = (
    Tier("unit", ("tests",), without=tuple(f"tests/{name}" for name in OWN_DIRECTORY)),
    Tier("stories", ("tests/stories",)),
    Tier("lab", ("tests/lab",), obstacle=real_kernel, root=True),
)


@dataclass
class Outcome:
    """What became of one tier; `refused` are the reasons beside failed tests that make it fail."""

    tier: str
    passed: int = 0
    failed: int = 0
    skipped: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    idle: str = ""
    seconds: float = 0.0
    output: str = ""

    @property
    def bad(self) -> int:
        """Failed tests, and one for each reason to distrust the rest."""
        return self.failed + len(self.refused)

    def line(self) -> str:
        """The one line a person reads."""
        if self.idle:
            return f"{self.tier:8} could not run: {self.idle}"
        parts = [f"{self.passed} passed"]
        parts += [f"{self.failed} failed"] if self.failed else []
        parts += (
            [f"{len(self.skipped)} skipped ({'; '.join(sorted(set(self.skipped)))})"] if self.skipped else []
        )
        parts += [f"REFUSED: {reason}" for reason in self.refused]
        return f"{self.tier:8} {', '.join(parts)}  {self.seconds:.1f} s"


def selected(wish: str, tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    """The tiers somebody asked for: nothing means the everyday ones, `all` every one, else names."""
    if wish in ("", "all"):
        return tuple(tier for tier in tiers if wish == "all" or tier.everyday)
    names = wish.replace(",", " ").split()
    unknown = sorted(set(names) - {tier.name for tier in tiers})
    if unknown:
        known = ", ".join(tier.name for tier in tiers)
        raise SystemExit(f"tiers: there is no tier {', '.join(unknown)}; there are {known}, and all")
    return tuple(tier for tier in tiers if tier.name in names)


def command(tier: Tier, report: Path, demanded: bool, show: bool) -> list[str]:
    """How pytest is started for a tier; `demanded` brings the slow tests in."""
    words = [*(as_root() if tier.root else ()), sys.executable, "-m", "pytest", *tier.paths]
    words += [f"--ignore={path}" for path in tier.without]
    words += ["-m", "" if demanded else "not slow", f"--junitxml={report}", "-p", "no:cacheprovider"]
    return words + (["-s"] if show else [])


def count(report: str, outcome: Outcome) -> None:
    """Reads pytest's report into the outcome: an error in setting a test up is a failure too."""
    for case in ElementTree.fromstring(report).iter("testcase"):
        kinds = {child.tag: child for child in case}
        if "failure" in kinds or "error" in kinds:
            outcome.failed += 1
        elif "skipped" in kinds:
            outcome.skipped.append(kinds["skipped"].get("message") or "no reason given")
        else:
            outcome.passed += 1


def judge(outcome: Outcome, demanded: bool, status: int) -> Outcome:
    """Adds what makes a tier fail although no test of it did."""
    if outcome.idle:
        outcome.refused += ["a tier that cannot run proves nothing"] if demanded else []
        return outcome
    if not outcome.passed and not outcome.failed:
        outcome.refused.append("no test ran")
    if demanded and outcome.skipped:
        outcome.refused.append("a skipped test proves nothing")
    if status not in (0, 1, 5) and not outcome.failed:
        outcome.refused.append(f"pytest ended with {status}")
    return outcome


def run(tier: Tier, demanded: bool, show: bool, environ: Mapping[str, str]) -> Outcome:
    """Runs one tier and says what became of it."""
    outcome = Outcome(tier.name)
    paths = [path for path in tier.paths if (ROOT / path).is_dir()]
    outcome.idle = "" if paths else f"there is no {' or '.join(tier.paths)}"
    outcome.idle = outcome.idle or tier.obstacle()
    if outcome.idle:
        return judge(outcome, demanded, 0)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kube-proxy-tests.") as folder:
        report = Path(folder, "report.xml")
        done = subprocess.run(
            command(tier, report, demanded, show),
            cwd=ROOT,
            env={**environ, "TIERS": "all" if demanded else environ.get("TIERS", "")},
            stdout=None if show else subprocess.PIPE,
            stderr=None if show else subprocess.STDOUT,
            text=True,
            check=False,
        )
        if report.exists():
            count(report.read_text(), outcome)
    outcome.seconds = time.monotonic() - start
    outcome.output = done.stdout or ""
    return judge(outcome, demanded, done.returncode)


def main(words: Iterable[str], tiers: Sequence[Tier]) -> int:
    """Runs the tiers asked for; the exit status says whether all of it held."""
    names = list(words)
    show = "--show" in names
    asked = " ".join(name for name in names if name != "--show")
    wish = asked or os.environ.get("TIERS", "").strip()
    demanded = wish == "all"
    outcomes = []
    for tier in selected(wish, tiers):
        if sys.stdout.isatty():
            print(f"{tier.name:8} ...", end="\r", flush=True)
        outcome = run(tier, demanded, show, os.environ)
        outcomes.append(outcome)
        if outcome.bad:
            print(outcome.output)
        print(outcome.line(), flush=True)
    bad = sum(outcome.bad for outcome in outcomes)
    print(f"{sum(outcome.passed for outcome in outcomes)} passed, {bad} failed")
    return 1 if bad or not any(outcome.passed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], TIERS))
