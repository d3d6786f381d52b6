"""Objects as plain JSON: their type, and comparisons of two values.

Field ownership compares as structured-merge-diff does, with numbers by value:
`ownership.comparison.equals`.
"""

from typing import Any, NamedTuple

import orjson

Object = dict[str, Any]


def items_of(value: Object) -> list[Any] | None:
    """Return the items of a value with a kind, if it is a List; else None.

    Items of a typed list (`ConfigMapList`) have its version and kind if they have none of their
    own: an API omits them (apimachinery, unstructured/helpers.go, decodeToList).
    """
    kind, items = value["kind"], value.get("items", 0)
    if not kind.endswith("List") or not isinstance(items, list | None):
        return None
    head = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
    if not head["kind"]:
        return items or []
    return [{**item, **head} if _is_untyped(item) else item for item in items or ()]


def _is_untyped(item: Any) -> bool:
    return isinstance(item, dict) and not (item.get("kind") and item.get("apiVersion"))


class NoEntries(dict[str, Any]):
    """A map without entries, as distinct from `{}`, which can also be a struct without values."""


class Empty(NamedTuple):
    """An empty list or map of a body. Go has it in memory, but omits it when it encodes the object.

    Its value is a list, or NoEntries.
    """

    path: tuple[str | int, ...]
    """The path to it: members of structs, keys of maps, indices of lists."""
    value: Any


def same(value: Any, other: Any) -> bool:
    """Return whether two values are equal as JSON (reflect.DeepEqual): 1, 1.0 and true differ from
    each other, and the order of members has no effect."""
    return value is other or (
        bool(value == other) and (_same_text(value, other) or _same_types(value, other))
    )


def _same_text(value: Any, other: Any) -> bool:
    """Return whether equal values also have the same JSON text: a fast check that usually
    succeeds."""
    if value.__class__ is not dict and value.__class__ is not list:
        return False
    try:
        return orjson.dumps(value, option=_EXACT) == orjson.dumps(other, option=_EXACT)
    except TypeError:  # an integer beyond 64 bits, or a map without entries
        return False


_EXACT = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS


def _same_types(value: Any, other: Any) -> bool:
    """Return whether values that are equal in Python also have equal types at every depth."""
    if value.__class__ is not other.__class__:
        return False
    if value.__class__ is dict:
        return all(_same_types(item, other[name]) for name, item in value.items())
    if value.__class__ is list:
        return all(map(_same_types, value, other))
    return True


def may_mention(value: Any, *names: str) -> bool:
    """Return whether a JSON value may have a member with one of these names, at any depth.

    Searches the text of the value, which takes a tenth of the time of a walk. A string value that
    equals a name also gives True.
    """
    try:
        text = orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits
        return True
    return any(b'"%s"' % name.encode() in text for name in names)


def semantically_same(left: Any, right: Any) -> bool:
    """As `same`, but a missing member, null, an empty list and a map without entries are equal at
    any depth (apimachinery's equality.Semantic.DeepEqual). A struct without members differs."""
    if left is right:
        return True
    if not left and not right and _is_nothing(left) and _is_nothing(right):
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return all(semantically_same(value, right.get(key)) for key, value in left.items()) and all(
            key in left or _is_nothing(value) for key, value in right.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(semantically_same, left, right))
    return same(left, right)


def _is_nothing(value: Any) -> bool:
    return value is None or value == [] or isinstance(value, NoEntries)
