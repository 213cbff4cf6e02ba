"""May we make network namespaces? As root, in a user namespace of our own, or not: then what to do."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

#: what the little cluster is made with, and the Debian package it is in
PROGRAMS = {
    "ip": "iproute2",
    "iptables": "iptables",
    "ip6tables": "iptables",
    "mount": "mount",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
#: set for the copy of us that runs inside a user namespace
INSIDE = "KUBE_PROXY_DEMO_USER_NAMESPACE"
USER_NAMESPACE = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--")
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")

PROC = Path("/proc/sys")
#: kernel settings that forbid user namespaces to ordinary users: their value then, and who has them
SWITCHES = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("user/max_user_namespaces", "0", "10000"),
)


class NoPrivilegeError(Exception):
    """Namespaces cannot be made here; the text says what to do."""


def find_programs() -> None:
    """Makes sure that the programs are there; an ordinary user's PATH often lacks where they are."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([*path, *(folder for folder in SBIN if folder not in path)])
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        packages = " ".join(sorted({PROGRAMS[name] for name in missing}))
        raise NoPrivilegeError(
            f"not installed: {', '.join(missing)}. On Debian and Ubuntu: sudo apt-get install -y {packages}"
        )


def enter(again: Sequence[str]) -> None:
    """Returns where namespaces may be made; may replace this process by `again` in a user namespace."""
    if os.environ.get(INSIDE):
        _own_run()
    elif os.geteuid() == 0:
        _try(("unshare", "--net", "--", "true"), "root may not make network namespaces here")
    else:
        _try((*USER_NAMESPACE, "true"), "this kernel allows no user namespaces to ordinary users")
        _replace((*USER_NAMESPACE, *again))


def _own_run() -> None:
    # The lock of iptables is in /run, which belongs to the real root.
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NoPrivilegeError(f"the user namespace may not mount its own /run: {done.stderr.strip()}")


def _try(argv: Sequence[str], otherwise: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoPrivilegeError(f"{otherwise} ({done.stderr.strip()}).\n{remedy()}")


def remedy() -> str:
    """What would help on this machine."""
    if os.geteuid() == 0:
        return "In a container, give it the capabilities SYS_ADMIN and NET_ADMIN, or run this on the machine."
    for name, forbids, allows in SWITCHES:
        path = PROC / name
        if path.exists() and path.read_text().strip() == forbids:
            setting = f"{name.replace('/', '.')}={allows}"
            return f"Either run the same command with sudo, or allow them: sudo sysctl -w {setting}"
    return "Run the same command with sudo."


def _replace(argv: Sequence[str]) -> NoReturn:
    sys.stdout.flush()
    os.execvpe(argv[0], list(argv), {**os.environ, INSIDE: "1"})
