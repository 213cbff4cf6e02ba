"""The configuration file has changed: what to make of it while the proxy runs."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path

from kubeproxy.config.check import check
from kubeproxy.config.complaint import Complaint, ConfigError, Form, summary
from kubeproxy.config.decode import file_text
from kubeproxy.config.difference import Difference, differences, taking
from kubeproxy.config.effective import read_effective
from kubeproxy.config.invocation import Invocation
from kubeproxy.config.schema import KubeProxyConfig
from kubeproxy.kernel.errors import KernelError
from kubeproxy.runtime.configfile import stirs
from kubeproxy.runtime.logs import log
from kubeproxy.runtime.metrics import Metrics
from kubeproxy.runtime.modes import unavailable
from kubeproxy.runtime.standing import Standing


class Policy(StrEnum):
    """What --config-reload may be."""

    PENDING = "pending"
    LIVE = "live"
    EXIT = "exit"


class Reenter(Exception):
    """The proxy is to leave and to enter again, in this very process, with another configuration."""

    def __init__(self, config: KubeProxyConfig) -> None:
        super().__init__("the mode changed")
        self.config = config


class Reload:
    """Looks at the file whenever there is a reason to."""

    def __init__(
        self,
        invocation: Invocation,
        standing: Standing,
        metrics: Metrics,
        apply: Callable[[KubeProxyConfig], None],
    ) -> None:
        self._invocation, self._standing, self._metrics = invocation, standing, metrics
        self._apply = apply
        self._path = Path(invocation.config)
        self._policy = Policy(invocation.config_reload)
        self._seen = b""
        self._missing = False

    async def run(self) -> None:
        """Until cancelled, or until the change of the file ends this process."""
        async for _ in stirs(self._path):
            self.look()

    def look(self) -> None:
        """Once, if the file holds something else than the last time."""
        try:
            data = self._path.read_bytes()
        except OSError as error:
            # Between two writes of a swap there may be nothing for a moment; the next turn tells.
            if not self._missing:
                log.warning("The configuration file cannot be read; nothing changes", err=error)
            self._missing = True
            return
        self._missing = False
        digest = blake2b(data, digest_size=16).digest()
        if digest == self._seen:
            return
        self._seen = digest
        try:
            config = self._judged(data)
        except ConfigError as error:
            self._refuse(error)
            return
        self._take_in(config, differences(self._standing.running, config))

    def _judged(self, data: bytes) -> KubeProxyConfig:
        """What the file comes to together with the command line; ConfigError holds all that is wrong."""
        text = file_text(data, str(self._path))
        config = read_effective(self._invocation, text).config
        if complaints := check(config):
            raise ConfigError(*complaints)
        if (foreign := unavailable(config.mode)) is not None:
            raise ConfigError(foreign)
        return config

    def _refuse(self, error: ConfigError) -> None:
        log.error(
            "The configuration file changed and cannot be used; nothing changes",
            summary(error.complaints),
            file=str(self._path),
        )
        for complaint in error.complaints:
            log.error("Wrong in the configuration file", str(complaint))
        self._standing.problem = summary(error.complaints)
        self._metrics.config_changes.inc(result="refused")

    def _take_in(self, config: KubeProxyConfig, found: tuple[Difference, ...]) -> None:
        self._standing.problem = ""
        if not found:
            if self._standing.pending:
                log.info("The configuration file says again what holds; nothing is pending any more")
            self._wait(())
            return
        if self._policy is Policy.EXIT:
            _say("The configuration file changed", found, self._path)
            said = "content of the proxy server's configuration file was updated"
            remedy = "nothing is to be done where something starts the proxy again"
            raise ConfigError(Complaint("", None, said, remedy, form=Form.PLAIN))
        if self._policy is Policy.LIVE:
            found = self._applied(config, found)
        elif found != self._standing.pending:
            _say("The configuration file changed; this waits for the next start", found, self._path)
            self._metrics.config_changes.inc(result="pending")
        self._wait(found)

    def _applied(self, config: KubeProxyConfig, found: tuple[Difference, ...]) -> tuple[Difference, ...]:
        """Apply what can be, and return what cannot."""
        if any(one.field == "mode" for one in found):
            _say("The configuration file changed the mode; leaving and entering again", found, self._path)
            raise Reenter(config)
        now = tuple(one for one in found if one.live)
        later = tuple(one for one in found if not one.live)
        mixed = taking(self._standing.running, config, now)
        try:
            if complaints := check(mixed):
                raise ConfigError(*complaints)
            if now:
                self._apply(mixed)
        except (ConfigError, KernelError, OSError) as error:
            log.error("The change cannot be applied under way; all of it waits for the next start", error)
            now, later = (), found
        else:
            self._standing.running = mixed
        if now:
            _say("The configuration file changed; this is applied", now, self._path)
            self._metrics.config_changes.inc(result="applied")
        if later and later != self._standing.pending:
            _say("The configuration file changed; this waits for the next start", later, self._path)
            self._metrics.config_changes.inc(result="pending")
        return later

    def _wait(self, found: tuple[Difference, ...]) -> None:
        self._standing.pending = found
        self._metrics.config_pending.set(len(found))


def _say(what: str, found: Iterable[Difference], path: Path) -> None:
    """One line a field: operators look for the field they changed."""
    for one in found:
        log.info(what, field=one.field, before=one.before, after=one.after, file=str(path))
