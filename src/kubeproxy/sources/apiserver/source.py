"""Changes out of an API server: four lists, followed side by side."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from kubeproxy.api.change import Change, Delete, Synced, Upsert
from kubeproxy.api.node import Node
from kubeproxy.sources.apiserver.backoff import Pace
from kubeproxy.sources.apiserver.client import Client
from kubeproxy.sources.apiserver.contact import Contact
from kubeproxy.sources.apiserver.inbox import Inbox
from kubeproxy.sources.apiserver.reflector import Deliver, Reflector
from kubeproxy.sources.apiserver.resources import resources
from kubeproxy.sources.notice import Notice, Reading


class ApiServerSource:
    """The Node may be looked at first, before anything else is asked for: what follows depends on it.

    What is wrong with the server is a Notice; nothing that a server does or says is an exception.
    """

    def __init__(self, client: Client, node_name: str, pace: Pace | None = None) -> None:
        #: others may ask the same server, at the same pace and under the same name
        self.client = client
        self._pace = pace or Pace()
        self._inbox = Inbox()
        access = client.access
        self._contact = Contact(str(access.server), access.origin, self._inbox, self._pace)
        self._resources = resources(node_name)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._node: Node | None = None
        self._node_heard = False

    async def watch(self) -> AsyncGenerator[Reading, None]:
        """Readings with something in them, for ever: what has arrived is handed on together."""
        for resource in self._resources:
            self._begin(resource.kind)
        try:
            while True:
                await self._inbox.filled()
                if reading := self._inbox.take():
                    yield reading
        finally:
            await self.close()

    @property
    def node(self) -> Node | None:
        """Our own Node, as it is now."""
        return self._node

    @property
    def node_heard(self) -> bool:
        """Whether the server has said what it knows of our Node, if only that there is none."""
        return self._node_heard

    def ask_for_node(self) -> None:
        """Follow our Node, and nothing else yet."""
        self._begin("Node")

    async def stirs(self) -> None:
        """Until more is heard, or there is something to say."""
        await self._inbox.stirs()

    def said(self) -> tuple[Notice, ...]:
        """What there is to say before anybody watches."""
        return self._inbox.said()

    async def close(self) -> None:
        """Stop following, and hang up."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()
        self.client.close()

    def _begin(self, kind: str) -> None:
        if kind in self._tasks:
            return
        (resource,) = (each for each in self._resources if each.kind == kind)
        deliver: Deliver = self._deliver_node if kind == "Node" else self._inbox.put
        reflector = Reflector(resource, self.client, self._contact, deliver, self._pace)
        task = asyncio.create_task(reflector.run(), name=f"follow {resource.name}")
        task.add_done_callback(self._ended)
        self._tasks[kind] = task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Following ends only when it is told to; anything else is a defect, and must not go unnoticed."""
        if not task.cancelled() and (defect := task.exception()) is not None:
            self._inbox.fail(defect)

    async def _deliver_node(self, changes: Sequence[Change], notices: Sequence[Notice]) -> None:
        for change in changes:
            if isinstance(change, Upsert) and isinstance(change.obj, Node):
                self._node = change.obj
            elif isinstance(change, Delete):
                self._node = None
            elif isinstance(change, Synced):
                self._node_heard = True
        await self._inbox.put(changes, notices)
