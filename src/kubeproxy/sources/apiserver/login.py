"""Who we are, request by request: files are read again each time, because they are replaced under us."""

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Final, TypeAlias

from kubeproxy.sources.apiserver.access import Access
from kubeproxy.sources.apiserver.execplugin import Credential, ask_plugin, fresh
from kubeproxy.sources.http.failure import Distrusted

_READABLE: Final = "see that the file is there and can be read; it is tried again"


#: what tells one version of a file from another, for each file
Files: TypeAlias = tuple[tuple[int, int, int], ...]


class Login:
    """The credential for the next request; what a plugin said is kept until it expires or is refused."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._said: Credential | None = None
        self._token = access.token
        self._asking = asyncio.Lock()

    async def credential(self) -> Credential:
        """Distrusted when there is none to be had."""
        access = self._access
        said = await self._plugin() if access.plugin is not None else Credential()
        certificate = said.certificate or _content(access.cert_data, access.cert_file)
        key = said.key or _content(access.key_data, access.key_file)
        headers = (*(said.headers or self._headers()), *access.impersonation)
        return Credential(headers, certificate, key)

    def refused(self, used: Credential) -> None:
        """The server does not believe this: the plugin is asked again, unless it has said something newer."""
        if self._said is not None and set(self._said.headers) <= set(used.headers):
            self._said = None

    def files(self) -> Files:
        """What the files look like from outside."""
        access = self._access
        names = (access.token_file, access.cert_file, access.key_file, access.ca_file)
        return tuple(_looks(Path(name)) for name in names if name)

    async def _plugin(self) -> Credential:
        access = self._access
        assert access.plugin is not None
        async with self._asking:
            if self._said is None or not fresh(self._said):
                self._said = None
                self._said = await ask_plugin(access.plugin, access)
            return self._said

    def _headers(self) -> tuple[tuple[str, str], ...]:
        access = self._access
        if access.token_file:
            self._read_token(Path(access.token_file))
        if self._token:
            return (("Authorization", f"Bearer {self._token}"),)
        if access.user or access.password:
            secret = b64encode(f"{access.user}:{access.password}".encode()).decode()
            return (("Authorization", f"Basic {secret}"),)
        return ()

    def _read_token(self, path: Path) -> None:
        """The last token serves as long as there is no newer one to be read."""
        try:
            token = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeError) as error:
            if not self._token:
                raise Distrusted(f"the token in {path} cannot be read: {error}", _READABLE) from error
            return
        if token.isprintable() and token:
            self._token = token
        elif not self._token:
            raise Distrusted(f"there is no token in {path}", _READABLE)


def _looks(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0, 0)
    return status.st_mtime_ns, status.st_ino, status.st_size


def _content(data: bytes, name: str) -> bytes:
    if data or not name:
        return data
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise Distrusted(f"{name} cannot be read: {error.strerror or error}", _READABLE) from error
