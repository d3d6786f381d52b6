"""Objects as plain JSON: the word for one, and when two values are the same."""

from typing import Any

Object = dict[str, Any]


def same(one: Any, other: Any) -> bool:
    """Equal as JSON (reflect.DeepEqual): 1, 1.0 and true are three things, the order of members
    does not matter."""
    return one is other or (bool(one == other) and _same_types(one, other))


def _same_types(one: Any, other: Any) -> bool:
    """Whether values that are equal in Python are so in their types, too."""
    if one.__class__ is not other.__class__:
        return False
    if one.__class__ is dict:
        return all(_same_types(item, other[name]) for name, item in one.items())
    if one.__class__ is list:
        return all(map(_same_types, one, other))
    return True
