"""Each Service's health-check port: opened where node ports answer, and the answer a load balancer gets."""

import asyncio
import re

from kubeproxy.model.identity import ServiceName
from kubeproxy.routes.healthports import HealthPort
from kubeproxy.runtime.healthservers import HealthServers
from tests.runtime.test_servers import free_address

WEB = ServiceName("default", "web")


async def ask(host, port):
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /whatever HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    said = (await reader.read()).decode()
    writer.close()
    return re.sub(r"Date: [^\r]+", "Date: *", said)


def answer(status, count, healthy="true"):
    body = (
        '{\n\t"service": {\n\t\t"namespace": "default",\n\t\t"name": "web"\n\t},\n'
        f'\t"localEndpoints": {count},\n\t"serviceProxyHealthy": {healthy}\n}}'
    )
    return "\r\n".join(
        [
            f"HTTP/1.1 {status}",
            "Content-Type: application/json",
            "X-Content-Type-Options: nosniff",
            f"X-Load-Balancing-Endpoint-Weight: {count}",
            "Date: *",
            f"Content-Length: {len(body)}",
            "Connection: close",
            "",
            body,
        ]
    )


async def closed(host, port):
    try:
        await ask(host, port)
    except OSError:
        return True
    return False


def test_the_answer_is_the_originals_and_follows_the_endpoints():
    async def story():
        port, well = int(free_address().rpartition(":")[2]), [True]
        servers = HealthServers(lambda: ("127.0.0.1",), lambda: well[0])
        await servers.apply({WEB: HealthPort(WEB, port, 1)})
        said = await ask("127.0.0.1", port)
        assert said == answer("200 OK", 1)
        assert "Content-Length: 114\r\n" in said
        await servers.apply({WEB: HealthPort(WEB, port, 0)})
        assert await ask("127.0.0.1", port) == answer("503 Service Unavailable", 0)
        await servers.apply({WEB: HealthPort(WEB, port, 2)})
        well[0] = False
        assert await ask("127.0.0.1", port) == answer("503 Service Unavailable", 2, "false")
        await servers.apply({WEB: None})
        assert await closed("127.0.0.1", port)

    asyncio.run(story())


def test_ports_follow_the_addresses_node_ports_answer_on():
    async def story():
        port, hosts = int(free_address().rpartition(":")[2]), ["127.0.0.1"]
        servers = HealthServers(lambda: hosts, lambda: True)
        await servers.apply({WEB: HealthPort(WEB, port, 1)})
        hosts[:] = ["127.0.0.2"]
        await servers.apply({})
        assert (await ask("127.0.0.2", port)).startswith("HTTP/1.1 200 OK")
        assert await closed("127.0.0.1", port)
        await servers.close()

    asyncio.run(story())
