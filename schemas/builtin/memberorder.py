"""The order of members in a patched object of a Go type, as messages show it.

kube-apiserver patches text. Its library (evanphx/json-patch) unpacks the objects on the way to a
change, and the new values of a merge patch, to remove nulls from them. It writes their members
sorted. All others keep their text: parts of the stored object the order of their Go structs, and
values of a JSON patch the order of the client.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from inkube.schemas import caches
from inkube.schemas.builtin.protobuf import messages
from inkube.schemas.golang import gojson, gotext
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

Place = tuple[str, ...]
_FILE: Final = Path(__file__).with_suffix(".txt")
_FIELDS: Final = f"{messages.META}FieldsV1"


class Unpacked(NamedTuple):
    """The paths of the objects that a patch unpacks, those below which it unpacks all, and the
    sources of the values that it copies or moves, by their new paths."""

    paths: frozenset[Place] = frozenset()
    wholly: frozenset[Place] = frozenset()
    sources: Mapping[Place, Place] = {}


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
    """Return the objects that the operations of a JSON patch unpack, and what they move."""
    found: set[Place] = {()}
    compared: set[Place] = set()
    sources: dict[Place, Place] = {}
    for operation in operations if isinstance(operations, list) else ():
        places = {}
        for member in ("path", "from"):
            text = operation.get(member) if isinstance(operation, dict) else None
            if isinstance(text, str):
                parts = [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]
                found.update(tuple(parts[1:end]) for end in range(1, len(parts)))
                places[member] = tuple(parts[1:])
        if len(places) == 2:
            sources[places["path"]] = places["from"]
        elif places and operation.get("op") == "test":
            compared.add(places["path"])
    return Unpacked(frozenset(found), frozenset(compared), sources)


def text(old: Object, new: Any, unpacked: Unpacked, gvk: GVK) -> str:
    """Return the library's text of the patched object."""
    return gotext.escaped_html(gojson.written(patched(old, new, unpacked, gvk)).decode())


def patched(old: Object, new: Any, unpacked: Unpacked, gvk: GVK) -> Any:
    """Return the patched object with its members in the order of the library's text."""

    def walk(value: Any, before: Any, path: Place, message: str, *, wholly: bool = False) -> Any:
        wholly = wholly or path in unpacked.wholly
        if not wholly and path not in unpacked.paths:
            source = unpacked.sources.get(path)
            if source is None:
                return _encoded(value, message) if value == before else value
            message = _message_at(source, gvk)
            if source not in unpacked.paths:
                return _encoded(value, message)
            path, before = source, value
        if isinstance(value, list):
            olds = before if isinstance(before, list) else []
            stored = {repr(item) for item in olds}  # operations move items of a list
            padded = [*olds, *[None] * len(value)]
            befores = [
                item if repr(item) in stored else padded[at] for at, item in enumerate(value)
            ]
            return [
                walk(item, befores[at], (*path, str(at)), message, wholly=wholly)
                for at, item in enumerate(value)
            ]
        if not isinstance(value, dict):
            return value
        known = before if isinstance(before, dict) else {}
        return {
            key: walk(value[key], known.get(key), (*path, key), _of(message, key), wholly=wholly)
            for key in sorted(value)
        }

    return walk(new, old, (), messages.of(gvk))


def _message_at(path: Place, gvk: GVK) -> str:
    """Return the message of the struct at a path of an object; "" for a map or scalar."""
    message = messages.of(gvk)
    for part in path:
        if not (part.isdigit() or part == "-"):
            message = _of(message, part)
    return message


def _of(message: str, member: str) -> str:
    """Return the message of a member; "" for a map or scalar. Owned fields contain such fields."""
    return message if message == _FIELDS else targets(message).get(member, "")


def _encoded(value: Any, message: str) -> Any:
    """Return a part of the stored object with members in the order of its Go struct; maps are
    sorted, and owned fields keep their order."""
    if isinstance(value, list):
        return [_encoded(item, message) for item in value]
    if not isinstance(value, dict) or message == _FIELDS:
        return value
    return {key: _encoded(value[key], _of(message, key)) for key in in_order(value, message)}


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
