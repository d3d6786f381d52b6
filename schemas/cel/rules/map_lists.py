"""Items of keyed lists by their keys: apiserver pkg/cel/common/maplist.go."""

from typing import Any


class MapList:
    """The items of a list with `x-kubernetes-list-type: map`; empty for other lists."""

    def __init__(self, schema: dict[str, Any], items: Any) -> None:
        self._keys: list[str] = schema.get("x-kubernetes-list-map-keys") or []
        is_keyed = schema.get("x-kubernetes-list-type") == "map" and bool(self._keys)
        properties = (schema.get("items") or {}).get("properties") or {}
        self._defaults = {
            key: properties[key].get("default") for key in self._keys if key in properties
        }
        self._items = self._by_key(items) if is_keyed and isinstance(items, list) else {}

    def get(self, item: Any) -> Any:
        """Return the item with the same keys, or None."""
        if not self._items or not isinstance(item, dict):
            return None
        return self._items.get(self._key(item))

    def _by_key(self, items: list[Any]) -> dict[Any, Any]:
        by_key: dict[Any, Any] = {}
        for item in items:
            if isinstance(item, dict):
                by_key.setdefault(self._key(item), item)
        by_key.pop(None, None)
        return by_key

    def _key(self, item: dict[str, Any]) -> Any:
        """Return the key of an item, None for an item without a scalar at one of its keys, which
        has no counterpart."""
        values = [item.get(key, self._defaults.get(key)) for key in self._keys]
        if not all(isinstance(value, str | int | float) for value in values):
            return None
        return tuple((type(value), value) for value in values)
