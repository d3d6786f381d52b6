"""Random objects of built-in kinds, created from the table of Go types, in canonical JSON."""

import random
from collections.abc import Iterator
from typing import Any

from inkube.schemas.builtin import decoding, resources
from inkube.schemas.gotypes import table, types
from inkube.schemas.gotypes.types import GoType
from inkube.schemas.meta import GVK

DEPTH = 6
"""The depth to which objects are filled; members below it are rare."""
_CHOICES: dict[str, list[Any]] = {
    "string": ["", "a", "é" * 70, "x" * 200],
    "bool": [True, False],
    "int32": [0, 1, -1, 2**31 - 1, -(2**31), 300],
    "int64": [0, 1, -1, 2**63 - 1, -(2**63), 300],
    "float": [0, 1.5, -2, 1e300],
    "bytes": ["", "YWI=", "AAAA"],
    "time": ["2026-01-02T03:04:05Z", "1969-01-02T03:04:05Z", "0002-01-01T00:00:00Z", None],
    "microtime": ["2026-01-02T03:04:05.000001Z", "1969-01-02T03:04:05.999999Z", None],
    "quantity": ["1", "100m", "0", "1Gi"],
    "intstr": [0, 1, -5, "", "http", "50%"],
    "raw": [None, {"a": [1, None, "x"]}, {"b": {}}],
    "json": [None, 1, "x", [1], {"a": None}, False],
}


def kinds() -> list[GVK]:
    """Return every built-in kind in every version, including those of subresources."""
    found = {
        GVK(kind.group, version, kind.kind): None
        for kind in resources.read()
        for version in kind.versions
    }
    others = (sub for kind in resources.read() for sub in kind.subresources if sub.version)
    return [*found, *{GVK(sub.group, sub.version, sub.kind): None for sub in others}]


def make(rng: random.Random, gvk: GVK) -> dict[str, Any]:
    """Create an object of the kind, in the form in which its Go type writes JSON."""
    name = table.table().of(gvk)
    assert name is not None, gvk
    obj = _value(rng, types.of(name), DEPTH)
    obj |= {"apiVersion": gvk.api_version, "kind": gvk.kind}
    inner = [obj.get("deleteOptions"), *(obj.get("spec") or {}).get("volumeClaimTemplates", ())]
    for typed in filter(None, inner):  # not in protobuf messages
        typed.pop("apiVersion", None), typed.pop("kind", None)
    return decoding.decode(obj, gvk).object


def paths(
    go: GoType, kind: str, path: tuple[str | int, ...] = (), outer: tuple[str, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value of a kind in a type. The item of a list is 0, that of a map
    "key". A struct inside a struct of its own type is left out."""
    if go.kind == kind:
        yield path
    elif go.kind == "struct" and go.name not in outer:
        for name, field in go.fields.items():
            yield from paths(field.type, kind, (*path, name), (*outer, go.name))
    elif go.kind in ("list", "map") and go.item is not None:
        yield from paths(go.item, kind, (*path, 0 if go.kind == "list" else "key"), outer)


def _value(rng: random.Random, go: GoType, depth: int) -> Any:
    kind = go.kind
    if kind in _CHOICES:
        return rng.choice(_CHOICES[kind])
    if kind == "struct":
        share = 0.5 if depth > 0 else 0.05
        return {
            name: _value(rng, field.type, depth - 1)
            for name, field in go.fields.items()
            if rng.random() < share
        }
    item = go.item
    assert item is not None, kind
    if kind == "list":
        return [_value(rng, item, depth - 1) for _ in range(rng.randrange(3) if depth > 0 else 0)]
    if kind == "map":
        return {rng.choice("abcé"): _value(rng, item, depth - 1) for _ in range(rng.randrange(3))}
    if depth > 0 and rng.random() < 0.5:
        return _value(rng, item, depth - 1)
    if kind == "orbool":
        return rng.random() < 0.5
    return ["a", "b"] if kind == "orstrings" else [_value(rng, item, 0)]
