"""Encodes objects as messages, with one function for each message, created at its first use.

Fields are written in the order of the table, and map entries in the order of their keys. Zero
values are written if Go writes them, so that the bytes equal upstream's. Members that the message
does not have are omitted.
"""

import binascii
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from inkube.schemas import caches
from inkube.schemas.builtin.protobuf import messages, wire
from inkube.schemas.builtin.protobuf.messages import META, REPEATED, ZERO, Row
from inkube.schemas.objects import Object

Writer = Callable[[Any], bytes]
"""A function that encodes a value without its tag, and messages, bytes and texts without their
size."""
Field = tuple[str, Writer, bytes]
"""A member, its encoder with the tag, and the bytes for a missing value."""

_WRITERS: Final[caches.Table[str, Writer]] = caches.Table(__name__, "_WRITERS", 1024)
"""The encoder of each message. Fewer than 1,024 messages exist."""
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_PROPS: Final = f"{_EXTENSIONS}JSONSchemaProps"
_ZERO_TIME: Final = "0001-01-01T00:00:00"
_FALSE, _TRUE = b"\x00", b"\x01"


def encode(name: str, value: Object) -> bytes:
    """Return the bytes of a message. Raises ValueError if a field cannot contain its value."""
    return _writer(name)(value)


def sized(number: int, data: bytes) -> bytes:
    """Return a length-delimited field."""
    return b"%b%b%b" % (wire.tag(number, wire.BYTES), wire.size(len(data)), data)


def _writer(name: str) -> Writer:
    found = _WRITERS.get(name)
    if found is None:
        found = _WRITERS.keep(name, _SPECIAL.get(name) or _message(name))
    return found


def _message(name: str) -> Writer:
    fields = [_field(row) for row in messages.rows(name)]
    plain = [field for field in fields if field[0]]
    if len(plain) == len(fields):
        return _plain(fields)

    def write(value: Object) -> bytes:
        get = value.get
        parts = []
        for member, one, absent in fields:
            found = get(member) if member else value
            parts.append(absent if found is None else one(found))
        return b"".join(parts)

    return write


def _plain(fields: list[Field]) -> Writer:
    whole = _in_full(fields)
    if any(absent for _, _, absent in fields):
        return whole
    writers = {member: one for member, one, _ in fields}

    def write(value: Object) -> bytes:
        if len(value) != 1:
            return whole(value)
        for member in value:  # a message with one member is most often a choice, of many
            one, found = writers.get(member), value[member]
            if one is not None and found is not None:
                return one(found)
        return b""

    return write


def _in_full(fields: list[Field]) -> Writer:
    def write(value: Object) -> bytes:
        get = value.get
        return b"".join(
            [
                absent if (found := get(member)) is None else one(found)
                for member, one, absent in fields
            ]
        )

    return write


def _field(row: Row) -> Field:
    if row.kind == "map":
        return row.member, _map(row), b""
    if row.mode == REPEATED:
        return row.member, _repeated(_tagged(row.number, row.kind, row.target)), b""
    return row.member, _tagged(row.number, row.kind, row.target), _absent(row)


def _absent(row: Row) -> bytes:
    if row.mode != ZERO:
        return b""
    if row.kind == "message":
        special = row.target in _SPECIAL
        return sized(row.number, b"" if special else _writer(row.target)({}))
    return _tagged(row.number, row.kind, row.target)(_ZEROS[row.kind])


def _tagged(number: int, kind: str, target: str) -> Writer:
    """Return an encoder of one value with its tag and its size."""
    if kind in _NUMBERS:
        return _tagged_number(wire.tag(number, _WIRE_TYPES.get(kind, wire.VARINT)), _NUMBERS[kind])
    tag = wire.tag(number, wire.BYTES)
    if kind == "string":
        return _tagged_text(tag)
    if kind == "bytes":
        return _tagged_bytes(tag, _from_base64)
    if kind == "list":
        return _tagged_bytes(tag, _repeated(_tagged_text(wire.tag(1, wire.BYTES))))
    return _tagged_message(tag, target)


def _tagged_number(tag: bytes, write: Writer) -> Writer:
    return lambda value: tag + write(value)


def _tagged_text(tag: bytes) -> Writer:
    sizes = wire.SIZES

    def write(value: str) -> bytes:
        data = value.encode("utf-8", "replace")
        length = len(data)
        return tag + (sizes[length] if length < 128 else wire.size(length)) + data

    return write


def _tagged_bytes(tag: bytes, inner: Writer) -> Writer:
    sizes = wire.SIZES

    def write(value: Any) -> bytes:
        data = inner(value)
        length = len(data)
        return tag + (sizes[length] if length < 128 else wire.size(length)) + data

    return write


def _tagged_message(tag: bytes, target: str) -> Writer:
    """Return the encoder of an inner message, which is looked up at each use, because a message
    can contain itself."""
    sizes, writers = wire.SIZES, _WRITERS

    def write(value: Any) -> bytes:
        data = (writers.get(target) or _writer(target))(value)
        length = len(data)
        return tag + (sizes[length] if length < 128 else wire.size(length)) + data

    return write


def _repeated(write_item: Writer) -> Writer:
    return lambda values: b"".join([write_item(value) for value in values])


def _map(row: Row) -> Writer:
    """Encode a map. Entries always have key and value, and are sorted by key as in Go."""
    named = "." in row.target
    tag = wire.tag(row.number, wire.BYTES)
    key = _tagged_text(wire.tag(1, wire.BYTES))
    if not named:
        value = _tagged(2, row.target, "")
        absent = value(_ZEROS[row.target])
    else:
        kind = "list" if _is_list(row.target) else "message"
        value = _tagged(2, kind, row.target)
        absent = sized(2, b"")

    def write(entries: dict[str, Any]) -> bytes:
        parts: list[bytes] = []
        for name in sorted(entries):
            found = entries[name]
            data = key(name) + (absent if found is None else value(found))
            parts += tag, wire.size(len(data)), data
        return b"".join(parts)

    return write


def _is_list(target: str) -> bool:
    return [row[1:3] for row in messages.every()[target]] == [["items", "string"]]


def _from_base64(value: str) -> bytes:
    return binascii.a2b_base64(value)


def _boolean(value: bool) -> bytes:
    return _TRUE if value else _FALSE


def _double(value: float) -> bytes:
    return struct.pack("<d", value)


_NUMBERS: dict[str, Writer] = {
    "bool": _boolean, "int32": wire.number, "int64": wire.number, "double": _double,
}  # fmt: skip
_WIRE_TYPES = {"double": wire.FIXED64}
_ZEROS: dict[str, Any] = {
    "string": "", "bytes": "", "bool": False, "int32": 0, "int64": 0, "double": 0.0, "list": (),
}  # fmt: skip


@caches.of_texts(4096)
def _time(text: str) -> bytes:
    """Encode seconds and nanoseconds; the zero time is empty."""
    if text.startswith(_ZERO_TIME):
        return b""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = int(moment.replace(microsecond=0).timestamp())
    return b"\x08%b\x10%b" % (wire.number(seconds), wire.number(moment.microsecond * 1000))


def _quantity(value: Any) -> bytes:
    return sized(1, str(value).encode())


def _int_or_string(value: int | str) -> bytes:
    """Encode the type, the number and the text. All three are always present."""
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + sized(3, value.encode("utf-8", "replace"))
    return b"\x08\x00\x10%b\x1a\x00" % wire.number(value)


def _json(value: Any) -> bytes:
    """Encode RawExtension, FieldsV1 and JSON, which are messages that contain JSON; null is
    empty."""
    return b"" if value is None else sized(1, orjson.dumps(value))


def _props(number: int) -> Writer:
    return _tagged_message(wire.tag(number, wire.BYTES), _PROPS)


def _props_or_bool(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"\x08" + _boolean(value)
    return b"\x08\x01" + _props(2)(value)


def _props_or_array(value: Any) -> bytes:
    return _repeated(_props(2))(value) if isinstance(value, list) else _props(1)(value)


def _props_or_strings(value: Any) -> bytes:
    if isinstance(value, list):
        return _repeated(_tagged_text(wire.tag(2, wire.BYTES)))(value)
    return _props(1)(value)


_SPECIAL: dict[str, Writer] = {
    f"{META}Time": _time,
    f"{META}MicroTime": _time,
    f"{META}FieldsV1": _json,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _json,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    f"{_EXTENSIONS}JSON": _json,
    f"{_PROPS}OrBool": _props_or_bool,
    f"{_PROPS}OrArray": _props_or_array,
    f"{_PROPS}OrStringArray": _props_or_strings,
}
