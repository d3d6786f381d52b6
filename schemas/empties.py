"""Empty lists and maps of a body, restored while an object is validated.

kube-apiserver validates Go values, in which an empty list is not nil, but omits empty lists from
stored and returned objects. Decoding reports their places (`objects.Empty`). The registry and
`offline` restore them for the preparation and validation of the strategy.
"""

import contextlib
from collections.abc import Iterable
from typing import Any

from inkube.schemas.objects import Empty, Object

Restored = list[tuple[Any, str | int, bool]]
"""The parent, its member, and whether the member was null, as for lists that Go always writes."""


def show(obj: Object, empties: Iterable[Empty]) -> Restored:
    """Restore empty lists and maps at their places; returns the restored places for `hide`."""
    restored: Restored = []
    for (*path, member), value in empties:
        holder: Any = obj
        with contextlib.suppress(KeyError, IndexError):  # admission may have removed the parent
            for key in path:
                holder = holder[key]
            if holder.get(member) is None:
                restored.append((holder, member, member in holder))
                holder[member] = value
    return restored


def hide(restored: Restored) -> None:
    """Remove the restored lists and maps that are still empty."""
    for holder, member, was_null in restored:
        if was_null:
            holder[member] = holder.get(member) or None
        elif not holder.get(member):
            holder.pop(member, None)
