"""Sets of field paths, in the form of FieldsV1.

A set is a dict from path elements (`pathelements`) to nodes. A node is `{}` for a member without
children; otherwise a dict of its children, and of "." if the path itself is a member:

    {"f:spec": {".": {}, "f:size": {}}}       contains .spec and .spec.size

Decoding a stored entry has no cost, and every operation uses plain dicts. Sets are values: the
functions here do not change their arguments, but results share parts with them. Empty children
never occur, so equal sets are equal dicts. Follows structured-merge-diff fieldpath/set.go and
serialize.go.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from inkube.schemas.ownership import pathelements

FieldSet = dict[str, Any]
Path = tuple[str, ...]

MEMBER = "."
EMPTY: FieldSet = {}


def of(*paths: Sequence[str]) -> FieldSet:
    """Return the set of these paths, each a sequence of path elements."""
    result: FieldSet = {}
    for path in paths:
        node: FieldSet = {}
        for element in reversed(path):
            node = {element: node}
        result = union(result, node)
    return result


def named(*dotted: str) -> FieldSet:
    """Return the set of these fields: `named("spec", "metadata.labels")`."""
    return of(*(tuple(f"f:{name}" for name in path.split(".")) for path in dotted))


def parse(fields: Any) -> FieldSet:
    """Return the canonical set of a client's FieldsV1. Raises ValueError if it cannot be read.

    Elements of an unknown kind are dropped, as upstream does.
    """
    node = _parsed(fields)
    return {element: child for element, child in node.items() if element != MEMBER}


def _parsed(fields: Any) -> FieldSet:
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise ValueError("fields must be an object")  # noqa: TRY004 - one error for any broken set
    node: FieldSet = {}
    for text, below in fields.items():
        if text == MEMBER:
            node[MEMBER] = {}
            continue
        try:
            element = pathelements.parse(text)
        except pathelements.UnknownElementError:
            continue
        node[element] = _parsed(below)
    return {} if len(node) == 1 and MEMBER in node else node


def ordered(fields: FieldSet) -> FieldSet:
    """Return the same set with elements in upstream's order, "." first."""
    elements = sorted(fields)
    if elements and elements[-1][0] in "kvi":  # "." and fields sort before these elements
        elements.sort(key=pathelements.order)
    if not any(fields.values()):
        return dict.fromkeys(elements, EMPTY)
    return {element: ordered(node) if (node := fields[element]) else node for element in elements}


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the paths that are members of `left` or of `right`."""
    if not right or left is right:
        return left
    if not left:
        return right
    result = dict(left)
    for element, node in right.items():
        own = result.get(element)
        result[element] = node if own is None else _joined(own, node)
    return result


def _joined(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right or left == right:
        return left
    if not left:
        return right if MEMBER in right else {MEMBER: {}, **right}
    if not right:
        return left if MEMBER in left else {MEMBER: {}, **left}
    return union(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return members of `left` that are not members of `right`; children of removed members
    stay."""
    return _difference(left, right, deep=False)


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Like `difference`, but a member of `right` also removes all paths below it."""
    return _difference(left, right, deep=True)


def _difference(left: FieldSet, right: FieldSet, *, deep: bool) -> FieldSet:
    if left.keys().isdisjoint(right):
        return left
    if left is right or left == right:
        return {}
    result: FieldSet = {}
    for element, node in left.items():
        other = right.get(element)
        if other is None:
            result[element] = node
            continue
        if deep and (not other or MEMBER in other):
            continue
        rest = _reduced(node, other, deep=deep)
        if rest is not None:
            result[element] = rest
    return result


def _reduced(node: FieldSet, other: FieldSet, *, deep: bool) -> FieldSet | None:
    """Return one node without the other; None if no member remains."""
    if node is other or node == other:
        return None
    removed = not other or MEMBER in other
    if not node:
        return None if removed else node
    if not other:
        rest = {element: child for element, child in node.items() if element != MEMBER}
        return rest or None
    rest = _difference({e: c for e, c in node.items() if e != MEMBER}, other, deep=deep)
    if MEMBER in node and not removed:
        return {MEMBER: {}, **rest} if rest else {}
    return rest or None


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the paths that are members of both sets."""
    result: FieldSet = {}
    if not left or not right:
        return result
    if len(right) < len(left):
        left, right = right, left
    for element, node in left.items():
        other = right.get(element)
        if other is None or element == MEMBER:
            continue
        common = _common(node, other)
        if common is not None:
            result[element] = common
    return result


def _common(node: FieldSet, other: FieldSet) -> FieldSet | None:
    both = (not node or MEMBER in node) and (not other or MEMBER in other)
    below = intersection(node, other) if node and other else None
    if not below:
        return {} if both else None
    return {MEMBER: {}, **below} if both else below


def is_member(node: FieldSet | None) -> bool:
    """Return whether the path of a node is a member itself."""
    return node is not None and (not node or MEMBER in node)


def has(fields: FieldSet, path: Iterable[str]) -> bool:
    """Return whether the path is a member."""
    node: FieldSet | None = fields
    for element in path:
        node = node.get(element) if node else None
        if node is None:
            return False
    return is_member(node)


def leaves(fields: FieldSet) -> FieldSet:
    """Return the members that have no members below them."""
    return {
        element: leaves(node) if node else node
        for element, node in fields.items()
        if element != MEMBER
    }


def paths(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """Yield every member, as Set.Iterate: for each level the members in order, then their
    children."""
    elements = sorted((e for e in fields if e != MEMBER), key=pathelements.order)
    for element in elements:
        if is_member(fields[element]):
            yield (*prefix, element)
    for element in elements:
        if fields[element]:
            yield from paths(fields[element], (*prefix, element))


def show(path: Iterable[str]) -> str:
    """Return a path as messages print it: `.spec.ports[number=80].name`."""
    return "".join(map(pathelements.show, path))
