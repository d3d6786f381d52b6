"""Decodes messages to JSON objects, which contain zero values, and which are typed afterwards.

Unknown fields are skipped, as in Go, because newer clients send them. Invalid bytes raise WireError
with the text of gogo/protobuf's generated code.
"""

import base64
import math
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from inkube.schemas import caches, meta
from inkube.schemas.builtin.protobuf import messages, wire
from inkube.schemas.builtin.protobuf.messages import META, REPEATED, Row
from inkube.schemas.builtin.protobuf.wire import WireError
from inkube.schemas.objects import Object

MAX_DEPTH = 200  # Kubernetes' types are nested a few dozen deep, CRD schemas a little deeper
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_PROPS: Final = f"{_EXTENSIONS}JSONSchemaProps"
_GO_NAMES: Final = {"metadata": "ObjectMeta"}
_WIRE_TYPES: Final = {
    "int32": wire.VARINT, "int64": wire.VARINT, "bool": wire.VARINT, "double": wire.FIXED64,
}  # fmt: skip
_ROWS: Final[caches.Table[str, dict[int, Row]]] = caches.Table(__name__, "_ROWS", 1024)
"""The fields of each message. Fewer than 1,024 messages exist."""


def decode(name: str, data: bytes) -> Object:
    """Return the members of a message. Raises WireError."""
    return _message({}, data, name, MAX_DEPTH)


def _rows(name: str) -> dict[int, Row]:
    found = _ROWS.get(name)
    if found is None:
        made = {row.number: row for row in messages.rows(name)}
        found = _ROWS.keep(name, made)
    return found


def _message(into: Object, data: bytes, name: str, depth: int) -> Object:
    """Decode a message into an object, which can already contain fields of an earlier part."""
    if depth == 0:
        raise WireError("the message is nested too deeply")
    rows, place, end = _rows(name), 0, len(data)
    while place < end:
        start = place
        key, place = wire.varint(data, place)
        number, kind = wire.signed(key >> 3, 32), key & 7
        if kind == wire.END:
            raise WireError(f"proto: {_short(name)}: wiretype end group for non-group")
        if number <= 0:
            raise WireError(f"proto: {_short(name)}: illegal tag {number} (wire type {kind})")
        row = rows.get(number)
        if row is None:
            place = wire.skip(data, start)
        elif kind == wire.BYTES:
            start, place = wire.end_of(data, place)
            _delimited(into, row, data[start:place], depth)
        elif kind != _WIRE_TYPES.get(row.kind):
            raise _wrong_type(row, kind)
        else:
            value, place = _scalar(row.kind, data, place)
            _put(into, row, value)
    return into


def _delimited(into: Object, row: Row, data: bytes, depth: int) -> None:
    kind, target = row.kind, row.target
    if kind == "string":
        _put(into, row, data.decode("utf-8", "replace"))
    elif kind == "message":
        special = _SPECIAL.get(target)
        if special is not None:
            _put(into, row, special(data, depth - 1))
        elif row.mode == REPEATED:
            _put(into, row, _message({}, data, target, depth - 1))
        else:
            inner = into.setdefault(row.member, {}) if row.member else into
            _message(inner, data, target, depth - 1)
    elif kind == "map":
        key, value = _entry(data, target, depth)
        into.setdefault(row.member, {})[key] = value
    elif kind == "bytes":
        _put(into, row, base64.b64encode(data).decode())
    elif kind == "list":
        _put(into, row, _items(data, target, depth - 1))
    elif row.mode == REPEATED:  # packed numbers
        place = 0
        while place < len(data):
            value, place = _scalar(kind, data, place)
            _put(into, row, value)
    else:
        raise _wrong_type(row, wire.BYTES)


def _put(into: Object, row: Row, value: Any) -> None:
    if row.mode == REPEATED:
        into.setdefault(row.member, []).append(value)
    else:
        into[row.member] = value


def _scalar(kind: str, data: bytes, offset: int) -> tuple[Any, int]:
    if kind == "double":
        if offset + 8 > len(data):
            raise WireError("unexpected EOF")
        value: float = struct.unpack_from("<d", data, offset)[0]
        if not math.isfinite(value):
            raise WireError(f"a number is {value}, which JSON cannot tell")
        return value, offset + 8
    number, offset = wire.varint(data, offset)
    if kind == "bool":
        return number != 0, offset
    return wire.signed(number, 32 if kind == "int32" else 64), offset


def _entry(data: bytes, target: str, depth: int) -> tuple[str, Any]:
    """Return the key and the value of an entry. A missing one is its zero value."""
    named = "." in target
    kind, name = ("message", target) if named else (target, "")
    if named and _is_list(target):
        kind = "list"
    found: Object = {}
    rows = {1: Row(1, "key", "string", "", 0), 2: Row(2, "value", kind, name, 0)}
    place, end = 0, len(data)
    while place < end:
        start = place
        key, place = wire.varint(data, place)
        row = rows.get(key >> 3)
        if row is None:
            place = wire.skip(data, start)
        elif key & 7 == wire.BYTES:
            start, place = wire.end_of(data, place)
            _delimited(found, row, data[start:place], depth)
        elif key & 7 != _WIRE_TYPES.get(row.kind):
            raise _wrong_type(row, key & 7)
        else:
            found[row.member], place = _scalar(row.kind, data, place)
    if "value" not in found:
        _zero(found, rows[2], depth)
    return found.get("key", ""), found["value"]


def _zero(target: Object, row: Row, depth: int) -> None:
    if row.kind in _WIRE_TYPES:
        target["value"] = False if row.kind == "bool" else 0
    else:
        _delimited(target, row, b"", depth)


def _is_list(target: str) -> bool:
    return [row[1:3] for row in messages.every()[target]] == [["items", "string"]]


def _items(data: bytes, target: str, depth: int) -> list[Any]:
    items: list[Any] = _message({}, data, target, depth).get("items", [])
    return items


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _wrong_type(row: Row, kind: int) -> WireError:
    name = _GO_NAMES.get(row.member, row.member[:1].upper() + row.member[1:])
    return WireError(f"proto: wrong wireType = {kind} for field {name}")


def _moment(data: bytes) -> datetime | None:
    parts = _numbers(data, "Timestamp")
    seconds, nanos = wire.signed(parts.get(1, 0)), wire.signed(parts.get(2, 0), 32)
    if not data:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError as error:
        raise WireError("a time is out of range") from error


def _numbers(data: bytes, name: str) -> dict[int, int]:
    """Return the fields of a message that consists of numbers, by field number."""
    found, place = {}, 0
    while place < len(data):
        start = place
        key, place = wire.varint(data, place)
        if key >> 3 in (1, 2):
            if key & 7 != wire.VARINT:
                raise WireError(f"proto: wrong wireType = {key & 7} for field of {name}")
            found[key >> 3], place = wire.varint(data, place)
        else:
            place = wire.skip(data, start)
    return found


def _time(data: bytes, _depth: int) -> str | None:
    moment = _moment(data)
    return None if moment is None else meta.format_time(moment)


def _micro_time(data: bytes, _depth: int) -> str | None:
    moment = _moment(data)
    return None if moment is None else meta.format_micro_time(moment)


def _quantity(data: bytes, depth: int) -> str:
    text: str = _message({}, data, _QUANTITY, depth).get("string", "")
    return text


def _int_or_string(data: bytes, depth: int) -> int | str:
    parts = _message({}, data, _INT_OR_STRING, depth)
    found: int | str = parts.get("strVal", "") if parts.get("type") else parts.get("intVal", 0)
    return found


def _json(data: bytes, _depth: int) -> Any:
    """Decode RawExtension, FieldsV1 and JSON, which are messages that contain JSON."""
    raw, place = b"", 0
    while place < len(data):
        start = place
        key, place = wire.varint(data, place)
        if key >> 3 == 1 and key & 7 == wire.BYTES:
            start, place = wire.end_of(data, place)
            raw = data[start:place]
        else:
            place = wire.skip(data, start)
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as error:
        raise WireError("an embedded object is not valid JSON") from error


def _props_or_bool(data: bytes, depth: int) -> Any:
    parts = _message({}, data, f"{_PROPS}OrBool", depth)
    return parts["schema"] if "schema" in parts else parts.get("allows", False)


def _props_or_array(data: bytes, depth: int) -> Any:
    parts = _message({}, data, f"{_PROPS}OrArray", depth)
    return parts["schema"] if "schema" in parts else parts.get("jSONSchemas", [])


def _props_or_strings(data: bytes, depth: int) -> Any:
    parts = _message({}, data, f"{_PROPS}OrStringArray", depth)
    return parts["schema"] if "schema" in parts else parts.get("property", [])


_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_SPECIAL: dict[str, Callable[[bytes, int], Any]] = {
    f"{META}Time": _time,
    f"{META}MicroTime": _micro_time,
    f"{META}FieldsV1": _json,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _json,
    _QUANTITY: _quantity,
    _INT_OR_STRING: _int_or_string,
    f"{_EXTENSIONS}JSON": _json,
    f"{_PROPS}OrBool": _props_or_bool,
    f"{_PROPS}OrArray": _props_or_array,
    f"{_PROPS}OrStringArray": _props_or_strings,
}
