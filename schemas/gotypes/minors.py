"""The differences between the types of an older minor and those of the newest, in the table.

`minors.txt` contains the data; its first lines describe the format.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from inkube.schemas import caches, releases

Schema = dict[str, Any]
_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


@dataclass(slots=True)
class Changes:
    """The changes that turn the types of the newest minor into those of another minor."""

    gone: set[str] = field(default_factory=set)
    """Types that the minor does not have, by the last three parts of their names."""
    added: dict[str, Schema] = field(default_factory=dict)
    """Types that only older minors have, by name."""
    fields: dict[str, list[tuple[str, str, Schema]]] = field(default_factory=dict)
    """Changes of fields by type (with its short name): the change (`fields` removes the field), the
    field, and its node or {}."""

    def of(self, name: str, schema: Schema) -> Schema:
        """Return the type in this minor, or `schema` itself if it does not change."""
        changes = self.fields.get(short(name))
        if not changes:
            return schema
        properties = dict(schema["properties"])
        required = list(schema.get("required", ()))
        for what, key, node in changes:
            _CHANGES[what](properties, required, key, node)
        made = {**schema, "properties": dict(sorted(properties.items())), "required": required}
        if not required:
            del made["required"]
        return made


def short(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` → `core.v1.Pod`."""
    return ".".join(name.split(".")[-3:])


@caches.of_values(len(releases.RECORDED))
def of(minor: int) -> Changes:
    """Return the changes for a minor. They are empty for the newest."""
    made = Changes()
    if minor == releases.NEWEST.minor:
        return made
    section, applies = "", False
    text = Path(__file__).with_name("minors.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith(tuple(f"{name} " for name in _SECTIONS)):
            section, _, span = line.partition(" ")
            applies = releases.holds(span, minor) is not (section in _WITHOUT)
        elif applies and line and not line.startswith("#"):
            _read(made, section, *line.split(" ", 1))
    return made


def _read(changes: Changes, section: str, name: str, rest: str = "") -> None:
    if section == "types":
        changes.gone.add(name)
    elif section != "node":
        changes.fields.setdefault(name, []).append((section, rest, {}))
    elif name.startswith("io."):
        changes.added[name] = orjson.loads(rest)
    else:
        owner, _, key = name.rpartition(".")
        changes.fields.setdefault(owner, []).append((section, key, orjson.loads(rest)))


def _remove(properties: Schema, required: list[str], key: str, _node: Schema) -> None:
    properties.pop(key)
    if key in required:
        required.remove(key)


def _replace(properties: Schema, _required: list[str], key: str, node: Schema) -> None:
    kept = {name: value for name, value in properties.get(key, {}).items() if name[:4] == "x-go"}
    properties[key] = {**node, **kept}


def _require(properties: Schema, required: list[str], key: str, _node: Schema) -> None:
    required.append(key)
    node = properties[key]
    if node.get("type") in _ZEROS and "x-go" not in node:
        properties[key] = {"default": _ZEROS[node["type"]], **node}


def _unrequire(properties: Schema, required: list[str], key: str, _node: Schema) -> None:
    required.remove(key)
    node = properties[key]
    if "default" in node and node["default"] == _ZEROS.get(node.get("type", "")):
        properties[key] = {name: value for name, value in node.items() if name != "default"}


def _emit(properties: Schema, _required: list[str], key: str, _node: Schema) -> None:
    properties[key] = {**properties[key], "x-go": "emitted"}


_CHANGES = {
    "emitted": _emit,
    "fields": _remove,
    "node": _replace,
    "optional": _unrequire,
    "required": _require,
}
_SECTIONS = ("types", *_CHANGES)
_WITHOUT = ("types", "fields")
"""Sections for minors that have a type or a field. In all other minors, it is removed."""
