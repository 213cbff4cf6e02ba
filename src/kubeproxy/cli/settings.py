"""Command line and file → the configuration to run with; whatever is wrong is said all at once."""

import sys
from pathlib import Path

from kubeproxy.config.check import check
from kubeproxy.config.complaint import Complaint, ConfigError, strictness, summary
from kubeproxy.config.effective import read_effective
from kubeproxy.config.invocation import Invocation
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.runtime.logs import log


class Unusable(Exception):
    """The configuration cannot be used; all that is to be said has been said."""


def load(invocation: Invocation) -> KubeProxyConfig:
    """The configuration that counts, checked."""
    try:
        text = Path(invocation.config).read_text(encoding="utf-8") if invocation.config else None
    except (OSError, UnicodeError) as error:
        log.error("command failed", f"failed complete: {error}", remedy="name a readable file with --config")
        raise Unusable from error
    try:
        reading = read_effective(invocation, text)
    except ConfigError as error:
        _complain("failed complete", error.complaints)
        raise Unusable from error
    config = reading.config
    log.verbosity, log.json = config.logging.verbosity, config.logging.format == "json"
    strict = strictness(reading.notices)
    if strict:
        log.info("Using lenient decoding as strict decoding failed", err=strict)
    for notice in reading.notices:
        log.info(str(notice))
    complaints = check(config)
    if complaints:
        _complain("failed validate", complaints)
        raise Unusable
    return config


def _complain(stage: str, complaints: tuple[Complaint, ...]) -> None:
    """The one line that scripts look for, then a line for each complaint with what to do about it."""
    log.error("command failed", f"{stage}: {summary(complaints)}")
    for complaint in complaints:
        print(f"  {complaint}", file=sys.stderr)
