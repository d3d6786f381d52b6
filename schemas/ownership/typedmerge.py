"""Merging typed values, removing fields from them, and adapting sets to a changed schema.

`merge` merges an applied configuration into a live value; `remove` removes the fields of a set.
Results of both share unchanged parts with the arguments. Follows structured-merge-diff
typed/merge.go, remove.go and reconcile_schema.go, fieldpath/set.go.
"""

from operator import is_
from typing import Any

from inkube.schemas.ownership import comparison, listitems
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
    """Return whether merging null does not change the value, because it is a merged container."""
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


def remove(kind: Type, value: Any, fields: FieldSet, *, keeps_empty: bool = True) -> Any:
    """`value` without the members of the set.

    A container without remaining fields stays empty with `keeps_empty`, else becomes null.
    """
    if value.__class__ is dict and kind.map is not None:
        left = None if kind.map.atomic else _remove_map(kind.map, value, fields, keeps_empty)
        return {} if left is None and keeps_empty else left
    if value.__class__ is list and kind.list is not None:
        rest = None if kind.list.atomic else _remove_list(kind.list, value, fields, keeps_empty)
        return [] if rest is None and keeps_empty else rest
    return value if kind.scalar is not None else None


def _remove_map(
    kind: MapType, value: dict[str, Any], fields: FieldSet, keeps_empty: bool
) -> dict[str, Any] | None:
    result = {}
    for name, child in value.items():
        node = fields.get("f:" + name)
        if node is None:
            result[name] = child
        elif node and MEMBER not in node:
            child_kind = kind.fields.get(name, kind.element)
            if child_kind is not None:
                child = remove(child_kind, child, node, keeps_empty=keeps_empty)
            result[name] = child
    return result or None


def _remove_list(
    kind: ListType, items: list[Any], fields: FieldSet, keeps_empty: bool
) -> list[Any] | None:
    result = []
    for element, item in zip(listitems.elements(kind, items), items, strict=True):
        node = fields.get(element)
        if node is None:
            result.append(item)
        elif node and MEMBER not in node:
            result.append(remove(kind.element, item, node, keeps_empty=keeps_empty))
    return result or None


def with_parents(kind: Type | None, fields: FieldSet) -> FieldSet:
    """Return the set, with all declared fields that have children in the set as members.

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


def made_atomic(kind: Type, fields: FieldSet) -> FieldSet:
    """Return the atomic fields that have members below them in the set, which was written when the
    schema did not make them atomic.

    Fields that were atomic and are not any longer need no change, nor do fields that the schema
    lost: both stay with their owner.
    """
    return _made_atomic(kind, fields, is_root=True) or {}


def _made_atomic(kind: Type, node: FieldSet, *, is_root: bool = False) -> FieldSet | None:
    """Return the atomic paths of a node; None without any, {} for the node itself."""
    shape = kind.map or (kind.list if kind.scalar is None else None)
    if shape is None or (not is_root and not node):
        return None
    if shape.atomic:
        return {}
    atomic: FieldSet = {}
    for element, below in node.items():
        child = None if element == MEMBER else _below(shape, element)
        own = _made_atomic(child, below) if child is not None else None
        if own is not None:
            atomic[element] = own
    return atomic or None


def _below(shape: MapType | ListType, element: str) -> Type | None:
    """Return the type of a member of a map or list; None if it is not declared."""
    if isinstance(shape, ListType):
        return shape.element
    return (shape.fields.get(element[2:]) if element[0] == "f" else None) or shape.element
