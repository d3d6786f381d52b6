"""Validation of a 3 KB object with a schema of 1,300 nodes, compared with jsonschema-rs.

Both are compiled before, and run in this process on the same object. inkube checks what Kubernetes
checks (formats, list types, every error with its path); jsonschema-rs only returns whether the
object is valid.
"""

import json
from collections.abc import Iterable

import jsonschema_rs

from benchmarks import figures, objects
from benchmarks.figures import Figure
from benchmarks.objects import Object
from inkube.schemas.structural.compiled import CompiledSchema

ROUNDS = 30
COUNT = 100
SECTIONS, PARTS, FIELDS = 13, 11, 8


def measure() -> Iterable[Figure]:
    """Measure the microseconds of one validation."""
    schema, obj = _schema(), _object()
    ours = CompiledSchema(schema)
    theirs = jsonschema_rs.validator_for(schema)
    assert not ours.validate(obj)
    assert theirs.is_valid(obj)
    mine = figures.seconds(lambda: ours.validate(obj), ROUNDS, COUNT) * 1e6
    other = figures.seconds(lambda: theirs.is_valid(obj), ROUNDS, COUNT) * 1e6
    size = f"{len(json.dumps(obj, separators=(',', ':'))):,} bytes, {_nodes(schema):,} nodes"
    note = f"jsonschema-rs {other:.1f} µs; {size}"
    yield Figure("validate 3 KB", mine, "µs", at_most=60, note=note)


def _schema() -> Object:
    leaves: list[Object] = [
        {"type": "string", "maxLength": 100},
        {"type": "integer", "minimum": 0, "maximum": 100_000},
        {"type": "string", "enum": ["Fast", "Safe"]},
        {"type": "boolean"},
        {"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"},
        {"type": "array", "maxItems": 10, "items": {"type": "string"}},
    ]
    part = {
        "type": "object",
        "required": ["field0"],
        "properties": {f"field{n}": leaves[n % len(leaves)] for n in range(FIELDS)},
    }
    section = {"type": "object", "properties": {f"part{n}": part for n in range(PARTS)}}
    sections = {f"section{n}": section for n in range(SECTIONS)}
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": sections}}}


def _object() -> Object:
    """Return an object with some parts of every section."""
    leaves = ["a text of some length", 4711, "Safe", True, "my-name-7", ["one", "two"]]
    part = {f"field{n}": leaves[n % len(leaves)] for n in range(FIELDS)}
    sections = {f"section{n}": {"part3": part} for n in range(SECTIONS)}
    return objects.new("bench.example.com/v1", "Large", "one", spec=sections)


def _nodes(schema: Object) -> int:
    inner = [*schema.get("properties", {}).values()]
    inner += [schema["items"]] if "items" in schema else []
    return 1 + sum(map(_nodes, inner))


if __name__ == "__main__":
    figures.main(measure)
