"""Empty lists and maps of a body, put back while an object is judged.

kube-apiserver validates what Go has in memory, where an empty list is not nil; what it stores and
answers has none of them. Decoding says where they stood (`objects.Empty`); the registry and
`offline` put them back for the strategy's preparation and validation.
"""

import contextlib
from collections.abc import Iterable
from typing import Any

from inkube.schemas.objects import Empty, Object

Shown = list[tuple[Any, str | int, bool]]
"""Holder, member, and whether a null stood there, as for lists that Go always writes."""


def show(obj: Object, empties: Iterable[Empty]) -> Shown:
    """Put empty lists and maps where they were sent; returns where they stand now."""
    shown: Shown = []
    for (*path, member), value in empties:
        holder: Any = obj
        with contextlib.suppress(KeyError, IndexError):  # admission may have taken it
            for key in path:
                holder = holder[key]
            if holder.get(member) is None:
                shown.append((holder, member, member in holder))
                holder[member] = value
    return shown


def hide(shown: Shown) -> None:
    """Take them away again."""
    for holder, member, was_null in shown:
        if was_null:
            holder[member] = holder.get(member) or None
        elif not holder.get(member):
            holder.pop(member, None)
