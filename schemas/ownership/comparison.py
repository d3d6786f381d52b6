"""The fields of a typed value, and the changes between two values.

`owned` finds the fields that an applied configuration claims; `compare` finds the fields that an
update added, modified and removed. Both return sets in the form of `fieldsets`.
Follows structured-merge-diff typed/tofieldset.go and typed/compare.go.
"""

from typing import Any, NamedTuple

from inkube.schemas.ownership import fieldsets, layouts, listitems, typedvalidation
from inkube.schemas.ownership.fieldsets import EMPTY, MEMBER, FieldSet, recursive_difference
from inkube.schemas.ownership.listitems import UntypableError
from inkube.schemas.ownership.mergetypes import (
    BOOLEAN,
    NUMERIC,
    STRING,
    UNTYPED,
    ListType,
    MapType,
    Type,
)


class Comparison(NamedTuple):
    """The changes between two values. A path is in at most one set; three empty sets mean equal."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def without(self, ignored: FieldSet) -> "Comparison":
        """Return the comparison without the ignored fields and all fields below them."""
        if not ignored:
            return self
        return Comparison(*(recursive_difference(fields, ignored) for fields in self))


UNCHANGED = Comparison(EMPTY, EMPTY, EMPTY)


def owned(kind: Type, value: Any, *, strict: bool = False) -> FieldSet:
    """Return the fields that a configuration claims: leaves, elements, entries of maps, empty
    objects.

    Structs with content are not claimed themselves. Raises UntypableError for values that do not
    fit the type, and with `strict` for duplicate elements of a set or keyed list
    (`typedvalidation.problems` returns the reasons).
    """
    return _owned(kind, value, strict) or {}


def _owned(kind: Type, value: Any, strict: bool) -> FieldSet | None:
    """Return the node of one value: `{}` for a claimed leaf, None if the value claims no path."""
    shape = value.__class__
    if shape is dict:
        if kind.map is None:
            raise UntypableError
        return _fits(kind, value) if kind.map.atomic else _owned_map(kind.map, value, strict)
    if shape is list:
        if kind.list is None:
            raise UntypableError
        return _fits(kind, value) if kind.list.atomic else _owned_list(kind.list, value, strict)
    if value is None:
        return None if kind.scalar is None else {}
    return _fits(kind, value)


def _fits(kind: Type, value: Any) -> FieldSet:
    """Return the node of a leaf. Raises UntypableError if the value does not fit the type."""
    if any(typedvalidation.problems(kind, value)):
        raise UntypableError
    return {}


def _owned_map(kind: MapType, value: dict[str, Any], strict: bool) -> FieldSet | None:
    fields, other = kind.fields, kind.element
    node: FieldSet = {}
    for name, child in value.items():
        child_kind = fields.get(name)
        declared = child_kind is not None
        child_kind = child_kind or other
        if child_kind is None:
            raise UntypableError
        if child_kind.scalar in _LEAVES.get(child.__class__, ()):
            node["f:" + name] = {}
            continue
        below = _owned(child_kind, child, strict)
        if child is None or (not child and child.__class__ is dict):
            node["f:" + name] = {}
        elif not declared:
            node["f:" + name] = {MEMBER: {}, **below} if below else {}
        elif below is not None:
            node["f:" + name] = below
    return node or None


_LEAVES = {
    str: (STRING, UNTYPED),
    int: (NUMERIC, UNTYPED),
    float: (NUMERIC, UNTYPED),
    bool: (BOOLEAN, UNTYPED),
}
"""The scalar types that a value of each class fits."""


def _owned_list(kind: ListType, items: list[Any], strict: bool) -> FieldSet | None:
    node: FieldSet = {}
    elements = listitems.elements(kind, items)
    repeated = _repeated(elements)
    if repeated and strict:
        raise UntypableError
    for element, item in zip(elements, items, strict=True):
        below = None if element in repeated else _owned(kind.element, item, strict)
        node[element] = {MEMBER: {}, **below} if below else {}
    return node or None


def _repeated(elements: list[str]) -> frozenset[str]:
    if len(set(elements)) == len(elements):
        return frozenset()
    return frozenset(element for element in elements if elements.count(element) > 1)


def compare(kind: Type, old: Any, new: Any) -> Comparison:
    """Return the changes from `old` to `new`, both of this type; duplicates in lists are allowed.

    Raises UntypableError if a changed part does not fit the type.
    """
    return _compare(kind, old, new) or UNCHANGED


def created(kind: Type, empty: dict[str, Any], new: dict[str, Any]) -> FieldSet:
    """Return the fields that a create sets: those that `compare` finds added or modified between
    the initial content of a kind and a new object, in upstream's order. Raises UntypableError.

    Takes a third of the time of `compare`, because the paths of the whole object come from
    `layouts`, and the initial content has few members.
    """
    if kind.map is None or kind.map.atomic:
        return layouts.everything(kind, new)
    return _without_equal(kind.map, empty, new, layouts.node(kind, new))


def _without_equal(
    kind: MapType, old: dict[str, Any], new: dict[str, Any], node: FieldSet
) -> FieldSet:
    """Return the paths of `node`, which are all paths of `new`, without its own and those that are
    equal in `old`."""
    left = {element: child for element, child in node.items() if element != MEMBER}
    for name, before in old.items():
        child_kind = kind.fields.get(name, kind.element)
        if name not in new or child_kind is None:
            continue
        element = "f:" + name
        changed = _changed(child_kind, before, new[name], left[element])
        if changed is None:
            del left[element]
        else:
            left[element] = changed
    return left


def _changed(kind: Type, old: Any, new: Any, node: FieldSet) -> FieldSet | None:
    """Return the part of `node`, which are all paths of `new`, that a change from `old` causes."""
    shape = new.__class__
    if shape is dict and old.__class__ is dict and kind.map is not None and not kind.map.atomic:
        return _without_equal(kind.map, old, new, node) or None
    if old is None and shape in _CONTAINERS:
        return {element: child for element, child in node.items() if element != MEMBER}
    change = _compare(kind, old, new)
    if change is None:
        return None
    gained = fieldsets.union(change.modified, change.added)
    return _leaf(fieldsets.ordered(gained)) if gained else None


def _compare(kind: Type, old: Any, new: Any) -> Comparison | None:
    """Return the change of one value that exists on both sides; None without a change."""
    if old is new:
        return None
    shape = old.__class__
    if shape is new.__class__:
        if shape is dict and kind.map is not None and not kind.map.atomic and (old or new):
            return _compare_maps(kind.map, old, new)
        if shape is list and kind.list is not None and not kind.list.atomic and (old or new):
            return _compare_lists(kind.list, old, new)
    elif shape in _CONTAINERS or new.__class__ in _CONTAINERS:
        return _compare_shapes(kind, old, new)
    return None if equals(old, new) else Comparison(EMPTY, {MEMBER: {}}, EMPTY)


_CONTAINERS = (dict, list)


class _Changes:
    """Gathers the nodes of one container's children."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: FieldSet = {}
        self.modified: FieldSet = {}
        self.removed: FieldSet = {}

    def put(self, element: str, change: Comparison | None) -> None:
        if change is None:
            return
        if change.added:
            self.added[element] = _leaf(change.added)
        if change.modified:
            self.modified[element] = _leaf(change.modified)
        if change.removed:
            self.removed[element] = _leaf(change.removed)

    def result(self) -> Comparison | None:
        if self.added or self.modified or self.removed:
            return Comparison(self.added, self.modified, self.removed)
        return None


def _leaf(node: FieldSet) -> FieldSet:
    """Return the canonical form of a node: `{".": {}}`, a change of the path itself, becomes
    `{}`."""
    return {} if len(node) == 1 and MEMBER in node else node


def _compare_maps(kind: MapType, old: dict[str, Any], new: dict[str, Any]) -> Comparison | None:
    if kind.exact and old == new:
        return None
    fields, other = kind.fields, kind.element
    changes = _Changes()
    for name, child in new.items():
        child_kind = fields.get(name, other)
        if child_kind is None:
            raise UntypableError(f"{name}: field not declared in schema")
        if name not in old:
            changes.added["f:" + name] = layouts.node(child_kind, child)
            continue
        before = old[name]
        if before is child or (child.__class__ is str and before == child):
            continue
        changes.put("f:" + name, _compare(child_kind, before, child))
    for name, child in old.items():
        if name not in new:
            child_kind = fields.get(name, other)
            if child_kind is None:
                raise UntypableError(f"{name}: field not declared in schema")
            changes.removed["f:" + name] = layouts.node(child_kind, child)
    return changes.result()


def _compare_lists(kind: ListType, old: list[Any], new: list[Any]) -> Comparison | None:
    before, after = _grouped(kind, old), _grouped(kind, new)
    changes = _Changes()
    for element in before | after:
        left, right = before.get(element, ()), after.get(element, ())
        if len(left) == 1 and len(right) == 1:
            changes.put(element, _compare(kind.element, left[0], right[0]))
        else:
            _compare_groups(kind.element, element, (left, right), changes)
    return changes.result()


def _compare_groups(kind: Type, element: str, groups: tuple[Any, Any], changes: _Changes) -> None:
    """Add the change of an element that is new, removed, or duplicated on one side."""
    left, right = groups
    if len(left) > 1 and len(right) > 1:
        if not equals(left, right):
            changes.modified[element] = {}
        return
    if right:
        changes.added[element] = {} if len(right) > 1 else layouts.node(kind, right[0])
    if left:
        changes.removed[element] = {} if len(left) > 1 else layouts.node(kind, left[0])


def _grouped(kind: ListType, items: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for element, item in zip(listitems.elements(kind, items), items, strict=True):
        groups.setdefault(element, []).append(item)
    return groups


def _compare_shapes(kind: Type, old: Any, new: Any) -> Comparison | None:
    """Return the change of a value from one JSON type to another, null included."""
    removed, added = _below(kind, old), _below(kind, new)
    if (old is None and added) or (new is None and removed):
        return Comparison(added, EMPTY, removed)
    return Comparison(added, {MEMBER: {}}, removed)


def _below(kind: Type, value: Any) -> FieldSet:
    """Return the paths below a granular container, without its own path."""
    return layouts.everything(kind, value) if value.__class__ in _CONTAINERS else EMPTY


def equals(left: Any, right: Any) -> bool:
    """Return whether two values are equal as in value.Equals: numbers by value, but true is not
    1."""
    if left is right:
        return True
    if left.__class__ is bool or right.__class__ is bool:
        return left.__class__ is right.__class__ and bool(left == right)
    if left != right:
        return False
    if isinstance(left, dict):
        return all(equals(child, right[name]) for name, child in left.items())
    if isinstance(left, list | tuple):
        return all(map(equals, left, right))
    return True
