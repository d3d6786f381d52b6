"""The order of list items after a strategic merge: items of the patch among those of the server.

Follows apimachinery strategicpatch/patch.go: normalizeElementOrder, mergeSortedSlice, index.
"""

from collections.abc import Callable
from typing import Any

Key = Callable[[Any], Any]


def key_of(merge_key: str) -> Key:
    """A function that identifies an item: by its merge key, or by itself in a list of scalars."""
    if not merge_key:
        return lambda item: (type(item), hashable(item))
    return lambda item: (type(item.get(merge_key)), hashable(item.get(merge_key)))


def hashable(value: Any) -> Any:
    """A hashable form of a value: the text of lists and objects, which no kind has here."""
    return repr(value) if isinstance(value, list | dict) else value


def arrange(merged: list[Any], by_patch: list[Any], by_server: list[Any], key: Key) -> list[Any]:
    """All items of `merged`: those of `by_patch` in its order, the others in that of `by_server`.

    An item of the server is before an item of the patch only if it already was before it.
    """
    named = {key(item) for item in by_patch}
    patched = [item for item in merged if key(item) in named]
    others = [item for item in merged if key(item) not in named]
    server = _places(by_server, key)
    return _interleave(
        _sorted(others, server, key), _sorted(patched, _places(by_patch, key), key), server, key
    )


def _places(items: list[Any], key: Key) -> dict[Any, int]:
    places: dict[Any, int] = {}
    for place, item in enumerate(items):
        places.setdefault(key(item), place)
    return places


def _sorted(items: list[Any], places: dict[Any, int], key: Key) -> list[Any]:
    """Sort by place, with an insertion sort, because upstream does not order missing places."""
    keys = [key(item) for item in items]
    if places.keys() >= {*keys}:
        order = sorted(range(len(items)), key=lambda index: places[keys[index]])
        return [items[index] for index in order]
    done: list[Any] = []
    for item in items:
        at = len(done)
        while at > 0 and _goes_before(key(item), key(done[at - 1]), places):
            at -= 1
        done.insert(at, item)
    return done


def _goes_before(left: Any, right: Any, places: dict[Any, int]) -> bool:
    if left in places and right in places:
        return places[left] < places[right]
    return True


def _interleave(
    others: list[Any], patched: list[Any], places: dict[Any, int], key: Key
) -> list[Any]:
    arranged: list[Any] = []
    left, right = others[::-1], patched[::-1]
    while left and right:
        first, second = key(left[-1]), key(right[-1])
        server_first = first in places and second in places and places[first] < places[second]
        arranged.append((left if server_first else right).pop())
    return arranged + left[::-1] + right[::-1]
