"""All paths of a value, parents included: what its creator owns.

Runs on every create, over the whole object, so what objects with the same names have in common is
worked out once (`Layout`). Sets have the shape of `fieldsets`, their elements in the reference's
order, as `fieldsets.ordered` gives them. Follows structured-merge-diff typed/compare.go, where a
value is compared with nothing.
"""

from typing import Any, Final, NamedTuple

from inkube.schemas import caches
from inkube.schemas.ownership import listitems, pathelements
from inkube.schemas.ownership.fieldsets import EMPTY, MEMBER, FieldSet
from inkube.schemas.ownership.listitems import UntypableError
from inkube.schemas.ownership.mergetypes import ListType, MapType, Type

LAYOUTS = 4096  # remembered for all kinds; the objects of one differ little
CHARACTERS = 2048  # of the names of one layout; what has more is worked out each time


class Layout(NamedTuple):
    """What objects with the same names in one place have in common."""

    leaves: FieldSet
    """The node as it is when nothing lies below its fields."""
    deeper: tuple[tuple[str, str, Type], ...]
    """Name, path element and type of the fields below which something may lie."""


def everything(kind: Type, value: Any) -> FieldSet:
    """The set of all paths. Raises UntypableError."""
    return {element: child for element, child in node(kind, value).items() if element != MEMBER}


def node(kind: Type, value: Any) -> FieldSet:
    """The same as the node of something that holds the value: with the value's own path."""
    shape = value.__class__
    if shape is dict and value and kind.map is not None and not kind.map.atomic:
        return _of_map(kind.map, value)
    if shape is list and value and kind.list is not None and not kind.list.atomic:
        return _of_list(kind.list, value)
    return EMPTY


def _of_map(kind: MapType, value: dict[str, Any]) -> FieldSet:
    names = tuple(value)
    layout = _KNOWN.get((kind, names)) or _layout(kind, names)
    found = layout.leaves
    for name, element, below in layout.deeper:
        child = value[name]
        if child and (child.__class__ is dict or child.__class__ is list):
            if found is layout.leaves:
                found = found.copy()
            found[element] = node(below, child)
    return found


def _of_list(kind: ListType, items: list[Any]) -> FieldSet:
    elements = listitems.elements(kind, items)
    pairs = zip(elements, items, strict=True)
    found = {MEMBER: EMPTY}
    for element, item in sorted(pairs, key=_place) if len(items) > 1 else pairs:
        # of an element that stands twice only the membership is told
        found[element] = EMPTY if element in found else node(kind.element, item)
    return found


def _place(pair: tuple[str, Any]) -> tuple[Any, ...]:
    return pathelements.order(pair[0])


_KNOWN: Final[caches.Table[tuple[MapType, tuple[str, ...]], Layout]] = caches.Table(
    __name__, "_KNOWN", LAYOUTS
)


def _layout(kind: MapType, names: tuple[str, ...]) -> Layout:
    """Work it out, and remember it. Raises UntypableError for undeclared names."""
    types: dict[str, Type] = {}
    for name in sorted(names):
        found = kind.fields.get(name, kind.element)
        if found is None:
            raise UntypableError(f"{name}: field not declared in schema")
        types[name] = found
    leaves = {MEMBER: EMPTY, **{"f:" + name: EMPTY for name in types}}
    deeper = [(n, "f:" + n, t) for n, t in types.items() if t.map or t.list]
    layout = Layout(leaves, tuple(deeper))
    if sum(map(len, leaves)) <= CHARACTERS:
        _KNOWN.keep((kind, names), layout)
    return layout
