"""What every object has: a name, and the Ref that everybody else keeps of it."""

from msgspec import Struct


class Wire(Struct, frozen=True, gc=False, omit_defaults=True):
    """The base of every API value.

    Objects are trees that nothing points back into, so the cycle collector has nothing to find in them;
    leaving them out of it halves the memory of a large cluster and keeps its pauses away from a sync.
    """


class Ref(Struct, frozen=True, gc=False, order=True, cache_hash=True):
    """Names an object without holding it: a deletion has nothing else to say."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class ObjectMeta(Wire, frozen=True, gc=False):
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    uid: str = ""
    resourceVersion: str = ""
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
