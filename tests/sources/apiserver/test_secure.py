"""The whole source over TLS: proxies in between, and certificates that are replaced while it runs."""

import asyncio
import shutil
import ssl
from pathlib import Path

import pytest

from kubeproxy.sources.apiserver.client import Exchange
from kubeproxy.sources.http.url import Url
from tests.sources.apiserver.fake import FakeApi, serving
from tests.sources.apiserver.listening import FAST, client_of, cluster, listening
from tests.sources.apiserver.stories import EVERYTHING, of
from tests.sources.http.middlemen import CERTS, http_proxy, server_tls, talking
from tests.sources.objects import service

CA = (CERTS / "ca.crt").read_bytes()


def test_over_tls_with_a_token() -> None:
    async def run() -> None:
        async with (
            serving(cluster(FakeApi(server_tls()))) as api,
            listening(api.url, ca_data=CA, token="secret") as heard,
        ):
            await heard.until_synced()
            assert sorted(heard.objects) == EVERYTHING
            assert {seen.headers["authorization"] for seen in api.seen} == {"Bearer secret"}

    asyncio.run(run())


def test_a_server_nobody_vouches_for_is_told_and_not_used() -> None:
    async def run() -> None:
        async with (
            serving(cluster(FakeApi(server_tls("other-server")))) as api,
            listening(api.url, ca_data=CA) as heard,
        ):
            await heard.until(lambda: heard.notices)
            assert "unable to get local issuer certificate" in heard.notices[0].problem
            assert api.seen == []
            async with listening(api.url, insecure=True) as heard:
                await heard.until_synced()

    asyncio.run(run())


@pytest.mark.parametrize("text", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_an_authority_that_is_none_is_told(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(text)

    async def run() -> None:
        async with listening("https://127.0.0.1:1", ca_file=str(tmp_path / "ca.crt")) as heard:
            await heard.until(lambda: heard.notices)
            assert "certificate authority" in heard.notices[0].problem

    asyncio.run(run())


def put_pair(folder: Path, name: str) -> None:
    """As a kubelet does: both files are other ones from one moment to the next."""
    for kind in ("crt", "key"):
        fresh = folder / f"new.{kind}"
        shutil.copy(CERTS / f"{name}.{kind}", fresh)
        fresh.rename(folder / f"client.{kind}")


def test_a_client_certificate_that_is_replaced_is_shown_from_then_on(tmp_path: Path) -> None:
    put_pair(tmp_path, "client")
    files = {"cert_file": str(tmp_path / "client.crt"), "key_file": str(tmp_path / "client.key")}

    async def run() -> None:
        async with (
            serving(cluster(FakeApi(server_tls(clients=True)))) as api,
            listening(api.url, ca_data=CA, **files) as heard,
        ):
            await heard.until_synced()
            assert {seen.peer for seen in api.seen} == {"system:kube-proxy"}
            put_pair(tmp_path, "next-client")
            api.cut_all()
            await api.asked(lambda seen: seen.peer == "next", 4)
            assert heard.notices == []

    asyncio.run(run())


def test_a_certificate_out_of_the_kubeconfig_itself_is_shown() -> None:
    pair = {"cert_data": (CERTS / "client.crt").read_bytes(), "key_data": (CERTS / "client.key").read_bytes()}

    async def run() -> None:
        async with (
            serving(cluster(FakeApi(server_tls(clients=True)))) as api,
            listening(api.url, ca_data=CA, **pair) as heard,
        ):
            await heard.until_synced()
            assert {seen.peer for seen in api.seen} == {"system:kube-proxy"}

    asyncio.run(run())


def test_a_key_that_does_not_belong_to_the_certificate_is_told() -> None:
    pair = {"cert_data": (CERTS / "client.crt").read_bytes(), "key_data": (CERTS / "server.key").read_bytes()}

    async def run() -> None:
        async with listening("https://127.0.0.1:1", ca_data=CA, **pair) as heard:
            await heard.until(lambda: heard.notices)
            assert "our certificate cannot be used: key values mismatch" in heard.notices[0].problem

    asyncio.run(run())


def test_a_server_whose_certificate_comes_from_a_new_authority(tmp_path: Path) -> None:
    """It comes back with it; as soon as the authority's file is the new one, it is believed."""
    authority = tmp_path / "ca.crt"
    authority.write_bytes(CA)

    async def run() -> None:
        async with (
            serving(cluster(FakeApi(server_tls()))) as api,
            listening(api.url, ca_file=str(authority)) as heard,
        ):
            await heard.until_synced()
            await api.stop()
            api.tls = server_tls("other-server")
            api.put(service("new"))
            await api.start()
            await heard.until(lambda: heard.said("is not accepted") or heard.said("cannot be reached"))
            assert "shop/new" not in heard.names("Service")
            authority.write_bytes((CERTS / "other-ca.crt").read_bytes())
            await heard.until(lambda: "shop/new" in heard.names("Service"))
            assert heard.deleted == []

    asyncio.run(run())


def test_through_a_proxy() -> None:
    async def run() -> None:
        heard_by_proxy: list[bytes] = []
        async with (
            serving(cluster(FakeApi(server_tls()))) as api,
            talking(http_proxy(api.port, heard_by_proxy)) as port,
        ):
            proxy = Url("http", "127.0.0.1", port)
            async with listening("https://api.test:6443", ca_data=CA, proxy=proxy) as heard:
                await heard.until_synced()
                assert sorted(heard.objects) == EVERYTHING
                assert len(heard_by_proxy) == 4
                assert {seen.headers["host"] for seen in api.seen} == {"api.test:6443"}

    asyncio.run(run())


def test_through_a_proxy_without_tls_the_whole_url_is_asked_for() -> None:
    async def run() -> None:
        async with serving(cluster(FakeApi())) as api:
            # The server takes the proxy's part: what such a proxy is asked for, it is asked for itself.
            proxy = Url("http", "127.0.0.1", api.port, "", "me", "pw")
            async with listening("http://api.test:8080", proxy=proxy) as heard:
                await heard.until_synced()
                assert all(seen.target.startswith("http://api.test:8080/api") for seen in api.seen)
                assert all(seen.headers["proxy-authorization"] == "Basic bWU6cHc=" for seen in api.seen)

    asyncio.run(run())


def test_the_same_settings_are_used_as_long_as_they_are_the_same() -> None:
    async def run() -> None:
        async with serving(cluster(FakeApi(server_tls()))) as api:
            client = client_of(api.url, ca_data=CA)
            credential = await client._login.credential()
            first = client._trust.context(credential)
            assert isinstance(first, ssl.SSLContext)
            assert client._trust.context(credential) is first

    asyncio.run(run())


def test_whoever_counts_is_told_of_every_request() -> None:
    async def run() -> None:
        told: list[Exchange] = []
        async with (
            serving(cluster(FakeApi(streams=False))) as api,
            listening(api.url, client=client_of(api.url, told.append)) as heard,
        ):
            await heard.until_synced()
            await api.asked(of("services", "watch", False))
            assert {(each.verb, each.host, each.waited) for each in told} == {
                ("GET", f"127.0.0.1:{api.port}", 0.0)
            }
            assert sorted({(each.code, each.watch) for each in told if each.code != "200"}) == [("422", True)]
            lists = [each for each in told if not each.watch]
            assert len(lists) == 4
            assert all(0 < each.seconds < 5 and each.sent > 100 and each.received > 100 for each in lists)
            await api.stop()
            told.clear()
            async with listening(api.url, client=client_of(api.url, told.append), pace=FAST) as heard:
                await heard.until(lambda: heard.notices)
                assert told[0].code == "<error>"
            await api.start()

    asyncio.run(run())
