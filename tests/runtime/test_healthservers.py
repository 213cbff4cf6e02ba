"""Each Service's health-check port: opened, answered, moved and closed, on real sockets of the loopback."""

import asyncio
import http.client
import json
import socket
from collections.abc import Sequence

import pytest

from kubeproxy.model.identity import ServiceName
from kubeproxy.routes.healthports import HealthPort
from kubeproxy.runtime.healthservers import HealthServers

WEB, MAIL = ServiceName("shop", "web"), ServiceName("shop", "mail")

BODY = b"""{
\t"service": {
\t\t"namespace": "shop",
\t\t"name": "web"
\t},
\t"localEndpoints": 2,
\t"serviceProxyHealthy": true
}"""


@pytest.fixture
def ports() -> list[int]:
    """Three numbers that are free."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    numbers = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets:
        sock.close()
    return numbers


class Node:
    """The servers of a node that may be unwell, told what changes one call at a time."""

    def __init__(self, hosts: Sequence[str] = ("127.0.0.1",)) -> None:
        self.well = True
        self.servers = HealthServers(lambda: hosts, lambda: self.well)

    async def apply(self, *states: HealthPort, gone: Sequence[ServiceName] = ()) -> None:
        await self.servers.apply({state.service: state for state in states} | dict.fromkeys(gone))

    async def ask(self, port: int, host: str = "127.0.0.1") -> tuple[int, dict[str, str], bytes]:
        return await asyncio.to_thread(asked, host, port)

    async def counts(self, *ports: int) -> list[int | None]:
        """What each answers, None where nobody does."""
        found: list[int | None] = []
        for port in ports:
            try:
                found.append(json.loads((await self.ask(port))[2])["localEndpoints"])
            except ConnectionRefusedError:
                found.append(None)
        return found


def asked(host: str, port: int) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(host, port, timeout=10)
    connection.request("GET", "/any/path")
    answer = connection.getresponse()
    shown = {name: value for name, value in answer.getheaders() if name not in ("Date", "Content-Length")}
    body = answer.read()
    connection.close()
    return answer.status, shown, body


def run(story) -> None:
    """Play it on a node, and leave nothing open."""

    async def play() -> None:
        node = Node()
        try:
            await story(node)
        finally:
            await node.servers.close()

    asyncio.run(play())


def test_an_answer_word_by_word(ports):
    async def story(node: Node) -> None:
        await node.apply(HealthPort(WEB, ports[0], 2))
        status, headers, body = await node.ask(ports[0])
        assert status == 200
        assert headers == {
            "Content-Type": "application/json",
            "X-Content-Type-Options": "nosniff",
            "X-Load-Balancing-Endpoint-Weight": "2",
        }
        assert body == BODY

    run(story)


@pytest.mark.parametrize(
    ("local", "well", "status"), [(1, True, 200), (0, True, 503), (1, False, 503), (0, False, 503)]
)
def test_clients_are_sent_where_an_endpoint_and_a_healthy_proxy_are(ports, local, well, status):
    async def story(node: Node) -> None:
        await node.apply(HealthPort(WEB, ports[0], local))
        node.well = well
        found, headers, body = await node.ask(ports[0])
        assert (found, headers["X-Load-Balancing-Endpoint-Weight"]) == (status, str(local))
        assert json.loads(body)["serviceProxyHealthy"] is well

    run(story)


def test_counts_change_without_closing_the_port(ports):
    async def story(node: Node) -> None:
        await node.apply(HealthPort(WEB, ports[0], 2))
        before = node.servers._servers[WEB]
        await node.apply(HealthPort(WEB, ports[0], 0))
        assert await node.counts(ports[0]) == [0]
        assert node.servers._servers[WEB] is before

    run(story)


def test_ports_move_and_close(ports):
    async def story(node: Node) -> None:
        await node.apply(HealthPort(WEB, ports[0], 1), HealthPort(MAIL, ports[1], 2))
        assert await node.counts(*ports) == [1, 2, None]
        await node.apply(HealthPort(WEB, ports[2], 3))
        assert await node.counts(*ports) == [None, 2, 3]
        await node.apply(gone=[MAIL])
        assert await node.counts(*ports) == [None, None, 3]

    run(story)


def test_two_services_may_change_their_numbers_with_each_other(ports):
    async def story(node: Node) -> None:
        await node.apply(HealthPort(WEB, ports[0], 1), HealthPort(MAIL, ports[1], 2))
        await node.apply(HealthPort(WEB, ports[1], 1), HealthPort(MAIL, ports[0], 2))
        assert await node.counts(*ports) == [2, 1, None]

    run(story)


def test_a_port_that_somebody_else_has_is_tried_again_with_every_sync(ports, capsys):
    async def story(node: Node) -> None:
        with socket.create_server(("127.0.0.1", ports[0])):
            await node.apply(HealthPort(WEB, ports[0], 1))
            await node.apply()
        await node.apply(HealthPort(MAIL, ports[1], 2))
        assert await node.counts(*ports) == [1, 2, None]

    run(story)
    said = [line for line in capsys.readouterr().err.splitlines() if "Failed to start healthcheck" in line]
    assert len(said) == 1
    assert 'service="shop/web"' in said[0]


def test_who_waits_for_a_port_and_goes_is_forgotten(ports):
    async def story(node: Node) -> None:
        with socket.create_server(("127.0.0.1", ports[0])):
            await node.apply(HealthPort(WEB, ports[0], 1))
            await node.apply(gone=[WEB])
        await node.apply()
        assert await node.counts(*ports) == [None, None, None]

    run(story)


def test_it_listens_on_every_address_or_on_none(ports):
    async def story(node: Node) -> None:
        node = Node(("127.0.0.1", "127.0.0.2"))
        with socket.create_server(("127.0.0.2", ports[0])):
            await node.apply(HealthPort(WEB, ports[0], 1))
            assert await node.counts(ports[0]) == [None]
        await node.apply()
        assert (await node.ask(ports[0], "127.0.0.2"))[0] == 200
        assert (await node.ask(ports[0], "127.0.0.1"))[0] == 200
        await node.servers.close()

    run(story)


def test_a_node_without_an_address_for_it_does_not_listen(ports):
    async def story(_: Node) -> None:
        node = Node(())
        await node.apply(HealthPort(WEB, ports[0], 1))
        assert await node.counts(ports[0]) == [None]

    run(story)
