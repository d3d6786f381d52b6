"""Errors of a strategic patch whose result does not fit its kind, with the texts of Go's converter.

Strategic patches are merged as maps and then set into the Go type by reflection. The errors of this
step do not contain a field path. Follows apimachinery/pkg/runtime/converter.go.
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas.golang import gotext
from inkube.schemas.gotypes import GoType, table, types
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

_WORDS = {"struct": "struct from:", "list": "slice from", "map": "map from"}
_NUMBERS = ("int32", "int64", "float64")
_SIMPLE = {name: name for name in ("int32", "int64", "string", "bool")} | {"float": "float64"}


def trouble(obj: Object, gvk: GVK) -> str:
    """Return the error for the first value of a wrong type; "" without one."""
    name = table.table().of(gvk)
    return "" if name is None else next(_value(types.of(name), obj), "")


def _value(go: GoType, data: Any) -> Iterator[str]:
    if data is None:
        return
    found = _kind(data)
    if go.kind in _WORDS:
        wanted = "slice" if go.kind == "list" else "map"
        if found == wanted:
            yield from _members(go, data)
        else:
            yield f"cannot restore {_WORDS[go.kind]} {found}"
    elif go.kind in _SIMPLE:
        yield from _simple(_SIMPLE[go.kind], data, found, go.name)


def _members(go: GoType, data: Any) -> Iterator[str]:
    if go.kind == "struct":
        for name, field in go.fields.items():
            yield from _value(field.type, data.get(name))
        return
    item = go.item
    assert item is not None, "lists and maps have one"
    for value in data.values() if isinstance(data, dict) else data:
        yield from _value(item, value)


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


def _kind(value: Any) -> str:
    """Return the Go kind of a decoded JSON value."""
    if isinstance(value, dict):
        return "map"
    return "slice" if isinstance(value, list) else gotext.type_name(value)
