"""End states: all objects of a server, without what differs between any two runs.

uids, times, versions and generated names depend on the run. They are replaced by what they stand
for, so that two states of equal meaning are equal.
"""

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from inkube.schemas import caches
from inkube.schemas.objects import Object

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_DROPPED = frozenset({"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"})
IGNORED = frozenset({"Event", "Event.events.k8s.io", "Lease.coordination.k8s.io",
                     "IPAddress.networking.k8s.io", "Fault.world.inkube.dev"})  # fmt: skip
"""Kinds that never belong to an end state: records, heartbeats, random addresses of Services, and
the faults themselves."""
_ALLOTTED = frozenset(
    {"nodeName", "hostIP", "hostIPs", "podIP", "podIPs", "clusterIP", "clusterIPs"}
)
"""Members whose values depend on the order in which objects are created."""
LABEL = "explore.inkube.dev/touched"
"""The label that "somebody else" sets. It belongs to no state."""
Leaves = dict[str, Any]
"""The values of an object that are neither dicts nor lists, by path."""
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
        mine, theirs = self.leaves, other.leaves
        places = [place for place, value in mine.items() if theirs.get(place) != value]
        places += [place for place in theirs if place not in mine]
        absent = {each.object for each in places if not each.path}  # members say nothing more
        return [
            Difference(place, mine.get(place), theirs.get(place))
            for place in sorted(set(places) - masked)
            if not place.path or place.object not in absent
        ]


def state_of(objects: Iterable[bytes], ignored: frozenset[str] = frozenset()) -> State:
    """Return the state of objects, given as JSON, without those of ignored kinds (`Pod`,
    `Deployment.apps`), and without ignored members (`Deployment.apps .metadata.annotations.*`)."""
    left_out = IGNORED | ignored
    kept = [
        each
        for each in map(_parsed, objects)
        if not {each.kind, each.kind.split(".")[0]} & left_out
    ]
    meanings = _meanings(kept)
    members = [each.split(" ", 1) for each in ignored if " " in each]
    by_key: dict[str, list[Leaves]] = defaultdict(list)
    for each in kept:
        patterns = [path for kind, path in members if kind in (each.kind, each.kind.split(".")[0])]
        by_key[each.key].append(_without(_meant(each, meanings), patterns))
    leaves: dict[Place, Any] = {}
    for key, alike in by_key.items():
        if len(alike) > 1:
            alike.sort(key=lambda each: orjson.dumps(each, option=orjson.OPT_SORT_KEYS))
        for number, found in enumerate(alike, 1):
            name = key if number == 1 else f"{key} #{number}"
            leaves[Place(name, "")] = "an object"
            leaves |= {Place(name, path): value for path, value in found.items()}
    return State(leaves)


def kind_of(obj: Object) -> str:
    """Return the kind of an object with its group: `Pod`, `Deployment.apps`."""
    group, _, _ = obj["apiVersion"].rpartition("/")
    return f"{obj['kind']}.{group}" if group else obj["kind"]


class _Parsed(NamedTuple):
    """An object as leaves, before names are replaced. It is shared by all states that have it."""

    kind: str
    key: str
    """`Pod default/web-*`."""
    name: str
    stable_name: str
    uid: str
    leaves: "Leaves"
    members: frozenset[str]
    """The names of all members."""


@caches.of_texts(4096)  # objects of the start are in each state of each run
def _parsed(data: bytes) -> _Parsed:
    obj = orjson.loads(data)
    kind, meta = kind_of(obj), obj["metadata"]
    name = stable_name(meta)
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    members: set[str] = set()
    leaves = dict(_leaves(_comparable(obj), members))
    return _Parsed(
        kind, f"{kind} {where}{name}", meta["name"], name, meta["uid"], leaves, frozenset(members)
    )


def stable_name(meta: Object) -> str:
    """Return the name of an object, with `*` for a generated end."""
    prefix = meta.get("generateName")
    is_generated = prefix and meta["name"].startswith(prefix)
    return f"{prefix}{GENERATED}" if is_generated else str(meta["name"])


def _comparable(obj: Object) -> Object:
    """Return an object without what depends on the run, and without the label of "somebody
    else"."""
    meta = {name: value for name, value in obj["metadata"].items() if name not in _DROPPED}
    labels = meta.get("labels") or {}
    if LABEL in labels:
        del labels[LABEL]
        meta = {name: value for name, value in meta.items() if value != {}}
    status, generation = obj.get("status"), obj["metadata"].get("generation")
    for observer in (status, *_conditions(status)):
        if isinstance(observer, dict) and observer.get("observedGeneration") == generation:
            observer["observedGeneration"] = "<generation>"
    return {**obj, "metadata": meta}


def _conditions(status: Any) -> Sequence[Any]:
    found = status.get("conditions") if isinstance(status, dict) else None
    return found if isinstance(found, list) else ()


def _meanings(objects: Iterable[_Parsed]) -> dict[str, str]:
    """Return what uids and generated names stand for."""
    found = {}
    for each in objects:
        if each.stable_name != each.name:
            found[each.name] = each.stable_name
        found[each.uid] = f"<uid of {each.kind} {each.stable_name}>"
    return found


def _meant(parsed: _Parsed, meanings: Mapping[str, str]) -> Leaves:
    leaves = {
        path: meanings.get(value, value) if isinstance(value, str) else value
        for path, value in parsed.leaves.items()
    }
    for member in parsed.members & meanings.keys():  # such as the pods of a disruption budget
        leaves = {
            path.replace(f".{member}", f".{meanings[member]}"): value
            for path, value in leaves.items()
        }
    return leaves


def _without(leaves: Leaves, patterns: Sequence[str]) -> Leaves:
    return {
        path: value
        for path, value in leaves.items()
        if not any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)
    } if patterns else leaves  # fmt: skip


def _leaves(value: Any, members: set[str], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a value with their paths, and collect the names of members."""
    if isinstance(value, dict) and value:
        for name, member in value.items():
            members.add(name)
            if name in _ALLOTTED:
                yield f"{path}.{name}", "<allotted>"
            else:
                yield from _leaves(member, members, f"{path}.{name}")
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            name = item.get("type", index) if _are_conditions(path, item) else index
            yield from _leaves(item, members, f"{path}[{name}]")
    else:
        is_time = isinstance(value, str) and _TIME.fullmatch(value)
        yield path, "<time>" if is_time else value


def _are_conditions(path: str, item: Any) -> bool:
    """Return whether a list is a map by type: the order of conditions says when they were first
    set."""
    return path.endswith(".conditions") and isinstance(item, dict)


def _short(value: Any, longest: int = 120) -> str:
    text = value if value == "an object" else orjson.dumps(value).decode()
    return text if len(text) <= longest else f"{text[:longest]}…"
