"""The order of members in a patched object of a Go type, as messages show it.

kube-apiserver patches text. Its library (evanphx/json-patch) unpacks the objects on the way to a
change, and the new values of a merge patch, to remove nulls from them. It writes their members
sorted. All others keep their text: parts of the stored object the order of their Go structs, and
values of a JSON patch the order of the client.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from inkube.schemas import caches
from inkube.schemas.builtin.protobuf import messages
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

Place = tuple[str, ...]
_FILE: Final = Path(__file__).with_suffix(".txt")
_FIELDS: Final = f"{messages.META}FieldsV1"


class Unpacked(NamedTuple):
    """The paths of the objects that a patch unpacks, and of those that it copies."""

    paths: frozenset[Place] = frozenset()
    copies: frozenset[Place] = frozenset()


def of_merge_patch(obj: Object, patch: Any) -> Unpacked:
    """Return the objects that a merge patch unpacks."""
    found: set[Place] = set()

    def walk(current: Any, change: Any, path: Place) -> None:
        if isinstance(current, dict):
            if isinstance(change, dict):
                found.add(path)
                for key, value in change.items():
                    walk(current.get(key), value, (*path, key))
        elif isinstance(change, dict | list):  # a new value
            found.add(path)
            members = change.items() if isinstance(change, dict) else enumerate(change)
            for member, value in members:
                walk(None, value, (*path, str(member)))

    walk(obj, patch, ())
    return Unpacked(frozenset(found))


def of_json_patch(operations: Any) -> Unpacked:
    """Return the objects that the operations of a JSON patch unpack and copy."""
    found: set[Place] = {()}
    copies: set[Place] = set()
    for operation in operations if isinstance(operations, list) else ():
        for member in ("path", "from"):
            text = operation.get(member) if isinstance(operation, dict) else None
            if isinstance(text, str):
                parts = [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]
                found.update(tuple(parts[1:end]) for end in range(1, len(parts)))
                if member == "path" and isinstance(operation.get("from"), str):
                    copies.add(tuple(parts[1:]))
    return Unpacked(frozenset(found), frozenset(copies))


def patched(old: Object, new: Any, unpacked: Unpacked, gvk: GVK) -> Any:
    """Return the patched object with its members in the order of the library's text."""

    def walk(value: Any, before: Any, path: Place, message: str) -> Any:
        if path not in unpacked.paths:
            is_stored = value == before or path in unpacked.copies
            return _encoded(value, message) if is_stored else value
        if isinstance(value, list):
            olds = before if isinstance(before, list) else []
            padded = [*olds, *[None] * len(value)]
            return [
                walk(item, padded[at], (*path, str(at)), message) for at, item in enumerate(value)
            ]
        if not isinstance(value, dict):
            return value
        known = before if isinstance(before, dict) else {}
        members = targets(message)
        return {
            key: walk(value[key], known.get(key), (*path, key), members.get(key, ""))
            for key in sorted(value)
        }

    return walk(new, old, (), messages.of(gvk))


def _encoded(value: Any, message: str) -> Any:
    """Return a part of the stored object with members in the order of its Go struct; maps are
    sorted, and owned fields keep their order."""
    if isinstance(value, list):
        return [_encoded(item, message) for item in value]
    if not isinstance(value, dict) or message == _FIELDS:
        return value
    members = targets(message)
    return {key: _encoded(value[key], members.get(key, "")) for key in in_order(value, message)}


def in_order(names: Iterable[str], message: str) -> list[str]:
    """Return names of members in the order of the Go struct; those of a map sorted."""
    order = {member: number for number, member in enumerate(targets(message))}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


@caches.of_texts(512)
def targets(message: str) -> dict[str, str]:
    """Return the members of a message in the order of the Go struct, with their messages; {} for a
    map."""
    if message not in messages.every():
        return {}
    found = dict(_members(message))
    order = _orders().get(message.removeprefix("io.k8s."), found)
    ordered = {member: found[member] for member in order}
    # no message has a TypeMeta, with which the structs of objects begin
    return ordered if "apiVersion" in ordered else {"kind": "", "apiVersion": "", **ordered}


def _members(message: str) -> Iterator[tuple[str, str]]:
    """Return the members of a message by number, embedded structs flattened."""
    for row in sorted(messages.rows(message), key=lambda row: row.number):
        if row.member:
            yield row.member, row.target if row.kind == "message" else ""
        else:
            yield from _members(row.target)


@caches.of_values(1)
def _orders() -> dict[str, list[str]]:
    """Return the structs that the file lists, with their members."""
    lines = _FILE.read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {name: members for name, *members in rows}
