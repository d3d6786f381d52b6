"""Which objects that are no longer in definition files are deleted, and when (`prune_definitions`).

A deletion takes a second look if it could be an accident: if objects of clients would go with it
(those of a CustomResourceDefinition, those in a Namespace), or if it concerns most objects of the
files. It is then announced, and happens after `WAIT` seconds, unless the objects are in the files
again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from inkube.apiserver.registry import Resources
from inkube.schemas.objects import Object
from inkube.storage import BaseStore

WAIT = 60.0
"""Seconds between the announcement of a deletion and the deletion."""
FEW = 10
"""The number of objects that are deleted together without a second look."""
_AUTOMATIC = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})
"""Objects in every namespace, by kind and name."""


class ObjectName(NamedTuple):
    """The name of an object in files; the version of its kind does not matter."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {path}"


class Contents:
    """Counts the objects that a deletion would take along."""

    def __init__(self, store: BaseStore, resources: Resources) -> None:
        self._store = store
        self._resources = resources

    def count(self, name: ObjectName, obj: Object, known: Collection[ObjectName]) -> int:
        """Return how many objects would be deleted with this one, without those in `known`."""
        if (name.group, name.kind) == ("", "Namespace"):
            found = self._in_namespace(name.name)
        elif (name.group, name.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
            spec = obj.get("spec") or {}
            plural = (spec.get("names") or {}).get("plural", "")
            found = self._of_kind(str(spec.get("group", "")), str(plural))
        else:
            return 0
        return sum(each not in known for each in found)

    def _of_kind(self, group: str, plural: str) -> Iterator[ObjectName]:
        resource = self._resources.get(group, plural)
        if resource is None:
            return
        kind, prefix = resource.definition.names.kind, resource.key("", "")
        for entry in self._store.list(prefix):
            namespace, _, name = entry.key.removeprefix(prefix).rpartition("/")
            yield ObjectName(group, kind, namespace, name)

    def _in_namespace(self, namespace: str) -> Iterator[ObjectName]:
        for resource in tuple(self._resources):
            kind = resource.definition.names.kind
            if not resource.namespaced or kind == "Event":
                continue
            prefix = resource.key(namespace, "")
            for entry in self._store.list(prefix):
                name = entry.key.removeprefix(prefix)
                if (kind, name) not in _AUTOMATIC:
                    yield ObjectName(resource.group, kind, namespace, name)


class Announcement(NamedTuple):
    """An announced deletion: its time (seconds of the event loop), and the reason to wait."""

    due: float
    reason: str


class Pruning:
    """Decides which removed objects are deleted now. `now` returns seconds of the event loop."""

    def __init__(self, contents: Contents, now: Callable[[], float]) -> None:
        self._contents = contents
        self._now = now
        self.announced: dict[ObjectName, Announcement] = {}

    @property
    def delay(self) -> float | None:
        """Seconds until the next announced deletion; None without one."""
        if not self.announced:
            return None
        return max(0.0, min(each.due for each in self.announced.values()) - self._now())

    def look(
        self, removed: Mapping[ObjectName, Object], known: Collection[ObjectName]
    ) -> tuple[list[ObjectName], dict[ObjectName, Announcement], list[ObjectName]]:
        """Return the objects to delete now, those announced now, and those whose announced
        deletion is cancelled. `known` are all objects of the files, with the removed ones."""
        returned = [name for name in self.announced if name not in removed]
        for name in returned:
            del self.announced[name]
        new: dict[ObjectName, Announcement] = {}
        ready = []
        is_mass = len(removed) > FEW and 2 * len(removed) > len(known)
        for name, obj in removed.items():
            earlier = self.announced.get(name)
            reason = self._reason(name, obj, known, is_mass=is_mass) if earlier is None else ""
            if reason:
                new[name] = self.announced[name] = Announcement(self._now() + WAIT, reason)
            elif earlier is None or earlier.due <= self._now():
                self.announced.pop(name, None)
                ready.append(name)
        return ready, new, returned

    def _reason(
        self, name: ObjectName, obj: Object, known: Collection[ObjectName], *, is_mass: bool
    ) -> str:
        others = self._contents.count(name, obj, known)
        if others:
            return f"{others} objects of clients would be deleted with it"
        return "most objects of the files would be deleted together" if is_mass else ""
