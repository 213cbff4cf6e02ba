"""What a server is known to hold, by name: what it no longer lists is gone, and nothing else is kept."""

from collections.abc import Iterable, Iterator

from kubeproxy.api.change import Change, Delete, Synced, ref_of
from kubeproxy.api.meta import Ref
from kubeproxy.sources.apiserver.events import Event, Gone, Put, Unusable
from kubeproxy.sources.apiserver.resources import Resource
from kubeproxy.sources.notice import Level, Notice, shown


class Account:
    """Turns what is said of one kind into Changes.

    An object that cannot be used is skipped: what is known of it stays, and its name counts as there. Is not
    even its name to be had, then a list that holds it takes nothing away: half a list is no order to stop.
    """

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._known: set[str] = set()
        self._missing: set[str] | None = None
        self._unsure = False
        self._synced = False
        self._told: dict[Ref | None, str] = {}
        self._notices: list[Notice] = []

    def __len__(self) -> int:
        return len(self._known)

    def begin(self) -> None:
        """Everything there is will be said now; it may break off, and begin again."""
        self._missing = set(self._known)
        self._unsure = False

    def heard(self, events: Iterable[Event]) -> Iterator[Change]:
        """What the sayings about objects come to."""
        for event in events:
            if isinstance(event, Put):
                self._present(ref_of(event.change.obj))
                yield event.change
            elif isinstance(event, Gone):
                if self._absent(event.change.ref):
                    yield event.change
            elif isinstance(event, Unusable):
                self._skip(event)

    def whole(self) -> Iterator[Change]:
        """That was everything: what was known and is not among it is gone."""
        missing, self._missing = self._missing or set(), None
        if not self._unsure:
            self._known -= missing
            yield from (Delete(self._ref(key)) for key in sorted(missing))
        yield from self.settled()

    def settled(self) -> Iterator[Synced]:
        """Said once: this kind is as complete as it will be for the start."""
        if not self._synced:
            self._synced = True
            yield Synced(self._resource.kind)

    def notices(self) -> tuple[Notice, ...]:
        """What there is to say about objects since the last time."""
        said, self._notices = tuple(self._notices), []
        return said

    def _present(self, ref: Ref) -> None:
        key = self._key(ref)
        self._known.add(key)
        if self._missing:
            self._missing.discard(key)
        if self._told:
            self._told.pop(ref, None)

    def _absent(self, ref: Ref) -> bool:
        key = self._key(ref)
        known = key in self._known
        self._known.discard(key)
        if self._missing:
            self._missing.discard(key)
        self._told.pop(ref, None)
        return known

    def _skip(self, event: Unusable) -> None:
        known = event.ref is not None and self._key(event.ref) in self._known
        if event.ref is None:
            self._unsure = True
        elif self._missing:
            self._missing.discard(self._key(event.ref))
        said = f"{event.field}: {event.problem}"
        if self._told.get(event.ref) != said:
            self._told[event.ref] = said
            kept = "it is kept as last heard" if known else "it is skipped"
            problem = f"{event.problem}; {kept}"
            field, value = shown(event.field), shown(event.value)
            self._notices.append(Notice(Level.ERROR, "", 0, event.ref, field, value, problem, event.remedy))

    def _key(self, ref: Ref) -> str:
        return f"{ref.namespace}/{ref.name}" if self._resource.namespaced else ref.name

    def _ref(self, key: str) -> Ref:
        namespace, _, name = key.rpartition("/")
        return Ref(self._resource.kind, namespace, name)
