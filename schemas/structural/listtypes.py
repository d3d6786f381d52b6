"""Sets without repeated members, map lists without repeated keys.

Follows apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from inkube.schemas.fielderrors import FieldError, duplicate, invalid
from inkube.schemas.structural.nodes import Node

_TEXTS = {str}
_UNSPECIFIED = object()
"""The key of an item that does not have the key field."""


def validate(node: Node, value: Any, path: str = "") -> list[FieldError]:
    """Return an error for the first repetition of each member or key.

    Paths have map keys in brackets: `spec.by[name]`.
    """
    errors: list[FieldError] = []
    if _is_plain(node, value):
        return errors
    if type(value) is dict:
        _visit_map(node, value, path, errors)
    elif type(value) is list:
        _visit_list(node, value, path, errors)
    return errors


def _is_plain(node: Node, value: Any) -> bool:
    """Return whether all members and keys are different texts, the usual case without errors.

    Visits only values that lead to lists with a list type, which takes a quarter of the time of a
    whole visit.
    """
    if type(value) is dict:
        for name, child in node.typed_lists:
            item = value.get(name)
            if item and not _is_plain(child, item):
                return False
        return not node.typed_values
    if type(value) is not list:
        return True
    if node.list_type == "map":
        if len(node.list_map_keys) != 1:
            return False
        name = node.list_map_keys[0]
        try:
            keys = [item[name] for item in value]
        except (KeyError, TypeError):
            return False
        if not _surely_distinct(keys):
            return False
    elif node.list_type == "set" and not _surely_distinct(value):
        return False
    below = node.items
    return below is None or not below.holds_list_types


def _visit_map(node: Node, value: dict[str, Any], path: str, errors: list[FieldError]) -> None:
    children = node.children
    for name, item in value.items():
        kind = type(item)
        if (kind is not dict and kind is not list) or not item:
            continue
        child = children[name]
        if child is None or not child.holds_list_types:
            continue
        if name not in children.declared:
            below = f"{path}[{name}]"
        else:
            below = f"{path}.{name}" if path else name
        (_visit_map if kind is dict else _visit_list)(child, item, below, errors)


def _visit_list(node: Node, items: list[Any], path: str, errors: list[FieldError]) -> None:
    if node.list_type == "set":
        errors += [duplicate(f"{path}[{index}]", items[index]) for index in _repeated(items)]
    elif node.list_type == "map":
        errors += _repeated_keys(node.list_map_keys, items, path)
    below = node.items
    if below is None or not below.holds_list_types:
        return
    for index, item in enumerate(items):
        if type(item) is dict:
            _visit_map(below, item, f"{path}[{index}]", errors)
        elif type(item) is list:
            _visit_list(below, item, f"{path}[{index}]", errors)


def _repeated_keys(names: tuple[str, ...], items: list[Any], path: str) -> Iterator[FieldError]:
    for index, item in enumerate(items):
        if item is not None and type(item) is not dict:
            text = "must be an object for an array of list-type map"
            yield invalid(f"{path}[{index}]", item, text)
            return
    if len(names) == 1:
        name = names[0]
        keys = [_UNSPECIFIED if not item else item.get(name, _UNSPECIFIED) for item in items]
        for index in _repeated(keys):
            key = keys[index]
            yield duplicate(f"{path}[{index}]", {} if key is _UNSPECIFIED else {name: key})
        return
    keys = [{name: item[name] for name in names if name in item} for item in map(_object, items)]
    for index in _repeated(keys):
        yield duplicate(f"{path}[{index}]", keys[index])


def _object(item: Any) -> dict[str, Any]:
    return item or {}


def _repeated(items: list[Any]) -> list[int]:
    """Return the index of the second occurrence of each repeated value."""
    if _surely_distinct(items):
        return []
    times: dict[Any, int] = {}
    repeated = []
    for index, item in enumerate(items):
        identity = _identity(item)
        times[identity] = times.get(identity, 0) + 1
        if times[identity] == 2:
            repeated.append(index)
    return repeated


def _surely_distinct(items: list[Any]) -> bool:
    """Return whether all items are different texts: a fast check for the usual case."""
    return {*map(type, items)} == _TEXTS and len({*items}) == len(items)


def _identity(item: Any) -> Any:
    """Return a hashable identity of an item. Scalars of different types differ: 1, 1.0 and true."""
    if type(item) in {dict, list}:
        return dict, orjson.dumps(_plain(item), option=orjson.OPT_SORT_KEYS)
    return type(item), item


def _plain(item: Any) -> Any:
    """Return the item with whole floats as integers, because Go's JSON prints them like
    integers."""
    if type(item) is dict:
        return {name: _plain(below) for name, below in item.items()}
    if type(item) is list:
        return [_plain(below) for below in item]
    if type(item) is float and item.is_integer() and abs(item) < 2**53:
        return int(item)
    return item
