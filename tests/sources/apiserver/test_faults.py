"""Whatever a server does, nothing that is known is lost, everything arrives in the end, and it is said once."""

import asyncio
import time

import pytest
from msgspec.structs import replace

from kubeproxy.sources.notice import Level
from tests.sources.apiserver.fake import (
    Deed,
    FakeApi,
    compact_json,
    event,
    serving,
)
from tests.sources.apiserver.listening import FAST, Listener, cluster, listening, node
from tests.sources.apiserver.stories import EVERYTHING, first, of, told
from tests.sources.objects import service

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"


def test_a_server_that_is_absent_is_waited_for_and_said_once() -> None:
    async def run() -> None:
        api = cluster(FakeApi())
        await api.start()
        await api.stop()
        async with listening(api.url) as heard:
            await heard.until(lambda: heard.notices)
            await asyncio.sleep(0.2)
            (said,) = heard.notices
            assert (said.level, said.field, said.value) == (Level.ERROR, "server", api.url)
            assert f"127.0.0.1:{api.port} cannot be reached: connection refused" in said.problem
            assert "what is programmed stays as it is" in said.problem
            assert heard.synced == []
            await api.start()
            await heard.until_synced()
            assert sorted(heard.objects) == EVERYTHING
            assert [notice.problem for notice in heard.notices[1:]] == ["the API server answers again"]
        await api.stop()

    asyncio.run(run())


def test_what_lasts_is_said_again_now_and_then() -> None:
    async def run() -> None:
        async with listening("http://127.0.0.1:1", pace=replace(FAST, remind=0.1)) as heard:
            await heard.until(lambda: len(heard.notices) == 3)
            assert "(for 0 minutes now)" in heard.notices[1].problem
            assert len({notice.problem.partition(" (for")[0] for notice in heard.notices}) == 1

    asyncio.run(run())


@pytest.mark.parametrize(
    ("deed", "said"),
    [
        (Deed(raw=b""), "the connection was closed before an answer came"),
        (Deed(raw=b"HTTP/1.1 200 OK\r\nConte"), "the connection was closed before an answer came"),
        (Deed(raw=b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "the answer does not begin as HTTP does"),
        (Deed(raw=HTML), "the answer is text/html, not application/json"),
        (Deed(hang=True), "no answer within 0.6 s"),
        (Deed(502, b"<h1>bad gateway</h1>"), "502 <h1>bad gateway</h1>"),
        (
            Deed(raw=b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n"),
            "the head of the answer has more than",
        ),
    ],
)
def test_answers_that_are_none_are_asked_for_again(deed: Deed, said: str) -> None:
    async def run() -> None:
        api = cluster(FakeApi())
        api.meddle = first(16, deed)
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            assert sorted(heard.objects) == EVERYTHING
            assert len(heard.said(said)) == 1, heard.notices
            await heard.until(lambda: heard.said("the API server answers again"))

    asyncio.run(run())


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("size", [0, 1, 97, 150, 310, 700, 1000, 1200])
def test_lists_that_are_cut_anywhere_are_read_again(size: int, streams: bool) -> None:
    async def run() -> None:
        api = cluster(FakeApi(streams=streams))
        api.meddle = first(8, Deed(cut_after=size))
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            assert sorted(heard.objects) == EVERYTHING
            assert heard.deleted == []

    asyncio.run(run())


@pytest.mark.parametrize("size", [120, 131, 160, 300, 420])
def test_watches_that_are_cut_anywhere_are_resumed_without_a_word(size: int) -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        api.meddle = first(3, Deed(cut_after=size), of("services", "watch", False))
        api.cut_all()
        await api.asked(of("services", "watch", False))
        for number in range(8):
            api.put(service(f"s-{number}"))
            await asyncio.sleep(0.005)
        await heard.until(lambda: len(heard.names("Service")) == 10)
        assert heard.deleted == []
        assert len([seen for seen in api.seen if of("services", initial=True)(seen)]) == 1

    told(story)


def test_a_server_that_comes_back_is_right_within_five_seconds() -> None:
    """At the pace of the real thing, after so many failures that any back-off is at its longest."""

    async def story(api: FakeApi, heard: Listener) -> None:
        source = heard.source
        assert source is not None
        await api.stop()
        api.put(service("new"))
        await asyncio.sleep(3.0)
        await api.start()
        back = time.monotonic()
        await heard.until(lambda: "shop/new" in heard.names("Service"))
        assert time.monotonic() - back < 5.0

    told(story, pace=replace(FAST, first=0.8, away=2.0))


def test_slow_bytes_are_waited_for() -> None:
    async def run() -> None:
        api = cluster(FakeApi())
        api.meddle = lambda _: Deed(slow=0.0002)
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            assert sorted(heard.objects) == EVERYTHING
            assert heard.notices == []

    asyncio.run(run())


def test_a_watch_that_hangs_is_given_up_when_bookmarks_stay_away() -> None:
    """Nothing is cut, nothing is closed: there is just nothing any more."""

    async def story(api: FakeApi, heard: Listener) -> None:
        api.meddle = first(1, Deed(hang_after=120), of("services", "watch", False))
        api.cut_all()
        await api.asked(of("services", "watch", False))
        api.put(service("new"))
        await heard.until(lambda: "shop/new" in heard.names("Service"))
        assert len(await api.asked(of("services", "watch", False), 2)) == 2
        assert heard.notices == []

    api = FakeApi()
    api.bookmarks = 0.03
    told(story, api, pace=replace(FAST, silence=0.2))


def test_a_watch_that_outlives_its_end_is_given_up() -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        api.meddle = lambda _: None
        api.put(service("new"))
        await heard.until(lambda: "shop/new" in heard.names("Service"))
        assert heard.notices == []

    api = FakeApi()
    api.meddle = lambda seen: Deed(hang_after=100_000)
    api.watch_seconds = 1000.0
    told(story, api, pace=replace(FAST, watch=1.0, grace=0.1))


def test_a_stream_that_never_ends_its_list_is_given_up_for_a_plain_list() -> None:
    """An old server may take the question for an ordinary watch, and never say that it does."""

    async def run() -> None:
        api = cluster(FakeApi())
        api.meddle = lambda seen: Deed(hang_after=140) if of("services", "watch", True)(seen) else None
        async with serving(api), listening(api.url, pace=replace(FAST, answer=0.1)) as heard:
            await heard.until_synced()
            assert sorted(heard.objects) == EVERYTHING

    asyncio.run(run())


def test_garbage_in_a_watch_costs_nothing() -> None:
    """Once it is resumed where it was; what is garbled twice at one place is left behind by a fresh list."""

    async def story(api: FakeApi, heard: Listener) -> None:
        api.meddle = first(2, Deed(line=b'{"type":"ADDED","obj'), of("services", "watch", False))
        api.cut_all()
        api.put(service("new"))
        await heard.until(lambda: "shop/new" in heard.names("Service"))
        watches = [seen for seen in api.seen if of("services", "watch")(seen)]
        assert [seen.initial for seen in watches] == [True, False, False, True]
        assert len(heard.said("a watch of services says what is no event")) == 1
        assert heard.deleted == []

    told(story)


def test_garbage_for_ever_is_told() -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        api.meddle = lambda seen: Deed(line=b"}") if seen.resource == "services" else None
        api.cut_all()
        await heard.until(lambda: heard.notices)
        assert len(heard.said("a watch of services says what is no event")) == 1
        api.put(service("new"))
        api.meddle = lambda _: None
        await heard.until(lambda: "shop/new" in heard.names("Service"))
        await heard.until(lambda: heard.said("services can be followed now"))

    told(story)


def test_lists_that_are_always_cut_are_told() -> None:
    """Each of them begins well."""

    async def run() -> None:
        api = cluster(FakeApi())
        api.meddle = lambda _: Deed(cut_after=200)
        async with serving(api), listening(api.url) as heard:
            await heard.until(lambda: heard.said("in the middle of an answer"))
            api.meddle = lambda _: None
            await heard.until_synced()
            await heard.until(lambda: heard.said("the API server answers again"))

    asyncio.run(run())


def test_an_answer_may_go_on_behind_its_end() -> None:
    """Nothing of what nobody asked for is taken for the next answer."""

    async def run() -> None:
        body = compact_json({"kind": "NodeList", "metadata": {"resourceVersion": "5"}, "items": [node()]})
        smuggled = event("ADDED", node("evil"))
        answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
            body
        )
        api = cluster(FakeApi(streams=False))
        api.meddle = first(1, Deed(raw=answer + body + smuggled), of("nodes", "list"))
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            assert heard.names("Node") == ["node-a"]

    asyncio.run(run())
