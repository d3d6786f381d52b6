"""Folding of constants: literals, lists and maps of literals, conversions of literals.

Follows cel-go's OptOptimize. Folded nodes have no cost at run time. A conversion that cannot
succeed refuses the program, as does a failed preparation of a call for constant arguments.
"""

from typing import Any, Final

from inkube.schemas.cel.declarations.functions import EvalError
from inkube.schemas.cel.language.ast import Call, Const, ListNode, MapNode, Node, children


class _Missing:
    """The marker for a node that is not a constant."""


MISSING: Final = _Missing()
_CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"}
)


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
        return is_prepared or node.function in _CONVERSIONS
    return isinstance(node, MapNode)


def fold(node: Node) -> Any:
    """Return the constant value of a node, or MISSING. Raises EvalError for a failed conversion."""
    match node:
        case Const():
            return node.value
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
    if argument is MISSING or len(node.overloads) != 1:
        return MISSING
    return node.overloads[0].impl(argument)
