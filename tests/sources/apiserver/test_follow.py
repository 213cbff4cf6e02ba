"""What an API server says arrives, in every way in which a server may say it."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tests.sources.apiserver.fake import FakeApi, Seen, serving
from tests.sources.apiserver.listening import FAST, Listener, cluster, listening, node
from tests.sources.apiserver.stories import EVERYTHING, of, told
from tests.sources.objects import service, slice_of

WAYS: dict[str, dict[str, Any]] = {
    "a stream": {},
    "pages": {"streams": False},
    "one page, as old servers do": {"streams": False, "pages": False},
}


@pytest.mark.parametrize("way", WAYS)
def test_everything_there_is_is_said_and_then_every_change(way: str) -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        assert sorted(heard.objects) == EVERYTHING
        api.put(service("new"))
        api.delete("Service", "shop/web")
        api.put(slice_of(endpoints=[{"addresses": ["10.244.9.9"]}]))
        await heard.until(lambda: heard.names("Service") == ["shop/cart", "shop/new"])
        await heard.until(lambda: addresses(heard, "shop/cart-1") == ("10.244.9.9",))
        assert heard.notices == []
        assert sorted(heard.synced) == sorted(set(heard.synced))

    told(story, FakeApi(**WAYS[way]))


def addresses(heard: Listener, name: str) -> tuple[str, ...]:
    found: Any = heard.objects[f"EndpointSlice {name}"]
    return tuple(found.endpoints[0].addresses)


QUERIES = {
    "nodes": "allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnode-a",
    "services": (
        "allowWatchBookmarks=true&fieldSelector=spec.clusterIP%21%3DNone"
        "&labelSelector=%21service.kubernetes.io%2Fservice-proxy-name"
    ),
    "endpointslices": "allowWatchBookmarks=true&labelSelector=%21service.kubernetes.io%2Fheadless",
    "servicecidrs": "allowWatchBookmarks=true",
}


def test_the_requests_are_these() -> None:
    """One for each list, which streams all there is and then goes on; timeouts differ from node to node."""

    async def story(api: FakeApi, heard: Listener) -> None:
        await heard.until_synced()
        assert api.seen[0].resource == "nodes"
        assert sorted(seen.resource for seen in api.seen) == sorted(QUERIES)
        for seen in api.seen:
            seconds = int(seen.query["timeoutSeconds"])
            assert 300 <= seconds <= 600
            minutes = f"{seconds // 60}m{seconds % 60}s"
            tail = f"resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeout={minutes}&timeoutSeconds={seconds}"
            assert seen.target.partition("?")[2] == f"{QUERIES[seen.resource]}&{tail}&watch=true"
            assert seen.headers == {
                "host": f"127.0.0.1:{api.port}",
                "user-agent": "kube-proxy/test",
                "accept": "application/json",
                "accept-encoding": "gzip",
            }
        assert len({seen.query["timeoutSeconds"] for seen in api.seen}) > 1

    told(story)


def test_the_requests_to_a_server_that_cannot_stream_are_these() -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        (_, first, watch) = await api.asked(of("servicecidrs"), 3)
        assert first.target.partition("?")[2] == "limit=500&resourceVersion=0"
        seconds = watch.query.pop("timeoutSeconds")
        assert watch.query == {
            "allowWatchBookmarks": "true",
            "resourceVersion": "107",
            "timeout": f"{int(seconds) // 60}m{int(seconds) % 60}s",
            "watch": "true",
        }

    told(story, FakeApi(streams=False))


def test_a_long_list_is_read_page_by_page() -> None:
    async def run() -> None:
        api = cluster(FakeApi(streams=False))
        api.put(*(service(f"s-{number:04}") for number in range(1203)))
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            assert len(heard.names("Service")) == 1205
            lists = [seen.query for seen in api.seen if of("services", "list")(seen)]
            assert [(q.get("resourceVersion"), q.get("continue"), q["limit"]) for q in lists] == [
                ("0", None, "500"),
                (None, "500:1310", "500"),
                (None, "1000:1310", "500"),
            ]
            # The pages and the watch after them came over the same connection: four lists, four connections.
            assert api.connections == 4

    asyncio.run(run())


def test_a_list_whose_pages_expired_is_asked_for_as_a_whole() -> None:
    async def run() -> None:
        api = FakeApi(streams=False)
        api.put(*(service(f"s-{number:04}") for number in range(600)))

        def compacts(seen: Seen) -> None:
            if "continue" in seen.query:
                api.put(service("late"))
                api.compact()

        api.meddle = compacts
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            await heard.until(lambda: len(heard.names("Service")) == 601)
            assert (
                api.seen[[of("services", "list")(seen) for seen in api.seen].index(True)].query["limit"]
                == "500"
            )
            whole = [seen for seen in api.seen if of("services", "list")(seen)][2]
            assert "limit" not in whole.query and "continue" not in whole.query

    asyncio.run(run())


def test_labels_that_leave_or_enter_the_selection_delete_and_add() -> None:
    other = {"service.kubernetes.io/service-proxy-name": "other"}

    async def story(api: FakeApi, heard: Listener) -> None:
        api.put(service(meta={"labels": other}))
        await heard.until(lambda: heard.names("Service") == ["shop/web"])
        api.put(service())
        await heard.until(lambda: heard.names("Service") == ["shop/cart", "shop/web"])
        api.put(service("web", clusterIP="None"))
        await heard.until(lambda: heard.names("Service") == ["shop/cart"])
        assert heard.deleted == ["Service shop/cart", "Service shop/web"]

    told(story)


def test_a_watch_that_ends_is_resumed_where_it_was() -> None:
    """Ends are planned by both sides; nothing is listed again, and nothing is missed in between."""

    async def story(api: FakeApi, heard: Listener) -> None:
        for number in range(5):
            api.put(service(f"s-{number}"))
            await api.asked(of("services", "watch", initial=False), number + 1)
        await heard.until(lambda: len(heard.names("Service")) == 7)
        assert len([seen for seen in api.seen if of("services", initial=True)(seen)]) == 1
        resumed = [
            int(seen.query["resourceVersion"]) for seen in api.seen if of("services", "watch", False)(seen)
        ]
        assert resumed == sorted(resumed) and resumed[0] >= 107
        assert heard.notices == []

    api = FakeApi()
    api.watch_seconds = 0.05
    told(story, api)


def test_bookmarks_move_the_place_to_resume_at() -> None:
    """A quiet list would otherwise fall behind what the server remembers."""

    async def story(api: FakeApi, heard: Listener) -> None:
        api.put(*(node("node-b", spec={"podCIDR": f"10.{number}.0.0/16"}) for number in range(30)))
        (resumed,) = (await api.asked(of("services", "watch", False)))[:1]
        assert int(resumed.query["resourceVersion"]) == 137

    api = FakeApi()
    api.watch_seconds, api.bookmarks = 0.2, 0.02
    told(story, api)


@pytest.mark.parametrize("streams", [True, False])
def test_what_went_while_the_server_forgot_is_gone_after_the_fresh_list(streams: bool) -> None:
    """410, as the status of an answer: the watch is begun at a version the server no longer has."""

    async def story(api: FakeApi, heard: Listener) -> None:
        await api.stop()
        api.delete("Service", "shop/web")
        api.put(service("new"), slice_of("new"))
        api.delete("EndpointSlice", "shop/cart-1")
        api.compact()
        await api.start()
        await heard.until(lambda: heard.names("Service") == ["shop/cart", "shop/new"])
        await heard.until(lambda: heard.names("EndpointSlice") == ["shop/new-1", "shop/web-1"])
        assert sorted(heard.deleted) == ["EndpointSlice shop/cart-1", "Service shop/web"]
        assert sorted(heard.synced) == sorted(set(heard.synced))
        again = [seen for seen in api.seen if of("services", initial=True)(seen)][-1]
        assert "resourceVersion" not in again.query

    told(story, FakeApi(streams=streams))


@pytest.mark.parametrize("streams", [True, False])
def test_what_went_unheard_in_a_watch_is_gone_too(streams: bool) -> None:
    """410, as an event of a watch that was begun in time."""

    async def story(api: FakeApi, heard: Listener) -> None:
        if not streams:
            await api.asked(of("services", "watch", False))
        api.version += 1
        del api.store["services"]["shop/web"]
        api.compact()
        await heard.until(lambda: heard.names("Service") == ["shop/cart"])
        assert heard.deleted == ["Service shop/web"]

    told(story, FakeApi(streams=streams))


def test_a_server_that_was_restored_to_an_earlier_state_is_believed() -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        await api.stop()
        api.version = 50
        del api.store["services"]["shop/web"]
        api.history.clear()
        await api.start()
        await heard.until(lambda: heard.names("Service") == ["shop/cart"])

    told(story)


def test_a_new_node_object_and_its_end_arrive() -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        assert heard.source.node_heard
        api.put(node(spec={"podCIDRs": ["10.9.0.0/24"]}))
        await heard.until(lambda: heard.source.node and heard.source.node.spec.podCIDRs)
        api.delete("Node", "/node-a")
        await heard.until(lambda: heard.source.node is None)
        assert heard.deleted == ["Node node-a"]

    told(story)


def test_the_node_alone_may_be_asked_for_first() -> None:
    async def run() -> None:
        async with serving(cluster(FakeApi())) as api, listening(api.url, watches=False) as heard:
            source = heard.source
            source.ask_for_node()
            while not source.node_heard:
                await source.stirs()
            assert source.node is not None
            assert [seen.resource for seen in api.seen] == ["nodes"]
            heard.begin()
            await heard.until_synced()
            # What was heard before is said too, and the Node is asked for once.
            assert sorted(heard.objects) == EVERYTHING
            assert len(api.seen) == 4

    asyncio.run(run())


def test_changes_that_come_together_are_handed_on_together() -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        before = len(heard.readings)
        api.put(*(service(f"s-{number}") for number in range(100)))
        await heard.until(lambda: len(heard.names("Service")) == 102)
        assert len(heard.readings) - before < 10

    told(story)


def test_packed_lists_are_unpacked() -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        assert sorted(heard.objects) == EVERYTHING

    api = FakeApi(streams=False)
    api.compress = True
    told(story, api)


def test_a_server_that_never_sends_bookmarks_is_left_alone() -> None:
    """Without a bookmark silence proves nothing, so a quiet watch lives until its own end."""

    async def story(api: FakeApi, heard: Listener) -> None:
        await asyncio.sleep(0.25)
        assert len(api.seen) == 12

    told(story, FakeApi(streams=False), pace=replace(FAST, silence=0.05))
