"""Which modes this release can run, and what to say of the others."""

from typing import Final

from kubeproxy.config.complaint import Complaint, Form

AVAILABLE: Final = ("iptables",)


def unavailable(mode: str) -> Complaint | None:
    if mode in AVAILABLE:
        return None
    said = f"mode {mode} is not part of this release yet"
    remedy = f"choose --proxy-mode {AVAILABLE[0]}, or mode: {AVAILABLE[0]} in the file"
    return Complaint("mode", mode, said, remedy, form=Form.PLAIN)
