"""End states: all objects of a server, without what differs between any two runs.

uids, times, versions and generated names depend on the run. They are replaced by what they stand
for, so that two states of equal meaning are equal.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from inkube.schemas.objects import Object

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_DROPPED = frozenset({"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"})
IGNORED = frozenset({"Event", "Event.events.k8s.io", "Lease.coordination.k8s.io",
                     "Fault.world.inkube.dev"})  # fmt: skip
"""Kinds that never belong to an end state: records, heartbeats, and the faults themselves."""
GENERATED = "*"
"""What stands for the random end of a generated name."""


class Place(NamedTuple):
    """A value in a state: the object, as `Deployment.apps default/web`, and the path in it."""

    object: str
    path: str

    def __str__(self) -> str:
        return f"{self.object} {self.path}" if self.path else self.object


class Difference(NamedTuple):
    """Two states differ at a place. A value that does not exist is None."""

    place: Place
    expected: Any
    actual: Any

    def __str__(self) -> str:
        if self.actual is None:
            return f"{self.place}: missing, expected {_short(self.expected)}"
        if self.expected is None:
            return f"{self.place}: {_short(self.actual)}, expected nothing"
        return f"{self.place}: {_short(self.actual)}, expected {_short(self.expected)}"


class State(NamedTuple):
    """The leaves of all objects: place → value. An object itself is the place with the path ""."""

    leaves: Mapping[Place, Any]

    def differences(
        self, other: "State", masked: "frozenset[Place]" = frozenset()
    ) -> list[Difference]:
        """Return where `other` differs from this state, outside of the masked places."""
        found = []
        absent: set[str] = set()
        for place in sorted({*self.leaves, *other.leaves}):
            mine, theirs = self.leaves.get(place), other.leaves.get(place)
            if mine == theirs or place in masked or place.object in absent:
                continue
            if not place.path:
                absent.add(place.object)  # its members say nothing more
            found.append(Difference(place, mine, theirs))
        return found


def state_of(objects: Iterable[Object], ignored: frozenset[str] = frozenset()) -> State:
    """Return the state of objects, without those of ignored kinds: `Pod` or `Deployment.apps`."""
    kept = [
        obj
        for obj in objects
        if kind_of(obj) not in IGNORED and not {kind_of(obj), obj["kind"]} & ignored
    ]
    names = _Names(kept)
    by_key: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for obj in kept:
        by_key[names.key(obj)].append(dict(_leaves(names.replaced(obj))))
    leaves: dict[Place, Any] = {}
    for key, alike in by_key.items():
        alike.sort(key=lambda each: orjson.dumps(each, option=orjson.OPT_SORT_KEYS))
        for number, members in enumerate(alike, 1):
            name = key if number == 1 else f"{key} #{number}"
            leaves[Place(name, "")] = "an object"
            leaves |= {Place(name, path): value for path, value in members.items()}
    return State(leaves)


def kind_of(obj: Object) -> str:
    """Return the kind of an object with its group: `Pod`, `Deployment.apps`."""
    group, _, _ = obj["apiVersion"].rpartition("/")
    return f"{obj['kind']}.{group}" if group else obj["kind"]


class _Names:
    """Replaces uids and generated names of a set of objects by what they stand for."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._meanings: dict[str, str] = {}
        for obj in objects:
            meta = obj["metadata"]
            stable = self._name(meta)
            if stable != meta["name"]:
                self._meanings[meta["name"]] = stable
            self._meanings[meta["uid"]] = f"<uid of {kind_of(obj)} {stable}>"

    def key(self, obj: Object) -> str:
        """Return the place of an object."""
        meta = obj["metadata"]
        where = f"{meta['namespace']}/" if meta.get("namespace") else ""
        return f"{kind_of(obj)} {where}{self._name(meta)}"

    def replaced(self, obj: Object) -> Object:
        """Return an object without what depends on the run."""
        meta = {name: value for name, value in obj["metadata"].items() if name not in _DROPPED}
        found: Object = self._value({**obj, "metadata": meta})
        return found

    def _name(self, meta: Object) -> str:
        prefix = meta.get("generateName")
        is_generated = prefix and meta["name"].startswith(prefix)
        return f"{prefix}{GENERATED}" if is_generated else meta["name"]

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._text(name): self._value(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        if text in self._meanings:
            return self._meanings[text]
        return "<time>" if _TIME.fullmatch(text) else text


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, member in value.items():
            yield from _leaves(member, f"{path}.{name}")
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def _short(value: Any, longest: int = 120) -> str:
    text = value if value == "an object" else orjson.dumps(value).decode()
    return text if len(text) <= longest else f"{text[:longest]}…"
