"""A port of the proxy's own, served for ever: opened, tried again when somebody else has it."""

import asyncio
from typing import Final

from kubeproxy.runtime.http import Handler, Server, listening
from kubeproxy.runtime.logs import log

#: seconds until a port that somebody else has is tried again
RETRY: Final = 5.0


async def serve_pages(name: str, address: str, handler: Handler, *, hard_fail: bool) -> None:
    """Serve for ever; a port that is taken is tried again, unless the operator wants that to be the end."""
    host, port = split_host_port(address)
    server = Server(handler)
    while True:
        try:
            sockets = [listening("" if host == "0.0.0.0" else host, port)]
            break
        except OSError as error:
            if hard_fail:
                raise
            log.folded(log.error, f"{name} server failed; it is tried again", err=error, address=address)
            await asyncio.sleep(RETRY)
    await server.listen(sockets)
    try:
        await asyncio.Event().wait()
    finally:
        await server.close()


def split_host_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)
