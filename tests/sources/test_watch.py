"""The directory stirs, and a reading comes; the tests wait for readings and never for time to pass."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from kubeproxy.sources.manifests import ManifestsSource
from kubeproxy.sources.notice import Reading
from tests.sources.objects import deletes, service, slice_of, synced, upserts, write

PATIENCE = 20.0
Next = Callable[[], Awaitable[Reading]]


def watching(directory: Path, story: Callable[[Next], Awaitable[None]]) -> None:
    async def run() -> None:
        source: AsyncGenerator[Reading, None] = ManifestsSource(directory).watch()
        async with aclosing(source) as readings:
            await story(lambda: asyncio.wait_for(anext(readings), PATIENCE))

    asyncio.run(run())


def test_an_edit_arrives(tmp_path: Path) -> None:
    write(tmp_path, "shop.yaml", service(), slice_of())

    async def story(following: Next) -> None:
        first = await following()
        assert len(upserts(first)) == 2 and len(synced(first)) == 4
        write(tmp_path, "shop.yaml", service(ports=[{"port": 81}]), slice_of())
        assert list(upserts(await following())) == ["Service shop/cart"]
        write(tmp_path, "web.yaml", service("web", clusterIP="10.96.0.11"), slice_of("web"))
        assert list(upserts(await following())) == ["Service shop/web", "EndpointSlice shop/web-1"]
        (tmp_path / "shop.yaml").unlink()
        assert deletes(await following()) == ["EndpointSlice shop/cart-1", "Service shop/cart"]

    watching(tmp_path, story)


def test_a_config_map_is_swapped(tmp_path: Path) -> None:
    def version(name: str, port: int) -> None:
        (tmp_path / name).mkdir()
        write(tmp_path / name, "shop.yaml", service(ports=[{"port": port}]), slice_of())
        (tmp_path / "..data_tmp").symlink_to(name)
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")

    version("..1", 80)
    (tmp_path / "shop.yaml").symlink_to("..data/shop.yaml")

    async def story(following: Next) -> None:
        await following()
        for number in (2, 3, 4):
            version(f"..{number}", number)
            reading = await following()
            assert reading.notices == ()
            assert upserts(reading)["Service shop/cart"].spec.ports[0].port == number  # type: ignore[union-attr]

    watching(tmp_path, story)


def test_the_directory_is_replaced_by_another(tmp_path: Path) -> None:
    home, other = tmp_path / "manifests", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    write(home, "shop.yaml", service(), slice_of())
    write(other, "shop.yaml", service(ports=[{"port": 82}]), slice_of())

    async def story(following: Next) -> None:
        await following()
        home.rename(tmp_path / "old")
        other.rename(home)
        reading = await following()
        while not upserts(reading):  # in between there was no directory, which may have been noticed
            assert reading.changes == ()
            reading = await following()
        assert list(upserts(reading)) == ["Service shop/cart"]
        write(home, "shop.yaml", service(ports=[{"port": 83}]), slice_of())
        assert list(upserts(await following())) == ["Service shop/cart"]

    watching(home, story)


def test_the_directory_comes_later_and_goes_for_a_while(tmp_path: Path) -> None:
    home = tmp_path / "manifests"

    async def story(following: Next) -> None:
        assert (await following()).changes == ()
        home.mkdir()
        reading = await following()
        assert len(synced(reading)) == 4
        write(home, "shop.yaml", service(), slice_of())
        assert len(upserts(await following())) == 2
        home.rename(tmp_path / "away")
        absent = await following()
        assert absent.changes == () and "cannot be read" in absent.notices[0].problem
        write(tmp_path / "away", "shop.yaml", service())
        (tmp_path / "away").rename(home)
        assert deletes(await following()) == ["EndpointSlice shop/cart-1"]

    watching(home, story)


def test_a_file_behind_a_link_elsewhere_is_followed(tmp_path: Path) -> None:
    """Nothing in the directory itself stirs then; the look now and again finds it."""
    home, elsewhere = tmp_path / "manifests", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    write(elsewhere, "shop.yaml", service(), slice_of())
    (home / "shop.yaml").symlink_to(elsewhere / "shop.yaml")

    async def story(following: Next) -> None:
        await following()
        write(elsewhere, "shop.yaml", service(ports=[{"port": 81}]), slice_of())
        assert list(upserts(await following())) == ["Service shop/cart"]

    watching(home, story)


def test_a_watch_can_be_cancelled_at_any_moment(tmp_path: Path) -> None:
    async def run() -> None:
        async with aclosing(ManifestsSource(tmp_path).watch()) as readings:
            await anext(readings)
            waiting = asyncio.ensure_future(anext(readings))
            await asyncio.wait([waiting], timeout=0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(run())
