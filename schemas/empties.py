"""Empty lists and maps of a body, restored while an object is validated.

kube-apiserver validates Go values, in which an empty list is not nil, but omits empty lists from
stored and returned objects. Decoding reports their places (`objects.Empty`). The registry and
`offline` restore them for the preparation and validation of the strategy.
"""

import contextlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from inkube.schemas.objects import Empty, Object


class _Place(NamedTuple):
    """A restored list or map: its path in the object, its parent and its member there."""

    path: list[str | int]
    holder: Any
    member: str | int
    was_null: bool
    """Whether the member was null, as for lists that Go always writes."""


Restored = list[_Place]


def show(obj: Object, empties: Iterable[Empty]) -> Restored:
    """Restore empty lists and maps at their places; returns the restored places for `hide`."""
    restored: Restored = []
    for (*path, member), value in empties:
        holder = _at(obj, path)
        if holder is not None and holder.get(member) is None:
            restored.append(_Place(path, holder, member, member in holder))
            holder[member] = value
    return restored


def show_written(obj: Object, empties: Iterable[Empty]) -> None:
    """Restore the empty lists that Go writes, in an object that is not stored."""
    hide(obj, [each for each in show(obj, empties) if not each.was_null])


def hide(obj: Object, restored: Restored) -> None:
    """Remove the restored lists and maps that are still empty, also from copies of their parents
    that the strategy made."""
    for path, holder, member, was_null in restored:
        _hide(holder, member, was_null)
        copied = _at(obj, path)
        if copied is not None and copied is not holder:
            _hide(copied, member, was_null)


def _at(obj: Object, path: list[str | int]) -> Any:
    """Return the value at a path; None if admission or the strategy has removed it."""
    value: Any = obj
    with contextlib.suppress(KeyError, IndexError, TypeError):
        for key in path:
            value = value[key]
        return value if isinstance(value, dict) else None
    return None


def _hide(holder: Any, member: str | int, was_null: bool) -> None:
    if was_null:
        holder[member] = holder.get(member) or None
    elif not holder.get(member):
        holder.pop(member, None)
