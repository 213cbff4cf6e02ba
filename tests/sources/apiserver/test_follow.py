"""What an API server says arrives, in every way in which a server may say it."""

import asyncio
from typing import Any

import pytest

from tests.sources.apiserver.fake import FakeApi, serving
from tests.sources.apiserver.listening import listening
from tests.sources.objects import service, slice_of


def node(name: str = "node-a", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **fields}


def cidr(name: str = "kubernetes") -> dict[str, Any]:
    spec = {"cidrs": ["10.96.0.0/16"]}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": name},
        "spec": spec,
    }


def cluster(api: FakeApi) -> FakeApi:
    api.put(node(), node("node-b"), service(), service("web"), slice_of(), slice_of("web"), cidr())
    return api


WAYS = {
    "a stream": {},
    "pages": {"streams": False},
    "one page, as old servers do": {"streams": False, "pages": False},
}


@pytest.mark.parametrize("way", WAYS)
def test_everything_there_is_is_said_and_then_every_change(way: str) -> None:
    async def story() -> None:
        async with serving(cluster(FakeApi(**WAYS[way]))) as api, listening(api.url) as heard:
            await heard.until_synced()
            assert sorted(heard.objects) == [
                "EndpointSlice shop/cart-1",
                "EndpointSlice shop/web-1",
                "Node node-a",
                "Service shop/cart",
                "Service shop/web",
                "ServiceCIDR kubernetes",
            ]
            api.put(service("new"))
            api.delete("Service", "shop/web")
            api.put(slice_of(endpoints=[{"addresses": ["10.244.9.9"]}]))
            await heard.until(lambda: heard.names("Service") == ["shop/cart", "shop/new"])
            await heard.until(
                lambda: heard.objects["EndpointSlice shop/cart-1"].endpoints[0].addresses == ("10.244.9.9",)  # type: ignore[union-attr]
            )
            assert heard.notices == []
            assert sorted(heard.synced) == sorted(set(heard.synced))

    asyncio.run(story())
