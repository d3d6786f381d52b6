"""Protobuf bodies of built-in objects, read into the JSON objects they stand for.

Go clients with generated types (kubectl's own commands among them) write so. Answers are JSON,
which all of them accept. `decode` gives the object as sent, zeros included; typing it comes next.
Kinds newer than the table of messages cannot be read. Follows
apimachinery/pkg/runtime/serializer/protobuf.
"""

import base64
import gzip
import json
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from inkube.schemas import caches, meta
from inkube.schemas.builtin import wire
from inkube.schemas.builtin.wire import WireError
from inkube.schemas.gotypes import table
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

__all__ = ["PREFIX", "WireError", "can_decode", "decode", "open_envelope"]

PREFIX = b"k8s\0"
MAX_DEPTH = 200  # Kubernetes' own types nest a few dozen deep
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_DELETE_OPTIONS = f"{_META}DeleteOptions"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Rows = dict[int, tuple[str, str, str, bool]]
"""By field number: member, kind, type, repeated."""


@caches.of_values(1)
def _messages() -> dict[str, Rows]:
    path = Path(__file__).with_name("messages.json.gz")
    found: dict[str, list[Any]] = json.loads(gzip.decompress(path.read_bytes()))
    return {
        name: {number: (member, *rest) for number, member, *rest in rows}
        for name, rows in found.items()
    }


def _name(gvk: GVK) -> str:
    if gvk.kind == "DeleteOptions":
        return _DELETE_OPTIONS
    return table.table().of(gvk) or ""


def can_decode(gvk: GVK) -> bool:
    """Whether the kind's message is known."""
    return _name(gvk) in _messages()


def open_envelope(body: bytes) -> tuple[str, str, bytes]:
    """apiVersion, kind and the object's own bytes (`runtime.Unknown`). Raises WireError."""
    parts = dict(wire.fields(body.removeprefix(PREFIX)))
    kinds = dict(wire.fields(_bytes(parts.get(1, b""))))
    version, kind = (_text(kinds.get(number, b"")) for number in (1, 2))
    return version, kind, _bytes(parts.get(2, b""))


def decode(data: bytes, gvk: GVK) -> Object:
    """An object of the kind, with its apiVersion and kind. Raises WireError."""
    return {
        "apiVersion": gvk.api_version,
        "kind": gvk.kind,
        **_message(data, _messages()[_name(gvk)], MAX_DEPTH),
    }


def _message(data: bytes, rows: Rows, depth: int) -> Object:
    if depth == 0:
        raise WireError("the message is nested too deeply")
    found: Object = {}
    for number, raw in wire.fields(data):
        row = rows.get(number)
        if row is None:
            continue  # a newer client's field
        member, kind, target, repeated = row
        if kind == "map":
            key, value = _entry(_bytes(raw), target, depth)
            found.setdefault(member, {})[key] = value
            continue
        value = _value(raw, kind, target, depth)
        if not member:
            found |= value
        elif repeated:
            found.setdefault(member, []).append(value)
        else:
            found[member] = value
    return found


def _entry(data: bytes, target: str, depth: int) -> tuple[str, Any]:
    """A key and its value; either may be left out, which means its zero."""
    rows = _messages()[target]
    parts = dict(wire.fields(data))
    _, kind, name, _ = rows[2]
    zero: int | bytes = 0 if kind in ("int", "bool") else b""
    return _text(parts.get(1, b"")), _value(parts.get(2, zero), kind, name, depth)


def _value(raw: int | bytes, kind: str, target: str, depth: int) -> Any:
    if kind == "message":
        special = _SPECIAL.get(target)
        if special is not None:
            return special(_bytes(raw))
        return _message(_bytes(raw), _messages()[target], depth - 1)
    if kind == "string":
        return _text(raw)
    if kind == "bytes":
        return base64.b64encode(_bytes(raw)).decode()
    if kind == "double":
        return struct.unpack("<d", _bytes(raw))[0]
    number = _number(raw)
    return bool(number) if kind == "bool" else wire.signed(number)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise WireError("proto: wrong wireType = 0 for a length-delimited field")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode("utf-8", errors="replace")


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise WireError("proto: wrong wireType = 2 for a number")
    return value


def _moment(data: bytes) -> datetime | None:
    parts = dict(wire.fields(data))
    seconds, nanos = (wire.signed(_number(parts.get(number, 0))) for number in (1, 2))
    if not seconds and not nanos:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError as error:
        raise WireError("a time is out of range") from error


def _time(data: bytes) -> str | None:
    moment = _moment(data)
    return None if moment is None else meta.format_time(moment)


def _micro_time(data: bytes) -> str | None:
    moment = _moment(data)
    return None if moment is None else meta.format_micro_time(moment)


def _quantity(data: bytes) -> str:
    return _text(dict(wire.fields(data)).get(1, b""))


def _int_or_string(data: bytes) -> int | str:
    parts = dict(wire.fields(data))
    if parts.get(1, 0):
        return _text(parts.get(3, b""))
    return wire.signed(_number(parts.get(2, 0)))


def _json(data: bytes) -> Any:
    """RawExtension and FieldsV1: JSON inside of a message."""
    raw = _bytes(dict(wire.fields(data)).get(1, b""))
    try:
        return json.loads(raw) if raw else None
    except (ValueError, RecursionError) as error:
        raise WireError("an embedded object is no JSON") from error


_SPECIAL: dict[str, Callable[[bytes], Any]] = {
    f"{_META}Time": _time,
    f"{_META}MicroTime": _micro_time,
    f"{_META}FieldsV1": _json,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _json,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
}
