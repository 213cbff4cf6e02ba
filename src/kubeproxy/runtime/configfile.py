"""The configuration file on disk: what it holds, and when to look again."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Final

#: writers take their time; what is read once they are quiet is whole
_DEBOUNCE_MS, _QUIET_MS = 1000, 100
#: a watch says nothing about a network's files, and may be lost: so there is a look now and then too
_TICK_MS: Final = 5000
_MOST_LINKS: Final = 40


async def stirs(path: Path) -> AsyncGenerator[None, None]:
    """A turn for every reason to look at the file, for ever, and one at once."""
    from watchfiles import awatch

    while True:
        watched = await asyncio.to_thread(folders, path)
        yield
        events = awatch(
            *watched,
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_QUIET_MS,
            rust_timeout=_TICK_MS,
            yield_on_timeout=True,
            recursive=False,
        )
        try:
            async with aclosing(events) as batches:
                async for _ in batches:
                    yield
                    if await asyncio.to_thread(folders, path) != watched:
                        break
        except (OSError, RuntimeError, ExceptionGroup):
            # No inotify here, or a directory went while the watch was being set up.
            await asyncio.sleep(_TICK_MS / 1000)


def folders(path: Path) -> tuple[Path, ...]:
    """Where the file can become another one: its directory, and that of every link on the way to it.

    A ConfigMap is mounted as a link to a link: the second one is swapped, and neither the first nor the old
    file notices.
    """
    found: dict[Path, None] = {}
    here, links = Path("/"), 0
    todo = list(reversed(path.absolute().parts[1:]))
    while todo:
        part = todo.pop()
        place = here.parent if part == ".." else here / part
        if not place.is_symlink() or links == _MOST_LINKS:
            if not todo and here.is_dir():
                found[here] = None
            here = place
            continue
        links += 1
        found[here] = None
        target = place.readlink()
        if target.is_absolute():
            here = Path("/")
        todo += reversed(target.parts[target.is_absolute() :])
    return tuple(found)
