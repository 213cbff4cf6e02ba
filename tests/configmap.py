"""A directory as the kubelet mounts a ConfigMap: links to a link, and the second one is swapped."""

import itertools
from pathlib import Path


class ConfigMap:
    """`config.conf → ..data/config.conf`, `..data → ..1`; an update makes ..2, swaps ..data, removes ..1."""

    def __init__(self, folder: Path, **files: str) -> None:
        self.folder = folder
        self._serial = itertools.count(1)
        self._data: Path | None = None
        folder.mkdir()
        self.update(**files)

    def update(self, **files: str) -> None:
        """All files at once; a name's underscore stands for its dot."""
        fresh = self.folder / f"..{next(self._serial)}"
        fresh.mkdir()
        names = [name.replace("_", ".") for name in files]
        for name, text in zip(names, files.values(), strict=True):
            (fresh / name).write_text(text)
        link = self.folder / "..data_tmp"
        link.symlink_to(fresh.name)
        link.rename(self.folder / "..data")
        for name in names:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        if self._data is not None:
            for old in self._data.iterdir():
                old.unlink()
            self._data.rmdir()
        self._data = fresh

    @property
    def config(self) -> Path:
        return self.folder / "config.conf"
