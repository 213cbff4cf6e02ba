"""Command line and file → the configuration to run with; whatever is wrong is said all at once."""

import sys
from collections.abc import Sequence
from pathlib import Path

from kubeproxy.config.check import check
from kubeproxy.config.checklogging import check_logging
from kubeproxy.config.complaint import Complaint, ConfigError, strictness, summary
from kubeproxy.config.decode import ConfigReading, file_text
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
        data = Path(invocation.config).read_bytes() if invocation.config else None
        text = None if data is None else file_text(data, invocation.config)
        reading = read_effective(invocation, text)
    except OSError as error:
        said = f"failed complete: {unopened(invocation.config, error)}"
        log.error("command failed", said, remedy="name a readable file with --config")
        raise Unusable from error
    except ConfigError as error:
        # What has a path in the stock validation is told as that tells it, however early we notice.
        late = all(complaint.path for complaint in error.complaints)
        complain("failed validate" if late else "failed complete", error.complaints)
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


def unopened(path: str, error: OSError) -> str:
    """A file that could not be had, in the words that scripts know from Go."""
    return f"open {path}: {(error.strerror or str(error)).lower()}"


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
