"""Objects that are set into their Go type by reflection, and not decoded from a text.

Strategic patches and applies are merged as maps and then restored. In this step, numbers are
converted as Go converts them, so that a large one wraps, and errors do not contain a field path.
Follows apimachinery/pkg/runtime/converter.go.
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas.builtin import memberorder
from inkube.schemas.builtin.protobuf import messages
from inkube.schemas.golang import DecodeError, gotext
from inkube.schemas.gotypes import GoType, decoding, table, types
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

_WORDS = {"struct": "struct from:", "list": "slice from", "map": "map from"}
_NUMBERS = ("int32", "int64", "uint8", "float64")
_BITS = {"int32": 32, "int64": 64}
_SIMPLE = {name: name for name in ("int32", "int64", "string", "bool")} | {"float": "float64"}


def trouble(obj: Object, gvk: GVK) -> str:
    """Return the error for the first value of a wrong type, in the order of the members of Go
    structs; "" without one."""
    name = table.table().of(gvk)
    return "" if name is None else next(_value(types.of(name), obj, messages.of(gvk)), "")


def _value(go: GoType, data: Any, message: str) -> Iterator[str]:
    if data is None:
        return
    found = _kind(data)
    if go.kind in _WORDS:
        wanted = "slice" if go.kind == "list" else "map"
        if found == wanted:
            yield from _members(go, data, message)
        else:
            yield f"cannot restore {_WORDS[go.kind]} {found}"
    elif go.kind in _SIMPLE:
        yield from _simple(_SIMPLE[go.kind], data, found, go.name)
    elif go.kind == "bytes" and found == "slice":
        for value in data:
            if value is not None:
                yield from _simple("uint8", value, _kind(value), "uint8")
    elif go.kind == "bytes" and found != "string":
        yield f"cannot restore slice from {found}"
    else:
        yield from _unmarshalled(go, data)


def _members(go: GoType, data: Any, message: str) -> Iterator[str]:
    if go.kind == "struct":
        members = memberorder.targets(message)
        for name in memberorder.in_order(go.fields, message):
            yield from _value(go.fields[name].type, data.get(name), members.get(name, ""))
        return
    item = go.item
    assert item is not None, "lists and maps have one"
    for value in data.values() if isinstance(data, dict) else data:
        yield from _value(item, value, message)


def _simple(expected: str, data: Any, actual: str, name: str) -> Iterator[str]:
    """Yield the problem of a value of another type. Go converts numbers to each other, and would
    make characters of integers; `name` is the name of the type."""
    if expected == actual:
        return
    if actual in _NUMBERS and expected in _NUMBERS:
        if actual == "float64" and not data.is_integer():
            yield f"cannot convert {actual} to {expected}"
    elif actual == "int64" and expected == "string":
        yield f"cannot convert {actual} to {name}"
    else:
        yield f"unrecognized type: {expected}"


def _unmarshalled(go: GoType, data: Any) -> Iterator[str]:
    """Decode a value by the UnmarshalJSON of its type. Unions decode each schema alone, so that
    errors name its fields."""
    if go.kind == "orlist" and isinstance(data, list):
        yield from (each for value in data for each in _unmarshalled(go, value))
        return
    if go.kind in types.UNIONS and isinstance(data, dict):
        go = go.item or go
    try:
        decoding.decode(go, data)
    except DecodeError as error:
        yield f"error decoding from json: {error}" if go.kind == "bytes" else str(error)


def convert_numbers(obj: Object, gvk: GVK) -> Object:
    """Return an object with its whole numbers in the size of their fields. Call it after `trouble`
    found nothing."""
    name = table.table().of(gvk)
    return obj if name is None else _converted(types.of(name), obj)


def _converted(go: GoType, data: Any) -> Any:
    if isinstance(data, dict) and go.kind == "struct":
        fields = go.fields
        return {
            key: _converted(fields[key].type, value) if key in fields else value
            for key, value in data.items()
        }
    if go.item is not None and go.kind in ("list", "map") and isinstance(data, list | dict):
        if isinstance(data, list):
            return [_converted(go.item, value) for value in data]
        return {key: _converted(go.item, value) for key, value in data.items()}
    if go.kind == "bytes" and isinstance(data, list):
        return [None if value is None else _wrapped(value, 64) % 256 for value in data]
    if go.kind not in _BITS or isinstance(data, bool) or not isinstance(data, int | float):
        return data
    return _wrapped(data, _BITS[go.kind])


def _wrapped(number: float, bits: int) -> int:
    """Return a number as Go's conversion on amd64 gives it: a float that does not fit becomes the
    smallest int64, and a smaller integer has its low bits."""
    low = -(1 << 63)
    wide = int(number) if low <= number < -low else low
    half = 1 << bits - 1
    return (wide + half) % (2 * half) - half


def _kind(value: Any) -> str:
    """Return the Go kind of a decoded JSON value."""
    if isinstance(value, dict):
        return "map"
    return "slice" if isinstance(value, list) else gotext.type_name(value)
