"""Correlation of parts of a new object with those of the old one, and their comparison.

Follows apiserver pkg/cel/common/equality.go CorrelatedObject: properties and map values correlate
by key, items of keyed lists by their keys; items of other lists belong to the list as a whole.
"""

from typing import Any

from inkube.schemas.cel.rules.map_lists import MapList
from inkube.schemas.objects import same


class Correlation:
    """A value, its old counterpart, and their schema. Equality is computed on demand."""

    def __init__(self, new: Any, old: Any, schema: dict[str, Any]) -> None:
        self._new = new
        self._old = old
        self._schema = schema
        self._equal: bool | None = None
        self._items: MapList | None = None

    def key(self, name: str) -> "Correlation | None":
        """Return the correlation of a property or map value, None if it is not in both objects or
        has no schema."""
        if not isinstance(self._new, dict) or not isinstance(self._old, dict):
            return None
        schema = (self._schema.get("properties") or {}).get(name)
        if schema is None:
            schema = self._schema.get("additionalProperties")
        if name not in self._new or name not in self._old or not isinstance(schema, dict):
            return None
        return Correlation(self._new[name], self._old[name], schema)

    def index(self, position: int) -> "Correlation | None":
        """Return the correlation of an item, if the list is keyed and the old list has the same
        keys."""
        if not isinstance(self._old, list) or not isinstance(self._schema.get("items"), dict):
            return None
        if self._schema.get("x-kubernetes-list-type") != "map":
            return None
        if self._items is None:
            self._items = MapList(self._schema, self._old)
        old = self._items.get(self._new[position])
        return None if old is None else Correlation(self._new[position], old, self._schema["items"])

    @property
    def is_unchanged(self) -> bool:
        """Whether the old and new values are equal, with keyed lists in any order. An object with a
        member that its schema does not describe is not."""
        if self._equal is None:
            self._equal = self._compared()
        return self._equal

    def _compared(self) -> bool:
        new, old = self._new, self._old
        if isinstance(new, list) and isinstance(old, list):
            return len(new) == len(old) and self._lists_equal(new, old)
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all(map(self._is_key_unchanged, new))
        return same(new, old)

    def _lists_equal(self, new: list[Any], old: list[Any]) -> bool:
        if self._schema.get("x-kubernetes-list-type") != "map":
            return same(new, old)
        items = [self.index(place) for place in range(len(new))]
        return all(item is not None and item.is_unchanged for item in items)

    def _is_key_unchanged(self, name: str) -> bool:
        child = self.key(name)
        return child is not None and child.is_unchanged


class Ratchet:
    """Whether failures at a place are ignored: the nearest correlated value is unchanged."""

    __slots__ = ("_current", "_parent")

    def __init__(self, current: Correlation | None, parent: Correlation | None = None) -> None:
        self._current = current
        self._parent = parent

    def key(self, name: str) -> "Ratchet":
        """Return the ratchet of a property or map value."""
        if self._current is None:
            return self
        return Ratchet(self._current.key(name), self._current)

    def index(self, position: int) -> "Ratchet":
        """Return the ratchet of a list item."""
        if self._current is None:
            return self
        return Ratchet(self._current.index(position), self._current)

    @property
    def holds(self) -> bool:
        """Whether a failure here is only a warning."""
        nearest = self._current or self._parent
        return nearest is not None and nearest.is_unchanged
