"""All paths of a value, parents included, which the creator of an object owns.

Every create uses this module for the whole object, so the common part of objects with the same
names is computed once (`Layout`). Sets have the form of `fieldsets`, with elements in upstream's
order, as `fieldsets.ordered` returns them. Follows structured-merge-diff typed/compare.go, where a
value is compared with a missing one.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from inkube.schemas import caches
from inkube.schemas.ownership import listitems, pathelements
from inkube.schemas.ownership.fieldsets import EMPTY, MEMBER, FieldSet
from inkube.schemas.ownership.listitems import UntypableError
from inkube.schemas.ownership.mergetypes import ListType, MapType, Type

LAYOUTS = 4096  # for all kinds; objects of one kind differ little
CHARACTERS = 2048  # of the names or keys of one layout; larger layouts are not stored
ALL_CHARACTERS = 2**20  # of the keys of all lists

T = TypeVar("T", MapType, ListType)


class Layout(NamedTuple):
    """The common part of objects with the same names at one place."""

    leaves: FieldSet
    """The node for fields without children."""
    deeper: tuple[tuple[str, str, MapType | None, ListType | None], ...]
    """Name, path element and types of the fields that can have children."""


def everything(kind: Type, value: Any) -> FieldSet:
    """Return the set of all paths. Raises UntypableError."""
    return {element: child for element, child in node(kind, value).items() if element != MEMBER}


def node(kind: Type, value: Any) -> FieldSet:
    """Return the set of all paths as a node, which includes the path of the value itself."""
    shape = value.__class__
    if shape is dict and value and kind.map is not None and not kind.map.atomic:
        return _of_map(kind.map, value)
    if shape is list and value and kind.list is not None and not kind.list.atomic:
        return _of_list(kind.list, value)
    return EMPTY


def _of_map(kind: MapType, value: dict[str, Any]) -> FieldSet:
    layout = _KNOWN.get((kind, *value)) or _layout(kind, tuple(value))
    fields = layout.leaves
    for name, element, below, items in layout.deeper:
        child = value[name]
        if not child:
            continue
        shape = child.__class__
        if shape is dict and below is not None:
            child_fields = _of_map(below, child)
        elif shape is list and items is not None:
            child_fields = _of_list(items, child)
        else:
            continue
        if fields is layout.leaves:
            fields = fields.copy()
        fields[element] = child_fields
    return fields


def _of_list(kind: ListType, items: list[Any]) -> FieldSet:
    fields = {MEMBER: EMPTY}
    below = _granular(kind.element.map)
    for element, index in _in_order(kind, items):
        item = items[index]
        if element in fields:  # a duplicate element is only a member
            fields[element] = EMPTY
        elif below is not None and item and item.__class__ is dict:
            fields[element] = _of_map(below, item)
        else:
            fields[element] = node(kind.element, item)
    return fields


def _in_order(kind: ListType, items: list[Any]) -> Sequence[tuple[str, int]]:
    """Return the path element of every item and its index, in upstream's order."""
    keys = listitems.texts(kind, items)
    if keys is None:
        return sorted(_numbered(listitems.elements(kind, items)), key=_place)
    order = _ORDERS.get((kind, *keys))
    if order is None:
        elements = _numbered(listitems.elements(kind, items))
        # as `_place`, which would read each key back from its element
        order = tuple(sorted(elements, key=lambda pair: keys[pair[1]]))
        if sum(map(len, keys)) <= CHARACTERS:
            _ORDERS.keep((kind, *keys), order)
    return order


def _numbered(elements: list[str]) -> Iterable[tuple[str, int]]:
    return zip(elements, range(len(elements)), strict=True)


def _place(pair: tuple[str, int]) -> tuple[Any, ...]:
    return pathelements.order(pair[0])


_KNOWN: Final[caches.Table[tuple[Any, ...], Layout]] = caches.Table(__name__, "_KNOWN", LAYOUTS)
"""Layouts by type and names."""
_ORDERS: Final[caches.Weighed[tuple[Any, ...], tuple[tuple[str, int], ...]]] = caches.Weighed(
    __name__, "_ORDERS", LAYOUTS, ALL_CHARACTERS, lambda key, _: sum(map(len, key[1:]))
)
"""Orders of items by type and keys, if each key is one text, such as the ports of objects."""


def _layout(kind: MapType, names: tuple[str, ...]) -> Layout:
    """Compute and store a layout. Raises UntypableError for undeclared names."""
    types: dict[str, Type] = {}
    for name in sorted(names):
        field_type = kind.fields.get(name, kind.element)
        if field_type is None:
            raise UntypableError(f"{name}: field not declared in schema")
        types[name] = field_type
    leaves = {MEMBER: EMPTY, **{"f:" + name: EMPTY for name in types}}
    deeper = [(n, "f:" + n, _granular(t.map), _granular(t.list)) for n, t in types.items()]
    layout = Layout(leaves, tuple(field for field in deeper if field[2] or field[3]))
    if sum(map(len, leaves)) <= CHARACTERS:
        _KNOWN.keep((kind, *names), layout)
    return layout


def _granular(kind: T | None) -> T | None:
    """Return the type if its children are owned separately, else None."""
    return None if kind is None or kind.atomic else kind
