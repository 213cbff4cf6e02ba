"""Which endpoints may be used as far as their own conditions go: ready, else draining."""

from collections.abc import Sequence

from kubeproxy.model.endpoint import Endpoint


def ready(endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    """The ready ones; the very same tuple if all are, because many Services share that fate."""
    chosen = [endpoint for endpoint in endpoints if endpoint.ready]
    return endpoints if len(chosen) == len(endpoints) else tuple(chosen)


def draining(endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    return tuple([e for e in endpoints if e.serving and e.terminating and not e.ready])


def eligible(endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    """Ready endpoints, or the draining ones when nobody is ready.

    A rollout can leave a moment without a ready endpoint. One that is on its way
    out still answers, so using it loses fewer connections than refusing.
    """
    return ready(endpoints) or draining(endpoints)


def usable(endpoint: Endpoint) -> bool:
    """Whether there is any situation in which it is given traffic."""
    return endpoint.ready or (endpoint.serving and endpoint.terminating)
