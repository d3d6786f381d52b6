"""Identities of list elements: the path elements of items for field ownership.

Follows structured-merge-diff typed/helpers.go: keyed elements by their key fields or the defaults
of these, members of sets by their value, items of atomic lists by position.
"""

from typing import Any

from inkube.schemas.golang import gotext
from inkube.schemas.ownership import pathelements
from inkube.schemas.ownership.mergetypes import ListType


class UntypableError(ValueError):
    """A value does not fit its type, so its fields have no paths."""


def element(kind: ListType, index: int, item: Any) -> str:
    """Return the path element of `item`. Raises UntypableError for items without an identity."""
    if kind.atomic:
        return f"i:{index}"
    return _keyed(kind, item) if kind.keys else _member(item)


def elements(kind: ListType, items: list[Any]) -> list[str]:
    """Return the path element of every item."""
    keys = texts(kind, items)
    if keys is not None:
        return [*map(kind.key, keys)]
    try:
        return [element(kind, index, item) for index, item in enumerate(items)]
    except UntypableError:
        return [_reported(kind, index, item) for index, item in enumerate(items)]


def texts(kind: ListType, items: list[Any]) -> list[str] | None:
    """Return the keys of all items if the list has one key that is a text in every item, else None.

    This is the usual case.
    """
    if len(kind.keys) != 1:
        return None
    name = kind.keys[0]
    try:
        keys = [item[name] for item in items]
    except (KeyError, TypeError):
        return None
    return keys if {*map(type, keys)} == _TEXTS else None


_TEXTS = {str}


def _reported(kind: ListType, index: int, item: Any) -> str:
    try:
        return element(kind, index, item)
    except UntypableError as error:
        raise UntypableError(f"element {index}: {error}") from error


def _keyed(kind: ListType, item: Any) -> str:
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise UntypableError(f"associative list with keys may not have {what}")
    names = kind.keys
    values = []
    for name, default in zip(names, kind.defaults, strict=True):
        value = item.get(name, default)
        if value is None or value.__class__ is dict or value.__class__ is list:
            return _unusual(kind, item)
        values.append(value)
    return kind.key(*values)


def _unusual(kind: ListType, item: dict[str, Any]) -> str:
    """Return the path element of an item with a missing key, or a key that is null or not a
    scalar."""
    pairs = {}
    for name, default in zip(kind.keys, kind.defaults, strict=True):
        if name in item:
            pairs[name] = item[name]
        elif default is not None:
            pairs[name] = default
    if pairs:
        return pathelements.key_of(pairs)
    names = " ".join(map(gotext.quote, kind.declared_keys))
    raise UntypableError(
        f"associative list with keys has an element that omits all key fields [{names}]"
        " (and doesn't have default values for any key fields)"
    )


def _member(item: Any) -> str:
    if isinstance(item, dict):
        raise UntypableError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise UntypableError("not supported: associative list with lists as elements")
    if item is None:
        raise UntypableError("associative list without keys has an element that's an explicit null")
    return pathelements.value(item)
