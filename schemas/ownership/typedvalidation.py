"""Checks that a value fits its merge type, with the texts of structured-merge-diff
typed/validate.go.

This is not the validation of a kind's schema: it only refuses values that cannot be merged or
owned.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from inkube.schemas.golang import gotext
from inkube.schemas.ownership import listitems, pathelements
from inkube.schemas.ownership.mergetypes import (
    BOOLEAN,
    NUMERIC,
    STRING,
    UNTYPED,
    ListType,
    MapType,
    Type,
)


class Problem(NamedTuple):
    """One value that does not fit; `path` is in the form of messages."""

    path: str
    message: str
    duplicate: bool = False
    """Whether the problem is a duplicate element, which stored values can have."""


def problems(kind: Type, value: Any, path: str = "") -> Iterator[Problem]:
    """Yield the reasons why `value` does not fit `kind`, with duplicates in sets and keyed
    lists."""
    shape = value.__class__
    if shape is dict and kind.map is not None:
        yield from _map(kind.map, value, path)
    elif shape is list and kind.list is not None:
        yield from _list(kind.list, value, path)
    elif value is None:
        return
    elif kind.scalar is not None:
        message = _scalar(kind.scalar, value)
        if message:
            yield Problem(path, message)
    elif kind.map is not None:
        yield Problem(path, f"expected map, got {gotext.pointer(value)}")
    else:
        yield Problem(path, f"expected list, got {gotext.pointer(value)}")


def text(problems: list[Problem]) -> str:
    """Return the text of ValidationErrors.Error: one error on a line, several as a list."""
    lines = [f"{each.path}: {each.message}" if each.path else each.message for each in problems]
    return lines[0] if len(lines) == 1 else "\n".join(["errors:", *(f"  {line}" for line in lines)])


def _map(kind: MapType, value: dict[str, Any], path: str) -> Iterator[Problem]:
    fields, other = kind.fields, kind.element
    for name, child in sorted(value.items()):
        child_kind = fields.get(name, other)
        if child_kind is None:
            yield Problem(f"{path}.{name}", "field not declared in schema")
            return
        if child.__class__ is str and child_kind.scalar in (STRING, UNTYPED):
            continue
        yield from problems(child_kind, child, f"{path}.{name}")


def _list(kind: ListType, items: list[Any], path: str) -> Iterator[Problem]:
    seen = set()
    for index, item in enumerate(items):
        try:
            element = listitems.element(kind, index, item)
        except listitems.UntypableError as error:
            yield Problem(path, f"element {index}: {error}")
            return
        if element in seen:
            element_text = pathelements.show(element)
            yield Problem(path, f"duplicate entries for key {element_text}", duplicate=True)
        seen.add(element)
        if item.__class__ is str and kind.element.scalar in (STRING, UNTYPED):
            continue
        yield from problems(kind.element, item, path + pathelements.show(element))


def _scalar(kind: str, value: Any) -> str:
    if kind == NUMERIC and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"expected numeric (int or float), got {gotext.type_name(value)}"
    if kind == STRING and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{gotext.syntax(value)}}}"
    if kind == BOOLEAN and not isinstance(value, bool):
        return f"expected boolean, got {gotext.pointer(value)}"
    if kind == UNTYPED and isinstance(value, dict | list):
        return f"expected any scalar, got {gotext.pointer(value)}"
    return ""
