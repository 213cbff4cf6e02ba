"""A long bad day of a server, by chance: afterwards we know exactly what it holds.

`SOAK_SEED` repeats a day, `SOAK_STEPS` makes it longer.
"""

import asyncio
import gc
import os
import random
import tracemalloc

import pytest
from msgspec.structs import replace

from tests.sources.apiserver.fake import KINDS, Deed, FakeApi, Seen, refusal, selected, serving
from tests.sources.apiserver.listening import FAST, Listener, cidr, listening, node
from tests.sources.http.middlemen import CERTS, server_tls
from tests.sources.objects import service, slice_of

STEPS = int(os.environ.get("SOAK_STEPS", "120"))
SEEDS = (
    [int(os.environ["SOAK_SEED"])]
    if "SOAK_SEED" in os.environ
    else [random.randrange(10**9) for _ in range(4)]
)
OTHER = {"labels": {"service.kubernetes.io/service-proxy-name": "other"}}
QUERIES = {
    "Node": {"fieldSelector": "metadata.name=node-a"},
    "Service": {
        "labelSelector": "!service.kubernetes.io/service-proxy-name",
        "fieldSelector": "spec.clusterIP!=None",
    },
    "EndpointSlice": {"labelSelector": "!service.kubernetes.io/headless"},
    "ServiceCIDR": {},
}


def held(api: FakeApi) -> dict[str, str]:
    """What should be known: name and version of everything that is selected."""
    return {
        f"{kind} {key.lstrip('/')}": obj["metadata"]["resourceVersion"]
        for kind, resource in KINDS.items()
        for key, obj in api.store[resource].items()
        if selected(obj, QUERIES[kind])
    }


def known(heard: Listener) -> dict[str, str]:
    return {name: obj.metadata.resourceVersion for name, obj in heard.objects.items()}


class BadDay:
    """Changes and mishaps, in an order that the seed tells."""

    def __init__(self, api: FakeApi, seed: int) -> None:
        self.api, self.chance = api, random.Random(seed)
        api.meddle = self.meddle
        self.up = True

    def meddle(self, _: Seen) -> Deed | None:
        chance = self.chance
        self.api.watch_seconds = chance.choice((0.02, 0.1, 5.0))
        if chance.random() < 0.6:
            return None
        return chance.choice(
            (
                Deed(cut_after=chance.randrange(3000)),
                Deed(hang_after=chance.randrange(3000)),
                Deed(raw=chance.randbytes(chance.randrange(50))),
                Deed(raw=b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + chance.randbytes(99)),
                Deed(
                    line=chance.choice((b"{", b"null", b"[]", b'{"type":"ADDED","object":{}}', b"x" * 5000))
                ),
                Deed(502, b"bad gateway"),
                refusal(500, "InternalError", "etcd"),
                refusal(410, "Expired", "too old"),
                refusal(403, "Forbidden", "not you"),
                refusal(401, "Unauthorized", "who"),
            )
        )

    async def step(self) -> None:
        chance, api = self.chance, self.api
        name = f"s-{chance.randrange(12)}"
        change = chance.choice(
            (
                lambda: api.put(service(name)),
                lambda: api.put(service(name, meta=OTHER)),
                lambda: api.put(service(name, clusterIP="None")),
                lambda: api.put(slice_of(name)),
                lambda: api.put(node(spec={"podCIDR": f"10.{chance.randrange(200)}.0.0/24"})),
                lambda: api.put(node("node-b")),
                lambda: api.delete("Service", f"shop/{name}"),
                lambda: api.delete("EndpointSlice", f"shop/{name}-1"),
                lambda: api.delete("Node", "/node-a"),
                lambda: api.put(cidr(name)),
                lambda: api.delete("ServiceCIDR", f"/{name}"),
                api.compact,
                api.cut_all,
            )
        )
        change()
        if chance.random() < 0.06:
            await (api.stop() if self.up else api.start())
            self.up = not self.up
        await asyncio.sleep(chance.choice((0, 0, 0.002, 0.01)))

    async def end(self) -> None:
        """The server is well again, and changes a last time."""
        self.api.meddle = lambda _: None
        self.api.watch_seconds = 5.0
        if not self.up:
            await self.api.start()
        self.api.put(service("last"))


@pytest.mark.parametrize("seed", SEEDS)
def test_after_a_bad_day_we_know_what_the_server_holds(seed: int) -> None:
    print(f"SOAK_SEED={seed}")

    async def run() -> None:
        api = FakeApi(server_tls(), streams=seed % 3 != 0)
        api.bookmarks, api.compress = 0.05, seed % 2 == 0
        pace = replace(FAST, longest=0.1, silence=0.3, answer=0.3, watch=1.0, grace=0.1)
        authority = (CERTS / "ca.crt").read_bytes()
        async with serving(api), listening(api.url, pace=pace, ca_data=authority, token="t") as heard:
            day = BadDay(api, seed)
            for _ in range(STEPS):
                await day.step()
            await day.end()
            await heard.until_synced()
            await heard.until(lambda: known(heard) == held(api), f"equal (SOAK_SEED={seed})")
            assert len(heard.synced) == 4
            assert (heard.source.node is not None) == ("Node node-a" in heard.objects)

    asyncio.run(run())


def test_memory_is_flat_over_a_day_of_watches() -> None:
    """24 hours have about 190 watches of each list; they end, are resumed, and now and then are cut."""

    async def run() -> list[int]:
        api = FakeApi(server_tls())
        api.put(node(), cidr(), *(service(f"s-{number}") for number in range(50)))
        api.watch_seconds = 0.001
        sizes = []
        authority = (CERTS / "ca.crt").read_bytes()
        async with serving(api), listening(api.url, ca_data=authority) as heard:
            await heard.until_synced()
            for _ in range(4):
                for hour in range(24):
                    await api.asked(lambda seen: seen.resource == "services", 8)
                    api.put(service(f"s-{hour % 50}"), service(f"new-{hour}"))
                    await heard.until(lambda hour=hour: f"Service shop/new-{hour}" in heard.objects)
                    api.delete("Service", f"shop/new-{hour}")
                    await heard.until(lambda hour=hour: f"Service shop/new-{hour}" not in heard.objects)
                    if hour % 6 == 0:
                        api.cut_all()
                    api.seen.clear()
                    api.history[:-50] = []
                    heard.readings.clear()
                    heard.deleted.clear()
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
        return sizes

    tracemalloc.start()
    try:
        sizes = asyncio.run(run())
    finally:
        tracemalloc.stop()
    # The first day fills what is filled once; after that a day leaves nothing behind.
    assert max(sizes[1:]) - min(sizes[1:]) < 64 * 1024, sizes
