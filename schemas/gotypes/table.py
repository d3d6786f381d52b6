"""The table of built-in types, loaded in parts, and the schemas made from it.

The table consists of compressed blocks of a few types each. A server that serves few kinds
decompresses only their blocks; all blocks take half a MiB, and as much again while they are
decoded. A type is an OpenAPI schema, and its `$ref`s are names of other types. `x-go`, `x-go-type`
and `x-go-in` on a field contain facts that OpenAPI cannot express (see `facts.txt`). `types` reads
them; returned schemas do not contain them.
"""

import bisect
import zlib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from inkube.schemas import caches, releases
from inkube.schemas.gotypes import minors
from inkube.schemas.meta import GVK

Schema = dict[str, Any]
_FOLDER = Path(__file__).parent
_GO = ("x-go", "x-go-type", "x-go-in")
_RECURSIVE = "x-recursive"
"""Marks the place of a type inside itself (JSONSchemaProps) in a schema without references."""
_ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True, _RECURSIVE: True}


class Types(Mapping[str, Schema]):
    """Types by name. Each is decoded from its JSON at its first use, because most servers need few
    types.

    `blocks` are pairs in the order of names: the name of a block's first type, and the compressed
    block. `changes` turns the types into those of another minor.
    """

    def __init__(self, blocks: Sequence[tuple[str, str]], changes: minors.Changes) -> None:
        self._changes = changes
        self._firsts = [first for first, _ in blocks]
        self._packed = [packed for _, packed in blocks]
        self._texts: dict[int, dict[str, str]] = {}
        self._read: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = self._changes.of(name, self._newest(name))
        return found

    def _newest(self, name: str) -> Schema:
        """Return the type in the newest minor, without changes of fields. Raises KeyError."""
        if name in self._changes.added:
            return self._changes.added[name]
        if self._changes.gone and minors.short(name) in self._changes.gone:
            raise KeyError(name)
        number = bisect.bisect_right(self._firsts, name) - 1
        found: Schema = orjson.loads(self._block(max(number, 0))[name])
        return found

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self._packed)):
            for name in self._block(number):
                if minors.short(name) not in self._changes.gone:
                    yield name
        yield from self._changes.added

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _block(self, number: int) -> dict[str, str]:
        """Return the JSON texts of a block's types, by name."""
        texts = self._texts.get(number)
        if texts is None:
            packed = zlib.decompress(b64decode(self._packed[number]))
            texts = self._texts[number] = orjson.loads(packed)
        return texts


class Table(NamedTuple):
    """All types by name, and the names of the types of kinds by `group/version/kind`."""

    types: Types
    kinds: dict[str, str]

    def of(self, gvk: GVK) -> str | None:
        """Return the name of the kind's type, or None for an unknown kind."""
        return self.kinds.get(f"{gvk.group}/{gvk.version}/{gvk.kind}")


@caches.of_values(len(releases.RECORDED))
def table(minor: int = releases.NEWEST.minor) -> Table:
    """Return the table of a minor. Loads the index of the blocks, but no block."""
    content = orjson.loads((_FOLDER / "types.json").read_bytes())
    changes = minors.of(minor)
    kinds = content["kinds"]
    if changes.gone:
        kinds = {key: name for key, name in kinds.items() if minors.short(name) not in changes.gone}
    return Table(Types(content["blocks"], changes), kinds)


@caches.of_values(1)
def descriptions() -> dict[str, dict[str, str]]:
    """Return the descriptions by type and field ("" for the type itself), which only OpenAPI
    uses."""
    packed = (_FOLDER / "descriptions.json.gz").read_bytes()
    # as the module gzip does, but without its import
    content: dict[str, dict[str, str]] = orjson.loads(zlib.decompress(packed, 31))["descriptions"]
    return content


def schema(gvk: GVK, minor: int = releases.NEWEST.minor) -> Schema:
    """Return the kind's schema in a minor with every reference resolved, or {} for an unknown kind.

    Kinds share parts of schemas, so callers must not change them. A type inside itself
    (JSONSchemaProps) accepts any value.
    """
    name = table(minor).of(gvk)
    return _resolved(name, frozenset(), minor) if name else {}


_TYPES = 2048 * len(releases.RECORDED)  # more than the tables contain
_RESOLVED: Final[caches.Table[tuple[str, int], Schema]] = caches.Table(
    __name__, "_RESOLVED", _TYPES
)


def _resolved(name: str, inside: frozenset[str], minor: int) -> Schema:
    if name in inside:
        return _ANYTHING
    found = _RESOLVED.get((name, minor))
    if found is None:
        made = _inlined(table(minor).types[name], inside | {name}, minor)
        found = _RESOLVED.keep((name, minor), made)
    return found


def _inlined(node: Schema, inside: frozenset[str], minor: int) -> Schema:
    target = node.get("$ref")
    inlined = dict(_resolved(target, inside, minor)) if target else {}
    for key, value in node.items():
        if key == "properties":
            inlined[key] = {field: _inlined(child, inside, minor) for field, child in value.items()}
        elif key in ("items", "additionalProperties"):
            inlined[key] = _inlined(value, inside, minor)
        elif key not in ("$ref", *_GO):
            inlined[key] = value
    return inlined


def components(
    names: Iterable[str], *, described: bool = True, minor: int = releases.NEWEST.minor
) -> dict[str, Schema]:
    """Return the OpenAPI v3 components of a minor: these types and all types to which they refer.
    `$ref`s stay references."""
    found: dict[str, Schema] = {}
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in found:
            texts = descriptions().get(name, {}) if described else {}
            found[name] = _component(table(minor).types[name], texts, pending, minor)
    return found


def _component(node: Schema, texts: dict[str, str], pending: list[str], minor: int) -> Schema:
    component = _referring(node, pending, fills=minor <= _FILLS_ITEMS)
    if "" in texts:
        component["description"] = texts[""]
    fields = component.get("properties", {})
    for field, child in fields.items():
        if field in texts:
            child["description"] = texts[field]
        elif child.keys() == {"allOf"}:  # nothing else is next to the reference
            fields[field] = child["allOf"][0]
    return component


def _referring(
    node: Schema, pending: list[str], *, wrapped: bool = False, fills: bool = False
) -> Schema:
    """Return `node` with references in OpenAPI's form. If `wrapped`, a reference is inside `allOf`,
    so that a description can be next to it. If it `fills`, items of lists and values of maps have
    their zero value as the default."""
    made: Schema = {}
    for key, value in node.items():
        if key == "$ref":
            pending.append(value)
            target = {"$ref": f"#/components/schemas/{value}"}
            made |= {"allOf": [target]} if wrapped or len(node) > 1 else target
        elif key == "properties":
            made[key] = {
                field: _referring(child, pending, wrapped=True, fills=fills)
                for field, child in value.items()
            }
        elif key in ("items", "additionalProperties"):
            made[key] = _held(value, pending) if fills else _referring(value, pending)
        elif key not in (*_GO, "x-kubernetes-preserve-unknown-fields"):
            made[key] = value
    return made


_FILLS_ITEMS = 35
"""The last minor whose documents contain Go's zero values as the defaults of items and values."""
_ZEROS: Schema = {"string": "", "integer": 0, "number": 0, "boolean": False}


def _held(node: Schema, pending: list[str]) -> Schema:
    """Return the schema of the items of a list or the values of a map, with a default."""
    made = _referring(node, pending, wrapped=True, fills=True)
    if "allOf" in made:
        return {**made, "default": {}}
    if node.get("type") in _ZEROS:
        return {**made, "default": _ZEROS[node["type"]]}
    return made
