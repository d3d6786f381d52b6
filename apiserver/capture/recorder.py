"""Writes states and changes of a cluster to a data file, with the keys that the registry reads.

Objects are stored without validation, because the cluster has validated them. Each write is a new
revision of the file, with the time at which it was received. `keys.CAPTURED` marks the end of the
initial state and the start of the changes.
"""

from collections.abc import Iterable, Sequence

from inkube.apiserver.capture.chosen import Kind
from inkube.apiserver.capture.versions import Versions
from inkube.apiserver.registry import keys
from inkube.schemas.objects import Object
from inkube.storage import Entry, Store

_DROPPED_METADATA = ("resourceVersion", "selfLink")


class Recorder:
    """Writes into an open store. Its methods raise LogError."""

    def __init__(self, store: Store, versions: Versions | None = None) -> None:
        """`versions` are those of the state in the store; by default, it is empty."""
        self._store = store
        known = versions or Versions({}, ())
        self._versions = dict(known.by_uid)
        self._prefixes = dict.fromkeys(known.prefixes)

    @property
    def versions(self) -> Versions:
        """The resource versions of the current state in the cluster."""
        return Versions(self._versions, list(self._prefixes))

    def cover(self, kind: Kind) -> None:
        """Note that the capture contains all objects of a list."""
        namespace = kind.address.namespace
        self._prefixes[kind.prefix + (f"{namespace}/" if namespace else "")] = None

    async def put(self, kind: Kind, obj: Object) -> None:
        """Store an object that is new or has changed."""
        key, value = _key(kind, obj), _stored_form(obj)
        self._versions[obj["metadata"]["uid"]] = obj["metadata"].get("resourceVersion", "")
        entry = self._store.get(key)
        if entry is None:
            await self._store.create(key, value)
        elif _stored_form(entry.value) != value:
            await self._store.update(key, value, entry.revision)

    async def remove(self, kind: Kind, obj: Object) -> None:
        """Delete an object; `obj` is its last state."""
        self._versions.pop(obj["metadata"]["uid"], None)
        entry = self._store.get(_key(kind, obj))
        if entry is not None:
            await self._store.delete(entry.key, entry.revision, _stored_form(obj))

    async def replace(self, kind: Kind, items: Iterable[Object], namespace: str = "") -> None:
        """Replace all objects of a kind, in one namespace or in all of them."""
        seen = set()
        for item in items:
            await self.put(kind, item)
            seen.add(_key(kind, item))
        for entry in self._entries(kind, namespace):
            if entry.key not in seen:
                self._versions.pop(entry.value["metadata"]["uid"], None)
                await self._store.delete(entry.key, entry.revision)

    async def mark(self, server: str) -> None:
        """Mark the end of the initial state."""
        value = {"kind": "Capture", "apiVersion": "inkube.dev/v1", "metadata": {"name": server}}
        await self._store.create(keys.CAPTURED, value)

    def _entries(self, kind: Kind, namespace: str) -> Sequence[Entry]:
        return self._store.list(f"{kind.prefix}{namespace}/" if namespace else kind.prefix)


def _key(kind: Kind, obj: Object) -> str:
    meta = obj["metadata"]
    namespace = meta.get("namespace", "")
    name = f"{namespace}/{meta['name']}" if namespace else str(meta["name"])
    return kind.prefix + name


def _stored_form(obj: Object) -> Object:
    meta = {name: value for name, value in obj["metadata"].items() if name not in _DROPPED_METADATA}
    return {**obj, "metadata": meta}
