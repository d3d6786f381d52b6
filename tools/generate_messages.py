"""Makes `messages.json.gz`, the field numbers of Kubernetes' protobuf messages.

Every Go program that talks protobuf to a cluster carries the descriptors of its messages; they are
read out of one. Run by hand when the Kubernetes version moves; never imported by the server:

    python tools/generate_messages.py PATH-OF-KUBECTL

A message is a list of `[number, member, kind, type, repeated]`. A member "" is a struct that Go
embeds: its members are those of the outer one. Kinds are string, bytes, bool, int, double, map and
message; the type of a map is that of its entry.
"""

import gzip
import json
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inkube.schemas.builtin import wire
from inkube.schemas.gotypes import table

HERE = Path(__file__).parents[1] / "schemas" / "builtin"
_KINDS = {1: "double", 3: "int", 5: "int", 8: "bool", 9: "string", 11: "message", 12: "bytes"}
_MAGIC = b"\x1f\x8b\x08"
_PREFIXES = {
    "k8s.io.api.": "io.k8s.api.",
    "k8s.io.apimachinery.": "io.k8s.apimachinery.",
    "k8s.io.apiextensions_apiserver.": "io.k8s.apiextensions-apiserver.",
    "k8s.io.kube_aggregator.": "io.k8s.kube-aggregator.",
}
_REPEATED = 3
_RENAMED = {"ref": "$ref", "schema": "$schema"}
Message = list[list[Any]]


def main(arguments: list[str]) -> None:
    """Write the file beside the modules that read it."""
    found = dict(_messages(Path(arguments[0]).read_bytes()))
    known = table.table().types
    made = {name: [_member(name, row, known) for row in rows] for name, rows in found.items()}
    kept = _reached(made, known)
    text = json.dumps({name: made[name] for name in sorted(kept)}, separators=(",", ":"))
    target = HERE / "messages.json.gz"
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{target}: {len(kept)} messages, {target.stat().st_size} bytes")


def _messages(program: bytes) -> Iterator[tuple[str, Message]]:
    place = program.find(_MAGIC)
    while place >= 0:
        try:
            file = zlib.decompressobj(31).decompress(program[place : place + 500_000])
            yield from _file(file)
        except (zlib.error, wire.WireError, UnicodeDecodeError):
            pass  # other data that begins with the same bytes
        place = program.find(_MAGIC, place + 1)


def _file(data: bytes) -> Iterator[tuple[str, Message]]:
    parts = list(wire.fields(data))
    package = next((value for number, value in parts if number == 2), b"")
    if not isinstance(package, bytes) or not package.startswith(b"k8s.io."):
        return
    for number, value in parts:
        if number == 4 and isinstance(value, bytes):
            yield from _message(package.decode(), value)


def _message(outer: str, data: bytes) -> Iterator[tuple[str, Message]]:
    parts = [(number, value) for number, value in wire.fields(data) if isinstance(value, bytes)]
    name = f"{outer}.{next(value for number, value in parts if number == 1).decode()}"
    yield _name(name), [_field(value) for number, value in parts if number == 2]
    for number, value in parts:
        if number == 3:
            yield from _message(name, value)


def _field(data: bytes) -> list[Any]:
    parts = dict(wire.fields(data))
    target = parts.get(6, b"")
    assert isinstance(target, bytes)
    kind = _KINDS[int(parts[5])]
    return [parts[3], bytes(parts[1]).decode(), kind, _name(target.decode()), parts[4] == _REPEATED]


def _name(text: str) -> str:
    text = text.lstrip(".")
    for prefix, other in _PREFIXES.items():
        if text.startswith(prefix):
            return other + text.removeprefix(prefix)
    return text


def _member(owner: str, row: list[Any], known: Mapping[str, Any]) -> list[Any]:
    """The JSON name; "" for what Go embeds."""
    number, name, kind, target, repeated = row
    properties = known.get(owner, {}).get("properties", {})
    if kind == "message" and repeated and target.endswith("Entry") and target.startswith(owner):
        kind, repeated = "map", False
    if properties and name not in properties:
        name = _other_name(owner, name, properties)
    if not name and kind != "message":
        name = row[1]
    return [number, name, kind, target, repeated]


def _other_name(owner: str, name: str, properties: dict[str, Any]) -> str:
    if owner.endswith(".JSONSchemaProps"):
        dashed = "".join(f"-{char.lower()}" if char.isupper() else char for char in name)
        return next((each for each in (_RENAMED.get(name, ""), dashed) if each in properties), "")
    lowered = {key.lower(): key for key in properties}
    return lowered.get(name.lower(), "")


def _reached(made: dict[str, Message], known: Mapping[str, Any]) -> set[str]:
    """The messages that the types of the table need, and what wraps them."""
    waiting = [name for name in made if name in known]
    kept: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in kept or name not in made:
            continue
        kept.add(name)
        waiting += [row[3] for row in made[name] if row[3]]
    return kept


if __name__ == "__main__":
    main(sys.argv[1:])
