"""Objects as plain JSON: the word for one, and when two values are the same.

Ownership compares as structured-merge-diff does, numbers by value: `ownership.comparison.equals`.
"""

from typing import Any

Object = dict[str, Any]


def same(one: Any, other: Any) -> bool:
    """Equal as JSON (reflect.DeepEqual): 1, 1.0 and true are three things, the order of members
    does not matter."""
    return one is other or (bool(one == other) and _same_types(one, other))


def semantically_same(one: Any, other: Any) -> bool:
    """As `same`, but at any depth nothing, null and an empty list or map are the same
    (apimachinery's equality.Semantic.DeepEqual)."""
    return same(one, other) or _alike(one, other)


def _alike(one: Any, other: Any) -> bool:
    if _is_empty(one) and _is_empty(other):
        return True
    if one.__class__ is dict and other.__class__ is dict:
        return all(_alike(one.get(name), other.get(name)) for name in {**one, **other})
    if one.__class__ is list and other.__class__ is list:
        return len(one) == len(other) and all(map(_alike, one, other))
    return same(one, other)


def _is_empty(value: Any) -> bool:
    return value is None or (not value and value.__class__ in (dict, list))


def _same_types(one: Any, other: Any) -> bool:
    """Whether values that are equal in Python are so in their types, too."""
    if one.__class__ is not other.__class__:
        return False
    if one.__class__ is dict:
        return all(_same_types(item, other[name]) for name, item in one.items())
    if one.__class__ is list:
        return all(map(_same_types, one, other))
    return True
