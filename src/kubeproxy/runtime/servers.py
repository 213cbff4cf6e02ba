"""A port of the proxy's own, served for ever: opened, tried again when somebody else has it, moved."""

import asyncio
import socket
from typing import Final

from kubeproxy.runtime.http import Handler, Server, listening
from kubeproxy.runtime.logs import log

#: seconds until a port that somebody else has is tried again
RETRY: Final = 5.0


class Port:
    """One server, and where it listens; without an address it does not."""

    def __init__(self, name: str, address: str, handler: Handler, *, hard_fail: bool) -> None:
        self.name, self._address, self._handler = name, address, handler
        self._hard_fail = hard_fail
        self._moved = asyncio.Event()

    def move(self, address: str, *, hard_fail: bool) -> None:
        """Listen there from now on; whoever is connected is hung up on."""
        self._hard_fail = hard_fail
        if address != self._address:
            self._address = address
            self._moved.set()

    async def run(self) -> None:
        """Until cancelled, or until an address is taken and that is to be the end."""
        while True:
            self._moved.clear()
            server = Server(self._handler)
            try:
                if self._address and (sock := await self._open()) is not None:
                    await server.listen([sock])
                    await self._moved.wait()
                elif not self._address:
                    await self._moved.wait()
            finally:
                await server.close()

    async def _open(self) -> socket.socket | None:
        """The socket, once it can be had; None when another address is wanted meanwhile."""
        while not self._moved.is_set():
            host, port = split_host_port(self._address)
            try:
                return listening("" if host == "0.0.0.0" else host, port)
            except OSError as error:
                if self._hard_fail:
                    raise
                said = f"{self.name} server failed; it is tried again"
                log.folded(log.error, said, err=error, address=self._address)
            try:
                async with asyncio.timeout(RETRY):
                    await self._moved.wait()
            except TimeoutError:
                pass
        return None


def split_host_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)
