"""Merging typed values, removing fields from them, and adapting sets to a changed schema.

`merge` merges an applied configuration into a live value; `remove` removes the fields of a set.
Results of both share unchanged parts with the arguments. Follows structured-merge-diff
typed/merge.go, remove.go and reconcile_schema.go, fieldpath/set.go.
"""

from operator import is_
from typing import Any, NamedTuple

from inkube.schemas.ownership import comparison, fieldsets, listitems
from inkube.schemas.ownership.fieldsets import MEMBER, FieldSet
from inkube.schemas.ownership.listitems import UntypableError
from inkube.schemas.ownership.mergetypes import ListType, MapType, Type


def merge(kind: Type, live: Any, applied: Any) -> Any:
    """`live` with all fields of `applied`; no field is removed. `live` itself if nothing changes.

    Elements that are in both lists have the order of `applied`. Raises UntypableError.
    """
    if applied.__class__ is dict:
        if kind.map is not None and not kind.map.atomic and live.__class__ is dict and live:
            return _merge_maps(kind.map, live, applied)
        return applied
    if applied.__class__ is list:
        granular = kind.list is not None and not kind.list.atomic
        if granular and kind.list is not None and live.__class__ is list and live:
            return _merge_lists(kind.list, live, applied)
        return applied
    if applied is None and _granular(kind, live):
        return live
    return applied


def _granular(kind: Type, value: Any) -> bool:
    """Whether merging null does not change the value, because it is a merged container."""
    if value.__class__ is dict:
        return bool(value) and kind.map is not None and not kind.map.atomic
    if value.__class__ is list:
        return bool(value) and kind.map is None and kind.list is not None and not kind.list.atomic
    return False


def _merge_maps(kind: MapType, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    fields, other = kind.fields, kind.element
    result = live
    for name, child in applied.items():
        before = live.get(name, _ABSENT)
        if before is _ABSENT or child.__class__ is str or child.__class__ is int:
            merged = child
        else:
            child_kind = fields.get(name, other)
            if child_kind is None:
                raise UntypableError(f"{name}: field not declared in schema")
            merged = merge(child_kind, before, child)
        if merged is before or comparison.equals(merged, before):
            continue
        if result is live:
            result = dict(live)
        result[name] = merged
    return result


_ABSENT = object()


def _merge_lists(kind: ListType, live: list[Any], applied: list[Any]) -> list[Any]:
    """Merge lists in upstream's order: elements only in `live` stay before the next shared one."""
    left, right = listitems.elements(kind, live), listitems.elements(kind, applied)
    if left == right and len(set(left)) == len(left):
        result = [_merged(kind.element, *pair) for pair in zip(live, applied, strict=True)]
    else:
        result = _interleaved(kind, (left, right), live, applied)
    return live if len(result) == len(live) and all(map(is_, result, live)) else result


def _merged(kind: Type, live: Any, applied: Any) -> Any:
    """Merge an element of both lists; returns `live` itself if nothing changes."""
    item = merge(kind, live, applied)
    return live if comparison.equals(item, live) else item


def _interleaved(
    kind: ListType, elements: tuple[list[str], list[str]], live: list[Any], applied: list[Any]
) -> list[Any]:
    left, right = elements
    old: dict[str, Any] = {}
    for element, item in zip(left, live, strict=True):
        old[element] = _REPEATED if element in old else item
    new = dict(zip(right, applied, strict=True))
    merged = _MergedList(kind, old, new)
    shared = [element for element in right if element in old]
    i = j = turn = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right):
            element = left[i]
            if element == right[j]:
                merged.take(element)
                i, j, turn = i + 1, j + 1, turn + 1
                continue
            if element in new and turn < len(shared) and shared[turn] != element:
                i += 1
                continue
        if i < len(left):
            if left[i] not in new:
                merged.result.append(live[i])
                i += 1
                continue
            if left[i] in merged.taken:
                i += 1
        if j < len(right):
            merged.take(right[j])
            if turn < len(shared) and shared[turn] == right[j]:
                turn += 1
            j += 1
    return merged.result


_REPEATED = object()


class _MergedList:
    """A merged list under construction, and the applied elements that it already contains."""

    __slots__ = ("kind", "new", "old", "result", "taken")

    def __init__(self, kind: ListType, old: dict[str, Any], new: dict[str, Any]) -> None:
        self.kind, self.old, self.new = kind, old, new
        self.result: list[Any] = []
        self.taken: set[str] = set()

    def take(self, element: str) -> None:
        """Append an applied element, merged with the live one unless the live list has it twice."""
        live = self.old.get(element, _REPEATED)
        item = self.new[element]
        if live is not _REPEATED:
            item = _merged(self.kind.element, live, item)
        self.result.append(item)
        self.taken.add(element)


def remove(kind: Type, value: Any, fields: FieldSet) -> Any:
    """`value` without the members of the set; a container without remaining fields becomes null."""
    if value.__class__ is dict and kind.map is not None:
        return None if kind.map.atomic else _remove_map(kind.map, value, fields)
    if value.__class__ is list and kind.list is not None:
        return None if kind.list.atomic else _remove_list(kind.list, value, fields)
    return value if kind.scalar is not None else None


def _remove_map(kind: MapType, value: dict[str, Any], fields: FieldSet) -> dict[str, Any] | None:
    result = {}
    for name, child in value.items():
        node = fields.get("f:" + name)
        if node is None:
            result[name] = child
        elif node and MEMBER not in node:
            child_kind = kind.fields.get(name, kind.element)
            result[name] = remove(child_kind, child, node) if child_kind else child
    return result or None


def _remove_list(kind: ListType, items: list[Any], fields: FieldSet) -> list[Any] | None:
    result = []
    for element, item in zip(listitems.elements(kind, items), items, strict=True):
        node = fields.get(element)
        if node is None:
            result.append(item)
        elif node and MEMBER not in node:
            result.append(remove(kind.element, item, node))
    return result or None


def with_parents(kind: Type | None, fields: FieldSet) -> FieldSet:
    """The set, with all declared fields that have children in the set as members.

    Follows fieldpath.Set.EnsureNamedFieldsAreMembers. Removing all fields of a struct then removes
    the struct.
    """
    result: FieldSet = {}
    map_kind = kind.map if kind else None
    list_kind = kind.list if kind else None
    for element, node in fields.items():
        if not node or element == MEMBER:
            result[element] = node
        elif element[0] == "f":
            child = map_kind.fields.get(element[2:]) if map_kind else None
            below = with_parents(child or (map_kind.element if map_kind else None), node)
            result[element] = {MEMBER: {}, **below} if child else below
        else:
            result[element] = with_parents(_element(list_kind, element), node)
    return result


def _element(kind: ListType | None, element: str) -> Type | None:
    return kind.element if kind is not None and element[0] == "k" else None


class Granular(NamedTuple):
    """A member of a set whose type has fields below it, and the path of the member."""

    kind: Type
    path: fieldsets.Path


class Survey(NamedTuple):
    """The paths of a set that may need a change, because the schema made fields atomic or granular.

    It depends on the set and its type only, so it can be kept for equal sets.
    """

    atomic: tuple[fieldsets.Path, ...]
    """Atomic fields with members below them."""
    granular: tuple[Granular, ...]
    """Members without members below them. They need a change if the live value has fields there; an
    empty object has none."""


def survey(kind: Type, fields: FieldSet) -> Survey:
    """The paths of a set that may need a change to fit its type."""
    found = _Surveyor()
    found.visit(kind, fields, ())
    return Survey(tuple(found.atomic), tuple(found.granular))


class _Surveyor:
    """Gathers the paths of a survey."""

    __slots__ = ("atomic", "granular")

    def __init__(self) -> None:
        self.atomic: list[fieldsets.Path] = []
        self.granular: list[Granular] = []

    def visit(self, kind: Type, node: FieldSet, path: fieldsets.Path) -> None:
        """Compare the node of the set at `path` with its type."""
        shape = kind.map or (kind.list if kind.scalar is None else None)
        if shape is None:
            return
        leaf = bool(path) and not node
        if shape.atomic:
            if not leaf:
                self.atomic.append(path)
            return
        if leaf:
            self.granular.append(Granular(kind, path))
        if isinstance(shape, MapType):
            self._map(shape, node, path)
        else:
            self._list(shape, node, path)

    def _map(self, kind: MapType, node: FieldSet, path: fieldsets.Path) -> None:
        for element, below in node.items():
            if element == MEMBER:
                continue
            child = kind.fields.get(element[2:]) if element[0] == "f" else None
            child = child or kind.element
            if child is not None:  # fields that the schema lost stay with their owner
                self.visit(child, below, (*path, element))

    def _list(self, kind: ListType, node: FieldSet, path: fieldsets.Path) -> None:
        for element, below in node.items():
            if element != MEMBER:
                self.visit(kind.element, below, (*path, element))


def reconciled(kind: Type, fields: FieldSet, live: Any, found: Survey) -> FieldSet:
    """The set, adapted to its type; `fields` itself if nothing changes. Raises UntypableError.

    `found` is the survey of the set.
    """
    added: FieldSet = {}
    removed: FieldSet = {}
    for path in found.atomic:
        whole = fieldsets.of(path)
        removed = fieldsets.union(removed, whole)
        added = fieldsets.union(added, whole)
    for granular in found.granular:
        below = comparison.owned(granular.kind, _value_at(kind, live, granular.path))
        if below:
            whole = {MEMBER: {}, **below}
            for element in reversed(granular.path):
                whole = {element: whole}
            added = fieldsets.union(added, whole)
    return fieldsets.union(fieldsets.recursive_difference(fields, removed), added)


def _value_at(kind: Type | None, value: Any, path: fieldsets.Path) -> Any:
    """The part of a value at a path; None without such a part, or with several in a list."""
    for element in path:
        if value.__class__ is dict and kind is not None and kind.map is not None:
            name = element[2:]
            value = value.get(name)
            kind = kind.map.fields.get(name) or kind.map.element
        elif value.__class__ is list and kind is not None and kind.list is not None:
            elements = listitems.elements(kind.list, value)
            if elements.count(element) != 1:
                return None
            value = value[elements.index(element)]
            kind = kind.list.element
        else:
            return None
    return value if value.__class__ in (dict, list) else None
