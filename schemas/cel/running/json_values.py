"""Conversion of JSON values with another form in CEL, according to the schema.

Most values do not change; only shapes with formats (timestamps, durations, bytes), numbers
(an integral double is stored as an int) or list types are copied, and only where a rule uses the
whole value. A value whose format is wrong is an error only where a rule reads it.

Lists and maps of an object cannot be compared with values of other kinds, but those that an
expression creates can. Only `dyn` makes such comparisons possible, so only what becomes `dyn`, or
is compared with it, is marked (`marks`): apiserver pkg/cel/common/valuesunstructured.go.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeGuard

from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError
from inkube.schemas.cel.declarations.types import Kind, Shape
from inkube.schemas.cel.declarations.values import contains, equal

Adapter = Callable[[Any], Any]


def is_adapted(shape: Shape | None, *, marks: bool = False) -> TypeGuard[Shape]:
    """Return whether a JSON value of this shape has another form in CEL; with `marks`, each list
    and each map has."""
    return shape is not None and (
        shape.is_adapted or (marks and shape.type.kind in (Kind.LIST, Kind.MAP, Kind.OBJECT))
    )


def adapter(shape: Shape, *, marks: bool = False) -> Adapter:
    """Return a function that converts a JSON value of this shape to its CEL value; with `marks`,
    one that tells that it is of an object."""
    if shape.convert is not None:
        return _optional(shape.convert)
    if shape.element is not None:
        items = (
            adapter(shape.element, marks=marks) if is_adapted(shape.element, marks=marks) else None
        )
        if shape.key is not None:
            return _map_adapter(items, marks)
        return _list_adapter(shape, items, marks)
    return _object_adapter(shape, marks)


def _optional(convert: Adapter) -> Adapter:
    return lambda value: None if value is None else convert(value)


def _map_adapter(items: Adapter | None, marks: bool) -> Adapter:
    def adapt(value: Any) -> Any:
        if not isinstance(value, dict) or (items is None and not marks):
            return value
        return Members(value, lambda _: items)

    return adapt


def _list_adapter(shape: Shape, items: Adapter | None, marks: bool) -> Adapter:
    def adapt(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        adapted = value if items is None else [items(entry) for entry in value]
        if shape.list_type == "set":
            return SetList(adapted)
        if shape.list_type == "map":
            return KeyedList(adapted, shape.list_keys)
        return ObjectList(adapted) if marks else adapted

    return adapt


def _object_adapter(shape: Shape, marks: bool) -> Adapter:
    parts: dict[str, Adapter] | None = None

    def adapt(value: Any) -> Any:
        nonlocal parts
        if not isinstance(value, dict):
            return value
        if parts is None:  # created for the first value: most checked rules never run
            parts = {
                entry.key: adapter(entry.shape, marks=marks)
                for entry in shape.fields
                if is_adapted(entry.shape, marks=marks)
            }
        return Members(value, parts.get)

    return adapt


class Members(dict[str, Any]):
    """The members of an object or a map, which are converted when they are read. `find` returns the
    function for a key; None leaves the value as it is."""

    __slots__ = ("_find",)
    go_type: ClassVar[str] = "*common.unstructuredMap"

    def __init__(self, value: dict[str, Any], find: Callable[[str], Adapter | None]) -> None:
        super().__init__(value)
        self._find = find

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        convert = self._find(key)
        return value if convert is None else convert(value)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a member, or a default."""
        return self[key] if key in self else default  # noqa: SIM401 # this is `get`

    def items(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override] # no view is needed
        """Yield each key with its value."""
        return ((key, self[key]) for key in self)

    def values(self) -> Iterator[Any]:  # type: ignore[override]
        """Yield the values."""
        return (self[key] for key in self)

    def cel_equal(self, other: Any) -> bool:
        """Return whether a map has the same members. Raises EvalError for other values."""
        if not isinstance(other, dict):
            raise EvalError(NO_OVERLOAD)
        return len(self) == len(other) and all(
            key in other and _is_equal_part(value, other[key]) for key, value in self.items()
        )


def _is_equal_part(part: Any, other: Any) -> bool:
    """As `equal`, but null can be compared with a part of an object only if that can be with any
    value."""
    custom = getattr(part, "cel_equal", None)
    return equal(part, other) if custom is None else bool(custom(other))


class ObjectList(list[Any]):
    """A list of an object."""

    go_type: ClassVar[str] = "*common.unstructuredList"

    def cel_equal(self, other: Any) -> bool:
        """Return whether a list is equal. Raises EvalError for other values."""
        if not isinstance(other, list | tuple):
            raise EvalError(NO_OVERLOAD)
        return len(self) == len(other) and self._has_equal_items(other)

    def cel_contains(self, value: Any) -> bool:
        """Return whether an item is equal. If none is, raises EvalError if one cannot be
        compared."""
        failure = None
        for item in self:
            try:
                if _is_equal_part(item, value):
                    return True
            except EvalError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return False

    def _has_equal_items(self, other: Sequence[Any]) -> bool:
        return all(map(_is_equal_part, self, other))


class SetList(ObjectList):
    """x-kubernetes-list-type: set. Equal in any order; `+` adds the items that it does not contain
    yet."""

    go_type = "*common.unstructuredSetList"

    def _has_equal_items(self, other: Sequence[Any]) -> bool:
        return all(_holds(self, item) for item in other)

    def cel_add(self, other: Any) -> "SetList":
        """Return the union: the items of this list, then the new items of `other` in their
        order."""
        merged = SetList(self)
        for item in other:
            if not _holds(self, item):
                merged.append(item)
        return merged


def _holds(items: Sequence[Any], value: Any) -> bool:
    """As `contains`, faster for texts, of which the items of a set usually are."""
    return value in items if type(value) is str else contains(items, value)


class KeyedList(ObjectList):
    """x-kubernetes-list-type: map. Equal in any order; `+` replaces items of the same key."""

    go_type = "*common.unstructuredMapList"

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def _key(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return None
        return tuple(
            (type(item.get(key)) is bool, item.get(key)) for key in self.keys if key in item
        )

    def _has_equal_items(self, other: Sequence[Any]) -> bool:
        mine = {self._key(item): item for item in self}
        return all(
            self._key(item) in mine and _is_equal_part(mine[self._key(item)], item)
            for item in other
        )

    def cel_add(self, other: Any) -> "KeyedList":
        """Return the items of this list, with items of `other` instead of those with the same key,
        followed by its other items."""
        merged = KeyedList(self, self.keys)
        places = {self._key(item): place for place, item in enumerate(merged)}
        for item in other:
            place = places.get(self._key(item))
            if place is None:
                places[self._key(item)] = len(merged)
                merged.append(item)
            else:
                merged[place] = item
        return merged
