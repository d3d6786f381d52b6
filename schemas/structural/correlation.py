"""Correlation of the parts of a new object with those of the old one, and their comparison.

Fields are matched by name, items of map lists by key. Items of sets and of atomic lists have no
counterpart. Lists without a type are atomic. Follows apiserver/pkg/cel/common/equality.go.
"""

from typing import Any

from inkube.schemas.objects import same
from inkube.schemas.structural.nodes import NOTHING, Node

NEVER_COMPARED = frozenset({"apiVersion", "kind"})
"""Root fields whose errors are never ratcheted, because both objects were converted to one
version."""
_SCALARS = frozenset({str, bool, int, float})
"""The types that the keys of items can have."""


class Correlation:
    """A value, its old counterpart, and their schema; children are created on demand."""

    __slots__ = ("_by_key", "_children", "_equal", "node", "old", "value")

    def __init__(self, node: Node, value: Any, old: Any) -> None:
        self.node = node
        self.value = value
        self.old = old
        self._children: dict[str | int, Correlation | None] = {}
        self._equal: bool | None = None
        self._by_key: dict[Any, Any] | None = None

    def child(self, segment: str | int) -> "Correlation | None":
        """Return the correlation of a field or item, or None if it has no counterpart."""
        if segment not in self._children:
            is_index = isinstance(segment, int)
            self._children[segment] = self._index(segment) if is_index else self._key(segment)
        return self._children[segment]

    @property
    def equal(self) -> bool:
        """Whether the value and the values below it that the schema describes are unchanged."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _key(self, name: str | int) -> "Correlation | None":
        if type(self.value) is not dict or type(self.old) is not dict:
            return None
        node = self.node.children[str(name)]
        if node in (None, NOTHING) or name not in self.value or name not in self.old:
            return None
        return Correlation(node, self.value[name], self.old[name])

    def _index(self, index: str | int) -> "Correlation | None":
        node = self.node.items
        if node is None or type(self.value) is not list or type(self.old) is not list:
            return None
        if self.node.list_type != "map" or not self.node.list_map_keys:
            return None
        old = self._old_by_key(self.value[int(index)])
        return None if old is None else Correlation(node, self.value[int(index)], old)

    def _old_by_key(self, item: Any) -> Any:
        if self._by_key is None:
            self._by_key = {}
            for old in self.old:
                self._by_key.setdefault(self._key_of(old), old)
        key = self._key_of(item)
        return None if key is None else self._by_key.get(key)

    def _key_of(self, item: Any) -> Any:
        """Return the key of an item, or None for an item without one, which has no counterpart
        (apiserver/pkg/cel/common/maplist.go)."""
        if type(item) is not dict:
            return None
        keys = [(type(key), str(key)) for key in map(item.get, self.node.list_map_keys)]
        return tuple(keys) if all(kind in _SCALARS for kind, _ in keys) else None

    def _compare(self) -> bool:
        value, old = self.value, self.old
        if type(value) is not type(old):
            return False
        if type(value) is list:
            return len(value) == len(old) and self._same_items()
        if type(value) is dict:
            return len(value) == len(old) and all(map(self._same_child, value))
        return same(value, old)

    def _same_items(self) -> bool:
        if self.node.list_type != "map":
            return same(self.value, self.old)
        return all(map(self._same_child, range(len(self.value))))

    def _same_child(self, segment: str | int) -> bool:
        child = self.child(segment)
        return child is not None and child.equal
