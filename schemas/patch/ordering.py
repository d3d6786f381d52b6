"""The order of list items after a strategic merge: items of the patch among those of the server.

Follows apimachinery strategicpatch/patch.go: normalizeElementOrder, mergeSortedSlice, index.
"""

from collections.abc import Callable
from typing import Any

from inkube.schemas import status
from inkube.schemas.golang import gotext

Key = Callable[[Any], Any]


def key_of(merge_key: str) -> Key:
    """Return a function that identifies an item: by its merge key, or by itself in a list of
    scalars."""
    if not merge_key:
        return lambda item: (type(item), hashable(item))
    return lambda item: (type(item.get(merge_key)), hashable(item.get(merge_key)))


def hashable(value: Any) -> Any:
    """Return a value that identifies an item. Raises StatusError 500 for lists and objects, with
    which kube-apiserver panics."""
    if isinstance(value, list | dict):
        shown = gotext.plain(value)
        raise status.internal_error(f"only a scalar can identify an item of a list, not {shown}")
    return value


def arrange(merged: list[Any], by_patch: list[Any], by_server: list[Any], key: Key) -> list[Any]:
    """Return all items of `merged`: those of `by_patch` in its order, the others in that of
    `by_server`.

    An item of the server is before an item of the patch only if it already was before it.
    """
    patch, server = _places(by_patch, key), _places(by_server, key)
    keyed = [(key(item), item) for item in merged]
    patched = _sorted([each for each in keyed if each[0] in patch], patch)
    others = _sorted([each for each in keyed if each[0] not in patch], server)
    return [item for _, item in _interleave(others, patched, server)]


_Keyed = tuple[Any, Any]
"""The key of an item, and the item."""


def _places(items: list[Any], key: Key) -> dict[Any, int]:
    places: dict[Any, int] = {}
    for place, item in enumerate(items):
        places.setdefault(key(item), place)
    return places


def _sorted(items: list[_Keyed], places: dict[Any, int]) -> list[_Keyed]:
    """Sort by place, with an insertion sort, because upstream does not order missing places."""
    if all(key in places for key, _ in items):
        return sorted(items, key=lambda each: places[each[0]])
    done: list[_Keyed] = []
    for item in items:
        at = len(done)
        while at > 0 and _precedes(item[0], done[at - 1][0], places):
            at -= 1
        done.insert(at, item)
    return done


def _precedes(left: Any, right: Any, places: dict[Any, int]) -> bool:
    if left in places and right in places:
        return places[left] < places[right]
    return True


def _interleave(
    others: list[_Keyed], patched: list[_Keyed], places: dict[Any, int]
) -> list[_Keyed]:
    arranged: list[_Keyed] = []
    left, right = others[::-1], patched[::-1]
    while left and right:
        first, second = left[-1][0], right[-1][0]
        server_first = first in places and second in places and places[first] < places[second]
        arranged.append((left if server_first else right).pop())
    return arranged + left[::-1] + right[::-1]
