"""How the tests of the source are told: a small cluster, a source that follows it, and what happens then."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.sources.apiserver.fake import Deed, FakeApi, Seen, serving
from tests.sources.apiserver.listening import Listener, cluster, listening

Story = Callable[[FakeApi, Listener], Awaitable[None]]
EVERYTHING = [
    "EndpointSlice shop/cart-1",
    "EndpointSlice shop/web-1",
    "Node node-a",
    "Service shop/cart",
    "Service shop/web",
    "ServiceCIDR kubernetes",
]


def told(story: Story, api: FakeApi | None = None, **more: Any) -> None:
    """A server with a small cluster, a source that follows it, and what happens then."""

    async def run() -> None:
        async with serving(cluster(api or FakeApi())) as server, listening(server.url, **more) as heard:
            await heard.until_synced()
            await story(server, heard)

    asyncio.run(run())


def of(resource: str, verb: str = "", initial: bool | None = None) -> Callable[[Seen], bool]:
    def matches(seen: Seen) -> bool:
        return (
            seen.resource == resource
            and verb in ("", seen.verb)
            and (initial is None or seen.initial is initial)
        )

    return matches


def first(
    times: int, deed: Deed, matches: Callable[[Seen], bool] = lambda _: True
) -> Callable[[Seen], Deed | None]:
    """Does it to the first requests of a kind, and then behaves."""
    left = {"n": times}

    def meddle(seen: Seen) -> Deed | None:
        if not matches(seen) or not left["n"]:
            return None
        left["n"] -= 1
        return deed

    return meddle
