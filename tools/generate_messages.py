"""Generates `messages.json.gz`, the field numbers of Kubernetes' protobuf messages.

The input is a table of all messages with one field per line: message, number, field, type, label. A
type without a dot belongs to the same package, a map has the form `map<string,TYPE>`. Run it by
hand for a new Kubernetes version, and whenever `generate_types` has changed the table of Go types,
which distinguishes pointers from values. The server never imports it:

    python tools/generate_messages.py PATH-OF-TABLE

A message is a list of `[number, member, kind, target, mode]`. A member "" is an embedded struct in
Go: its members are those of the outer struct. Kinds are string, bytes, bool, int32, int64, double,
message, list (a message for a JSON list) and map; the target is the name of the message, or the
kind of a map's values. The mode is 1 for fields that Go writes even if they are zero, and 2 for
repeated fields.
"""

import gzip
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from inkube.schemas.gotypes import table, types
from inkube.schemas.gotypes.types import GoField

HERE = Path(__file__).parents[1] / "schemas" / "builtin" / "protobuf"
_SCALARS = ("string", "bytes", "bool", "int32", "int64", "double")
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_PREFIXES = {
    "k8s.io.api.": "io.k8s.api.",
    "k8s.io.apimachinery.": "io.k8s.apimachinery.",
    "k8s.io.apiextensions_apiserver.": "io.k8s.apiextensions-apiserver.",
    "k8s.io.kube_aggregator.": "io.k8s.kube-aggregator.",
}
_RENAMED = {"ref": "$ref", "schema": "$schema"}
_UNTYPED = (
    *(f"{_META}{kind}" for kind in (
        "APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "PartialObjectMetadata",
        "PartialObjectMetadataList",
    )),
    "io.k8s.apimachinery.pkg.runtime.TypeMeta",
    "io.k8s.api.apidiscovery.v2.APIGroupDiscoveryList",
    "io.k8s.api.apidiscovery.v2beta1.APIGroupDiscoveryList",
)  # fmt: skip
"""Messages of responses that the table of types does not contain."""
_POINTERS = ("responseKind",)
"""Members of untyped messages that are pointers."""
OPTIONAL, ZERO, REPEATED = 0, 1, 2
Row = tuple[int, str, str, str]
"""Number, name, type and label of a field."""


def main(arguments: list[str]) -> None:
    """Write the file next to the modules that read it."""
    lines = Path(arguments[0]).read_text().splitlines()[1:]
    rows = _rows(lines)
    made: dict[str, list[list[Any]]] = {}
    waiting = [name for name in (*table.table().types, *_UNTYPED) if name in rows]
    while waiting:
        name = waiting.pop()
        if name not in made:
            made[name] = _message(name, rows, _fields_of(name), waiting)
    for name, found in made.copy().items():
        _embed(name, found, made, rows)
    text = json.dumps({name: made[name] for name in sorted(made)}, separators=(",", ":"))
    target = HERE / "messages.json.gz"
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{target}: {len(made)} messages, {target.stat().st_size} bytes")


def _rows(lines: Iterable[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for line in lines:
        message, number, name, kind, label = line.split("\t")
        package = message.rpartition(".")[0]
        if kind.startswith("map<"):
            kind = kind.removeprefix("map<string,").removesuffix(">")
        if kind.startswith("."):
            kind = _name(kind[1:])
        elif kind not in _SCALARS:
            kind = _name(f"{package}.{kind}")
        found.setdefault(_name(message), []).append((int(number), name, kind, label))
    return found


def _name(text: str) -> str:
    for prefix, other in _PREFIXES.items():
        if text.startswith(prefix):
            return other + text.removeprefix(prefix)
    return text


def _fields_of(name: str) -> Mapping[str, GoField]:
    return types.of(name).fields if name in table.table().types else {}


def _message(
    name: str, rows: dict[str, list[Row]], fields: Mapping[str, GoField], waiting: list[str]
) -> list[list[Any]]:
    made = []
    for number, field, target, label in rows.get(name, ()):
        member = _member(name, field, fields)
        kind, inner = (target, "") if target in _SCALARS else ("message", target)
        if inner:
            waiting.append(inner)
        if label == "map":
            made.append([number, member, "map", target, OPTIONAL])
        elif label == "repeated":
            made.append([number, member, kind, inner, REPEATED])
        elif inner and _is_list(rows.get(inner, [])):
            made.append([number, member, "list", inner, OPTIONAL])
        else:
            mode = _mode(name, kind, member, fields)
            made.append([number, member, kind, inner, mode])
    return made


def _is_list(rows: list[Row]) -> bool:
    """Return whether a message consists of a named list type, such as ExtraValue."""
    return [(row[0], row[1], row[2], row[3]) for row in rows] == [
        (1, "items", "string", "repeated")
    ]


def _mode(owner: str, kind: str, member: str, fields: Mapping[str, GoField]) -> int:
    """Return how Go writes a value that was never set: pointers and lists are omitted."""
    if not member:
        return ZERO
    known = fields.get(member)
    if known is None:
        pointer = member in _POINTERS or bool(fields) or kind == "bytes"
        return OPTIONAL if pointer else ZERO
    if known.type.kind in ("time", "microtime"):
        always = known.always or (owner.endswith(".ObjectMeta") and member == "creationTimestamp")
        return ZERO if always else OPTIONAL
    if kind == "message":
        return ZERO if known.value else OPTIONAL
    return OPTIONAL if known.pointer or kind == "bytes" else ZERO


def _embed(
    owner: str, found: list[list[Any]], made: dict[str, Any], rows: dict[str, list[Row]]
) -> None:
    """Give embedded messages the members of their owner's type."""
    for _, member, kind, target, _ in found:
        if not member and kind == "message" and target not in table.table().types:
            made[target] = _message(target, rows, _fields_of(owner), [])
            _embed(owner, made[target], made, rows)


def _member(owner: str, name: str, fields: Mapping[str, GoField]) -> str:
    """Return the JSON name, or "" for an embedded struct."""
    if not fields or name in fields:
        return name
    if owner.endswith(".JSONSchemaProps"):
        dashed = "".join(f"-{char.lower()}" if char.isupper() else char for char in name)
        return next((each for each in (_RENAMED.get(name, ""), dashed) if each in fields), "")
    lowered = {key.lower(): key for key in fields}
    return lowered.get(name.lower(), "")


if __name__ == "__main__":
    main(sys.argv[1:])
