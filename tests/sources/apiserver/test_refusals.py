"""What a server says that cannot be used, and what it refuses: named once, and no harm to anything else."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from tests.sources.apiserver.fake import (
    Deed,
    FakeApi,
    compact_json,
    refusal,
    serving,
)
from tests.sources.apiserver.listening import Listener, cluster, listening
from tests.sources.apiserver.stories import first, of, told
from tests.sources.objects import service, slice_of


def test_a_line_that_is_too_long_is_let_go_by() -> None:
    """What it was about is told, what was known of it stays, and the watch goes on."""
    huge = service("web", meta={"annotations": {"x": "y" * (17 * 1024 * 1024)}})

    async def story(api: FakeApi, heard: Listener) -> None:
        api.put(huge)
        api.put(service("after"))
        await heard.until(lambda: "shop/after" in heard.names("Service"))
        (said,) = heard.notices
        assert str(said.ref) == "Service shop/web"
        assert said.problem == "too large to be an object of an API server; it is kept as last heard"
        assert len([seen for seen in api.seen if of("services")(seen)]) == 1
        # Nor does a fresh list, in which it cannot be read either, take it away.
        api.compact()
        api.put(service("later"))
        await heard.until(lambda: "shop/later" in heard.names("Service"))
        assert heard.deleted == []

    told(story)


BAD = service("web", ports="eighty")


@pytest.mark.parametrize("streams", [True, False])
def test_an_object_that_makes_no_sense_is_named_and_skipped(streams: bool) -> None:
    async def run() -> None:
        api = cluster(FakeApi(streams=streams))
        api.put(BAD, service("z"))
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            assert heard.names("Service") == ["shop/cart", "shop/z"]
            (said,) = heard.notices
            assert (str(said.ref), said.field, said.value) == ("Service shop/web", "spec.ports", "eighty")
            assert said.problem == "expected a list, found text; it is skipped"
            api.put(service("web"))
            await heard.until(lambda: "shop/web" in heard.names("Service"))
            # Now that it is known, the next mistake leaves it as it is, also through a fresh list.
            api.put(BAD)
            await heard.until(lambda: len(heard.notices) == 2)
            assert heard.notices[1].problem.endswith("; it is kept as last heard")
            api.compact()
            api.put(service("later"))
            await heard.until(lambda: "shop/later" in heard.names("Service"))
            assert (heard.deleted, len(heard.notices)) == ([], 2)
            api.delete("Service", "shop/web")
            await heard.until(lambda: heard.deleted == ["Service shop/web"])

    asyncio.run(run())


def test_null_where_a_list_is_meant_is_an_empty_list() -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        api.put(slice_of(endpoints=None, ports=None))
        await heard.until(lambda: heard.objects["EndpointSlice shop/cart-1"].endpoints == ())  # type: ignore[union-attr]
        assert heard.notices == []

    told(story)


def test_unknown_events_and_errors_within_a_watch() -> None:
    async def story(api: FakeApi, heard: Listener) -> None:
        broken = json.loads(refusal(500, "InternalError", "etcd is on fire").body)
        deed = Deed(line=compact_json({"type": "ERROR", "object": broken}))
        api.meddle = first(1, deed, of("services", "watch", False))
        api.cut_all()
        api.put(service("new"))
        await heard.until(lambda: "shop/new" in heard.names("Service"))
        assert heard.notices == []
        api.meddle = lambda seen: deed if seen.resource == "services" else None
        api.cut_all()
        await heard.until(lambda: heard.said("the API server answers 500: etcd is on fire"))

    told(story)


def test_a_missing_right_is_named_once_and_tried_until_it_is_there() -> None:
    async def run() -> None:
        message = 'endpointslices is forbidden: User "system:kube-proxy" cannot watch resource'
        api = cluster(FakeApi())
        api.meddle = first(5, refusal(403, "Forbidden", message), of("endpointslices"))
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            said, over = heard.notices
            assert (said.field, said.value) == ("right", "watch endpointslices.discovery.k8s.io")
            assert said.problem == (
                f"the API server forbids us to watch endpointslices.discovery.k8s.io: {message}"
            )
            assert "system:node-proxier" in said.remedy
            assert over.problem == "endpointslices.discovery.k8s.io can be followed now"

    asyncio.run(run())


@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (404, "NotFound")])
def test_service_ranges_are_not_waited_for_where_they_cannot_be_had(code: int, reason: str) -> None:
    """Servers before 1.33, and roles of old, know nothing of them; a proxy does its work without."""

    async def run() -> None:
        api = cluster(FakeApi())
        api.meddle = lambda seen: refusal(code, reason, "no") if seen.resource == "servicecidrs" else None
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            assert "ServiceCIDR kubernetes" not in heard.objects
            await heard.until(lambda: heard.notices)
            api.meddle = lambda _: None
            await heard.until(lambda: "ServiceCIDR kubernetes" in heard.objects)
            assert heard.synced.count("ServiceCIDR") == 1

    asyncio.run(run())


def test_who_is_asked_to_wait_waits() -> None:
    async def run() -> None:
        api = cluster(FakeApi())
        api.meddle = first(1, refusal(429, "TooManyRequests", "slow down", Retry_After="1"), of("services"))
        async with serving(api), listening(api.url) as heard:
            began = time.monotonic()
            await heard.until_synced()
            assert time.monotonic() - began >= 1.0
            assert heard.notices == []

    asyncio.run(run())


@pytest.mark.parametrize("code", [500, 503])
def test_a_server_in_trouble_is_asked_again_and_its_words_are_told(code: int) -> None:
    async def run() -> None:
        api = cluster(FakeApi())
        api.meddle = first(3, refusal(code, "InternalError", "etcdserver: leader\nchanged"), of("services"))
        async with serving(api), listening(api.url) as heard:
            await heard.until_synced()
            assert len(heard.said(f"the API server answers {code}: etcdserver: leader changed")) == 1

    asyncio.run(run())


def test_a_token_that_is_renewed_is_used_at_once(tmp_path: Path) -> None:
    """It expires, the server says so, and the kubelet has written a new one, or will have in a moment."""
    token = tmp_path / "token"
    token.write_text("one\n")
    good = {"one"}

    async def run() -> None:
        api = cluster(FakeApi())
        api.meddle = lambda seen: (
            None
            if seen.headers.get("authorization", "").removeprefix("Bearer ") in good
            else refusal(401, "Unauthorized", "Unauthorized")
        )
        async with serving(api), listening(api.url, token_file=str(token)) as heard:
            await heard.until_synced()
            token.write_text("two\n")
            good.clear()
            good.add("two")
            api.cut_all()
            api.put(service("new"))
            await heard.until(lambda: "shop/new" in heard.names("Service"))
            await api.asked(lambda seen: seen.headers["authorization"] == "Bearer two", 4)
            assert heard.notices == []
            good.clear()
            good.add("three")
            api.cut_all()
            await heard.until(lambda: heard.notices)
            said = heard.notices[0]
            assert (said.field, said.problem) == (
                "credentials",
                "the API server does not know us: Unauthorized",
            )
            api.put(service("newer"))
            token.write_text("three\n")
            await heard.until(lambda: "shop/newer" in heard.names("Service"))
            assert len(heard.said("the API server does not know us")) == 1
            assert len(heard.said("the API server knows us again")) == 1

    asyncio.run(run())


def test_a_defect_of_ours_is_not_taken_for_silence() -> None:
    """If following a list ends in an exception that is nobody's answer, whoever watches must hear of it."""

    async def run() -> None:
        async with serving(cluster(FakeApi())) as api, listening(api.url, watches=False) as heard:

            async def breaks(*_: object) -> None:
                raise ZeroDivisionError

            heard.source._inbox.put = breaks  # type: ignore[method-assign]
            with pytest.raises(ZeroDivisionError):
                async for _ in heard.source.watch():
                    pass

    asyncio.run(run())
