"""When a server answers and the answer is no: it is told once, what is missing is named, and it is asked again."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.sources.apiserver.fake import FakeApi, refusal, serving
from tests.sources.apiserver.listening import cluster, listening
from tests.sources.apiserver.test_faults import first
from tests.sources.apiserver.test_follow import of
from tests.sources.objects import service


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
