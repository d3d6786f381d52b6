"""The table of built-in types, read as it is asked for, and the schemas made from it.

It lies in blocks of a few types each, packed by themselves: a server that serves the kinds of few
blocks never unpacks the others, which take half a MiB and as much again while they are read. A
type is an OpenAPI schema whose `$ref`s are names of other types. On a field `x-go`,
`x-go-type` and `x-go-in` tell what OpenAPI does not (see `facts.txt`); `types` reads them, schemas
handed out do not carry them.
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
_ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True}


class Types(Mapping[str, Schema]):
    """Types by name. Each is read from its JSON when first asked for: few servers need many.

    `blocks` are pairs of the name of a block's first type and its types, packed, in the order of
    names; `changes` makes those of another minor of them.
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
        """As the newest minor has it, where it does. Raises KeyError."""
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
        """Name → JSON."""
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
        """The name of the kind's type."""
        return self.kinds.get(f"{gvk.group}/{gvk.version}/{gvk.kind}")


@caches.of_values(len(releases.RECORDED))
def table(minor: int = releases.NEWEST.minor) -> Table:
    """The table of a minor. Reads where each block is, and no block."""
    content = orjson.loads((_FOLDER / "types.json").read_bytes())
    changes = minors.of(minor)
    kinds = content["kinds"]
    if changes.gone:
        kinds = {key: name for key, name in kinds.items() if minors.short(name) not in changes.gone}
    return Table(Types(content["blocks"], changes), kinds)


@caches.of_values(1)
def descriptions() -> dict[str, dict[str, str]]:
    """Texts by type and field ("" is the type's own), for OpenAPI only."""
    packed = (_FOLDER / "descriptions.json.gz").read_bytes()
    # what the module gzip does, without loading it
    content: dict[str, dict[str, str]] = orjson.loads(zlib.decompress(packed, 31))["descriptions"]
    return content


def schema(gvk: GVK, minor: int = releases.NEWEST.minor) -> Schema:
    """The kind's schema in a minor with every reference resolved; {} for an unknown kind.

    Subtrees are shared between kinds: read, never change. A type inside itself (JSONSchemaProps)
    accepts anything there.
    """
    name = table(minor).of(gvk)
    return _resolved(name, frozenset(), minor) if name else {}


_TYPES = 2048 * len(releases.RECORDED)  # more than the tables have
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
    """OpenAPI v3 components of a minor: these types and all they refer to, `$ref`s kept as
    references."""
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
    for field, child in component.get("properties", {}).items():
        if field in texts:
            child["description"] = texts[field]
    return component


def _referring(
    node: Schema, pending: list[str], *, wrapped: bool = False, fills: bool = False
) -> Schema:
    """`node` with its references in OpenAPI's form; wrapped, a text may stand beside one. Where it
    `fills`, what lists and maps hold has its zero for a default."""
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
"""The last minor whose documents give items and values the zeros of Go for defaults."""
_ZEROS: Schema = {"string": "", "integer": 0, "number": 0, "boolean": False}


def _held(node: Schema, pending: list[str]) -> Schema:
    """The schema of what a list or a map holds, with a default."""
    made = _referring(node, pending, wrapped=True, fills=True)
    if "allOf" in made:
        return {**made, "default": {}}
    if node.get("type") in _ZEROS:
        return {**made, "default": _ZEROS[node["type"]]}
    return made
