"""A file is not where its name is: what has to be watched so that no change is missed."""

import asyncio
from contextlib import aclosing

import pytest

from kubeproxy.runtime.configfile import folders, stirs
from tests.configmap import ConfigMap


def test_a_plain_file_lives_in_its_directory(tmp_path):
    (tmp_path / "config").touch()
    assert folders(tmp_path / "config") == (tmp_path,)
    assert folders(tmp_path / "missing") == (tmp_path,)


def test_every_link_on_the_way_can_be_swapped(tmp_path):
    real, links = tmp_path / "real", tmp_path / "links"
    for folder in (real, links):
        folder.mkdir()
    (real / "config").touch()
    (tmp_path / "alias").symlink_to("links")
    (links / "config").symlink_to("../real/config")
    assert set(folders(tmp_path / "alias" / "config")) == {tmp_path, links, real}
    (links / "absolute").symlink_to(real / "config")
    assert set(folders(links / "absolute")) == {links, real}


def test_a_configmap_is_watched_where_its_link_is_swapped(tmp_path):
    mounted = ConfigMap(tmp_path / "mounted", config_conf="a")
    assert set(folders(mounted.config)) == {mounted.folder, mounted.folder / "..1"}


def test_links_that_go_round_are_no_end_of_the_world(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert folders(tmp_path / "a") == (tmp_path,)


async def seen_after(path, change, text):
    """Whether a turn comes after the change at which the file says the text."""
    async with asyncio.timeout(30), aclosing(stirs(path)) as turns:
        await anext(turns)
        waiting = asyncio.ensure_future(anext(turns))
        # The watch is set up by a task and a thread; what happens before it stands is seen by the next look.
        await asyncio.sleep(0)
        change()
        await waiting
        while not path.exists() or path.read_text() != text:
            await anext(turns)


def swap(mounted):
    mounted.update(config_conf="new")


def write_in_place(mounted):
    (mounted.folder / "..1" / "config.conf").write_text("new")


def replace(mounted):
    fresh = mounted.folder / "fresh"
    fresh.write_text("new")
    fresh.rename(mounted.config)


def remove_and_make(mounted):
    mounted.config.unlink()
    mounted.config.write_text("new")


@pytest.mark.parametrize("change", [swap, write_in_place, replace, remove_and_make])
def test_no_way_of_changing_a_file_is_missed(change, tmp_path):
    mounted = ConfigMap(tmp_path / "mounted", config_conf="old")
    asyncio.run(seen_after(mounted.config, lambda: change(mounted), "new"))


def test_a_second_swap_is_seen_like_the_first(tmp_path):
    """After a swap the file lives in another directory, and the first one is gone."""
    mounted = ConfigMap(tmp_path / "mounted", config_conf="old")

    async def twice():
        async with asyncio.timeout(30), aclosing(stirs(mounted.config)) as turns:
            await anext(turns)
            for text in ("first", "second", "third"):
                waiting = asyncio.ensure_future(anext(turns))
                await asyncio.sleep(0)
                mounted.update(config_conf=text)
                await waiting
                while mounted.config.read_text() != text:
                    await anext(turns)

    asyncio.run(twice())
