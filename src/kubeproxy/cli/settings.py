"""Command line and file → the configuration to run with; whatever is wrong is said all at once."""

import sys
from collections.abc import Sequence
from pathlib import Path

from kubeproxy.config.check import check
from kubeproxy.config.checklogging import check_logging
from kubeproxy.config.complaint import Complaint, ConfigError, strictness, summary
from kubeproxy.config.decode import ConfigReading
from kubeproxy.config.effective import read_effective
from kubeproxy.config.goliteral import escaped
from kubeproxy.config.invocation import Invocation, flag_texts
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.runtime.logs import log


class Unusable(Exception):
    """The configuration cannot be used; all that is to be said has been said."""


def load(invocation: Invocation) -> KubeProxyConfig:
    """The configuration that counts, checked; from here on the log is as it wants it."""
    try:
        text = Path(invocation.config).read_text(encoding="utf-8") if invocation.config else None
    except (OSError, UnicodeError) as error:
        log.error("command failed", f"failed complete: {error}", remedy="name a readable file with --config")
        raise Unusable from error
    try:
        reading = read_effective(invocation, text)
    except ConfigError as error:
        complain("failed complete", error.complaints)
        raise Unusable from error
    say_reading(reading)
    config = reading.config
    logging = tuple(check_logging(config))
    complaints = check(config)
    if logging:
        complain("initialize logging", logging, *(other for other in complaints if other not in logging))
        raise Unusable
    log.configure(config.logging)
    for name, shown in flag_texts(invocation, config):
        log.bare(f"FLAG: --{name}={escaped(shown)}", v=1)
    if complaints:
        complain("failed validate", complaints)
        raise Unusable
    return config


def say_reading(reading: ConfigReading) -> None:
    """What the operator should hear of a file that can be used all the same."""
    strict = strictness(reading.notices)
    if strict:
        log.info("Using lenient decoding as strict decoding failed", err=strict)
    for notice in reading.notices:
        log.info(str(notice))


def complain(stage: str, complaints: Sequence[Complaint], *more: Complaint) -> None:
    """The one line that scripts look for, then a line for each complaint with what to do about it."""
    log.error("command failed", f"{stage}: {summary(complaints)}")
    for complaint in (*complaints, *more):
        print(f"  {complaint}", file=sys.stderr)
