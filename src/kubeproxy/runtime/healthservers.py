"""Each Service's health-check port: how many ready endpoints a load balancer finds on this node."""

import json
import socket
from collections.abc import Callable, Sequence

from kubeproxy.model.identity import ServiceName
from kubeproxy.routes.healthports import HealthPort
from kubeproxy.runtime.healthz import JSON_HEADERS
from kubeproxy.runtime.http import Answer, Request, Server, listening
from kubeproxy.runtime.logs import log


class HealthServer:
    """The sockets of one Service's port in one family."""

    def __init__(self, state: HealthPort, healthy: Callable[[], bool]) -> None:
        self.state, self._healthy = state, healthy
        self._server = Server(self._answer)

    async def open(self, hosts: Sequence[str]) -> None:
        """On all of the addresses or on none."""
        sockets: list[socket.socket] = []
        try:
            for host in hosts:
                sockets.append(listening(host, self.state.port, only_ipv6=True))
        except OSError:
            for sock in sockets:
                sock.close()
            raise
        await self._server.listen(sockets)

    async def close(self) -> None:
        await self._server.close()

    async def _answer(self, request: Request) -> Answer:
        state, healthy = self.state, self._healthy()
        record = {
            "service": {"namespace": state.service.namespace, "name": state.service.name},
            "localEndpoints": state.local_endpoints,
            "serviceProxyHealthy": healthy,
        }
        weight = ("X-Load-Balancing-Endpoint-Weight", str(state.local_endpoints))
        status = 200 if healthy and state.local_endpoints else 503
        return Answer(status, json.dumps(record, indent="\t").encode(), (*JSON_HEADERS, weight))


class HealthServers:
    """All Services' health-check ports of one family; what could not be opened is tried again."""

    def __init__(self, hosts: Callable[[], Sequence[str]], healthy: Callable[[], bool]) -> None:
        #: where to listen: "0.0.0.0" or "::" for everywhere, or single addresses
        self._hosts, self._healthy = hosts, healthy
        #: where they listen
        self._at: tuple[str, ...] = ()
        self._servers: dict[ServiceName, HealthServer] = {}
        self._failed: dict[ServiceName, HealthPort] = {}

    async def apply(self, changes: dict[ServiceName, HealthPort | None]) -> None:
        """Ports that are gone close before others open: a number may have moved to another Service."""
        todo = {**await self._moved(), **self._failed, **changes}
        self._failed = {}
        for service, state in todo.items():
            server = self._servers.get(service)
            if server is not None and (state is None or state.port != server.state.port):
                await self._servers.pop(service).close()
                log.info("Closed the health check port", service=service, port=server.state.port)
        for service, state in todo.items():
            if state is not None:
                await self._set(service, state)

    async def _moved(self) -> dict[ServiceName, HealthPort]:
        """Those that have to be opened anew, because the addresses to listen on are others."""
        hosts = tuple(self._hosts())
        if hosts == self._at:
            return {}
        self._at = hosts
        states = {service: server.state for service, server in self._servers.items()}
        await self.close()
        return states

    async def _set(self, service: ServiceName, state: HealthPort) -> None:
        server = self._servers.get(service)
        if server is not None:
            server.state = state
            return
        server = HealthServer(state, self._healthy)
        try:
            await server.open(self._at)
        except OSError as error:
            self._failed[service] = state
            log.folded(
                log.error,
                "Failed to start healthcheck; it is tried again with every sync",
                err=error,
                service=service,
                port=state.port,
            )
            return
        self._servers[service] = server
        log.info("Opened the health check port", service=service, port=state.port)

    async def close(self) -> None:
        for server in self._servers.values():
            await server.close()
        self._servers.clear()
