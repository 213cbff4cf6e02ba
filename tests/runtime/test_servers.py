"""A port of the proxy's own: opened, waited for, moved, and given up when that is wanted."""

import asyncio
import contextlib
import socket

import pytest

from kubeproxy.runtime import servers
from kubeproxy.runtime.http import Answer, listening
from kubeproxy.runtime.servers import Port, split_host_port


async def hello(_request):
    return Answer(200, b"hello")


def free_address():
    with contextlib.closing(listening("127.0.0.1", 0)) as sock:
        return f"127.0.0.1:{sock.getsockname()[1]}"


async def answer(address):
    """The body, as soon as somebody answers there."""
    async with asyncio.timeout(30):
        while True:
            try:
                reader, writer = await asyncio.open_connection(*split_host_port(address))
            except OSError:
                await asyncio.sleep(0.001)
                continue
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            said = await reader.read()
            writer.close()
            return said.rpartition(b"\r\n\r\n")[2]


async def closed(address):
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection(*split_host_port(address))
            except ConnectionRefusedError:
                return
            except ConnectionResetError:
                # Taken in by the kernel and not yet by anybody when the socket closed.
                continue
            writer.close()
            await asyncio.sleep(0.001)


@contextlib.asynccontextmanager
async def running(port):
    task = asyncio.ensure_future(port.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_it_answers_and_moves_and_answers_there():
    async def story():
        first, second = free_address(), free_address()
        port = Port("Metrics", first, hello, hard_fail=True)
        async with running(port):
            assert await answer(first) == b"hello"
            port.move(second, hard_fail=True)
            assert await answer(second) == b"hello"
            await closed(first)
            port.move("", hard_fail=True)
            await closed(second)
            port.move(first, hard_fail=True)
            assert await answer(first) == b"hello"
        await closed(first)

    asyncio.run(story())


def test_a_move_to_where_it_is_disturbs_nobody():
    async def story():
        address = free_address()
        port = Port("Metrics", address, hello, hard_fail=False)
        async with running(port):
            await answer(address)
            reader, writer = await asyncio.open_connection(*split_host_port(address))
            port.move(address, hard_fail=True)
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert (await reader.read()).endswith(b"hello")
            writer.close()

    asyncio.run(story())


def test_a_port_that_is_taken_is_tried_again(monkeypatch, capsys):
    monkeypatch.setattr(servers, "RETRY", 0.001)

    async def story():
        with contextlib.closing(listening("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            port = Port("Healthz", address, hello, hard_fail=False)
            task = asyncio.ensure_future(port.run())
            # Whoever holds it answers nothing.
            done, _ = await asyncio.wait([task], timeout=0.05)
            assert not done
        assert await answer(address) == b"hello"
        task.cancel()

    asyncio.run(story())
    said = '"Healthz server failed; it is tried again" err="[Errno 98] Address already in use"'
    assert said in capsys.readouterr().err


def test_a_port_that_is_taken_may_be_the_end():
    async def story():
        with contextlib.closing(listening("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(OSError, match="Address already in use"):
                await Port("Healthz", address, hello, hard_fail=True).run()

    asyncio.run(story())


def test_who_waits_for_a_port_can_be_sent_elsewhere(monkeypatch):
    monkeypatch.setattr(servers, "RETRY", 3600.0)

    async def story():
        with contextlib.closing(listening("127.0.0.1", 0)) as taken:
            port = Port("Healthz", f"127.0.0.1:{taken.getsockname()[1]}", hello, hard_fail=False)
            async with running(port):
                await asyncio.sleep(0)
                elsewhere = free_address()
                port.move(elsewhere, hard_fail=False)
                assert await answer(elsewhere) == b"hello"

    asyncio.run(story())


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this kernel has no IPv6")
def test_everywhere_means_both_families():
    async def story():
        port = free_address().rpartition(":")[2]
        async with running(Port("Healthz", f"0.0.0.0:{port}", hello, hard_fail=True)):
            assert await answer(f"127.0.0.1:{port}") == b"hello"
            assert await answer(f"[::1]:{port}") == b"hello"

    asyncio.run(story())
