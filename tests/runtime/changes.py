"""Random changes, as somebody in a hurry makes them: of all kinds of Services, in any order, again and again.

Each is a document of some made-up cluster poured over what is there, so that a Service becomes another kind of
Service from one moment to the next, takes what another one has, and gives it up again. A seed makes the same
changes everywhere.
"""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

from msgspec.structs import replace

from kubeproxy.api.change import Change, Delete, Upsert, ref_of
from kubeproxy.api.decode import decode
from kubeproxy.api.meta import Ref
from kubeproxy.routes.nodeview import NodeView
from tests.stories.clusters import cluster

Document = dict[str, Any]

#: so many made-up clusters are poured into one
COPIES = 5


class Changes:
    """An endless story; `objects` is what a newcomer would be told now."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self._documents: dict[Ref, Document] = {}
        self._former: list[Document] = []

    def __iter__(self) -> Iterator[Change]:
        while True:
            yield self._next()

    def objects(self) -> list[Change]:
        """All there is, in another order every time."""
        changes: list[Change] = [Upsert(decode(document)) for document in self._documents.values()]
        self.rng.shuffle(changes)
        return changes

    def __len__(self) -> int:
        return len(self._documents)

    def another(self, view: NodeView) -> NodeView:
        """The node has other addresses, or is in another zone."""
        if self.rng.random() < 0.5:
            return replace(view, zone=self.rng.choice(("", "zone-1", "zone-2")))
        more = ("203.0.113.1", "fd00:50::99")[":" in view.node_ip :][:1]
        kept = tuple(address for address in view.addresses if address not in more)
        return replace(view, addresses=kept + self.rng.choice(((), more)))

    def _next(self) -> Change:
        roll, there = self.rng.random(), list(self._documents)
        if not there or roll < 0.55:
            return self._put(self._poured())
        if roll < 0.67:
            ref = self.rng.choice(there)
            self._former.append(self._documents.pop(ref))
            return Delete(ref)
        if roll < 0.77 and self._former:
            return self._put(
                self._former[self.rng.randrange(max(0, len(self._former) - 5), len(self._former))]
            )
        if roll < 0.82:
            return Delete(Ref(self.rng.choice(("Service", "EndpointSlice")), "shop", "never-was"))
        if roll < 0.87:
            return self._put(self._documents[self.rng.choice(there)])
        return self._flapped(there)

    def _put(self, document: Document) -> Change:
        obj = decode(document)
        ref = ref_of(obj)
        if ref in self._documents:
            self._former.append(self._documents[ref])
        self._documents[ref] = document
        return Upsert(obj)

    def _poured(self) -> Document:
        document = self.rng.choice(cluster(self.rng.randrange(1 << 30), packets=0).documents)
        metadata, copy = document["metadata"], self.rng.randrange(COPIES)
        metadata["name"] += f"-{copy}"
        if document["kind"] == "EndpointSlice":
            metadata["labels"]["kubernetes.io/service-name"] += f"-{copy}"
        return document

    def _flapped(self, there: list[Ref]) -> Change:
        """An endpoint is well again, or not any more."""
        slices = [ref for ref in there if ref.kind == "EndpointSlice" and self._documents[ref]["endpoints"]]
        if not slices:
            return self._put(self._poured())
        document = deepcopy(self._documents[self.rng.choice(slices)])
        conditions = self.rng.choice(document["endpoints"]).setdefault("conditions", {})
        conditions["ready"] = not conditions.get("ready", True)
        return self._put(document)
