"""Folding of constants: literals, lists and maps of literals, conversions of literals.

Follows cel-go's OptOptimize. Folded nodes have no cost at run time. A conversion that cannot
succeed refuses the program, as does a failed preparation of a call for constant arguments.
"""

from typing import Any, Final

from inkube.schemas.cel.declarations.functions import EvalError
from inkube.schemas.cel.language.ast import (  # fmt: skip
    Call,
    Const,
    Ident,
    ListNode,
    MapNode,
    Node,
    children,
)
from inkube.schemas.cel.running.dynamic_calls import matches
from inkube.schemas.cel.running.operators import is_key, no_overload


class _Missing:
    """The marker for a node that is not a constant."""


MISSING: Final = _Missing()
_CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"}
)
_INDICES = frozenset({"_[_]", "_[?_]"})
_SHALLOW: Final = 40
"""The nesting that always compiles (Python's recursion limit is reached at about 120)."""


def may_be_refused(root: Node) -> bool:
    """Return whether the compilation of a checked tree can fail; other trees are accepted without
    it.

    It fails for nodes that cannot be folded or prepared, and for too deep nesting.
    """
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > _SHALLOW or any(map(_works_ahead, level)):
            return True
        level = [child for node in level for child in children(node)]
    return False


def _works_ahead(node: Node) -> bool:
    if isinstance(node, Call):
        is_prepared = any(overload.specialise for overload in node.overloads)
        if node.function in _INDICES and _may_be_wrong(node.args[1]):
            return True
        return is_prepared or node.function in _CONVERSIONS
    return isinstance(node, MapNode)


def _may_be_wrong(index: Node) -> bool:
    match index:
        case Const():
            return not is_key(index.value)
        case Ident():
            return index.type_value is not None
    return isinstance(index, ListNode)


def fold(node: Node) -> Any:
    """Return the constant value of a node, or MISSING. Raises EvalError for a failed conversion."""
    match node:
        case Const():
            return node.value
        case Ident() if node.type_value is not None:
            return node.type_value
        case ListNode() if not node.optional:
            return _folded_list(node)
        case MapNode():
            return _folded_map(node)
        case Call(target=None) if node.function in _CONVERSIONS and len(node.args) == 1:
            return _converted(node)
    return MISSING


def _folded_list(node: ListNode) -> Any:
    items = [fold(element) for element in node.elements]
    return MISSING if MISSING in items else items


def _folded_map(node: MapNode) -> Any:
    folded: dict[Any, Any] = {}
    for entry in node.entries:
        key, value = fold(entry.key), fold(entry.value)
        if entry.optional or key is MISSING or value is MISSING or not isinstance(key, str):
            return MISSING
        if key in folded:
            raise EvalError(f"insert failed: key {key} already exists")
        folded[key] = value
    return folded


def _converted(node: Call) -> Any:
    argument = fold(node.args[0])
    if argument is MISSING:
        return MISSING
    for overload in node.overloads:
        if len(node.overloads) == 1 or matches(overload.params[0], argument):
            return overload.impl(argument)
    raise no_overload(node.function, argument)
