"""How many requests a second: a bucket of tokens that fills at a steady pace, shared by all who ask."""

import asyncio
from collections.abc import Callable

from kubeproxy.config.complaint import Complaint, ConfigError, Form


class RateLimit:
    """`qps` requests a second on average, `burst` at once; a negative `qps` limits nothing."""

    def __init__(self, qps: float, burst: int, clock: Callable[[], float]) -> None:
        if qps > 0 and burst <= 0:
            said = (
                "burst is required to be greater than 0 when RateLimiter is not set and QPS is set to"
                " greater than 0"
            )
            remedy = "set clientConnection.burst (--kube-api-burst) to 10"
            raise ConfigError(Complaint("clientConnection.burst", burst, said, remedy, form=Form.PLAIN))
        # Nothing said means the client library's own default.
        self._qps, self._burst = (float(qps), burst) if qps else (5.0, 10)
        self._clock = clock
        self._tokens = float(self._burst)
        self._at = clock()

    def reserve(self) -> float:
        """Take a token, which may be one of the future: the seconds until it is there."""
        if self._qps < 0:
            return 0.0
        now = self._clock()
        self._tokens = min(float(self._burst), self._tokens + (now - self._at) * self._qps)
        self._at = now
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._qps)

    async def turn(self) -> float:
        """Wait for our turn; how long that was."""
        wait = self.reserve()
        if wait > 0:
            await asyncio.sleep(wait)
        return wait
