"""The types that values are known to have when an expression runs.

The checker can give a node a too specific type: if a type parameter meets `dyn` in one operand, the
other operands bind it. The checker therefore gives `dyn(1)[?'k'].orValue(null)` and
`[duration('1s'), null][0]` the type null, as cel-go does. Such types select the accepted overloads
and their estimated costs, but say nothing about the values. `annotate` sets `runtime_type` on each
node that is compiled: the checker's type if the operands prove it, else dyn.
"""

from collections.abc import Mapping
from typing import Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.types import DYN, INT, Kind, Type
from inkube.schemas.cel.language import ast
from inkube.schemas.cel.language.ast import Node
from inkube.schemas.cel.running.operator_overloads import at_run_time

_Scope = Mapping[str, Type]


_NO_VARIABLES: Final[_Scope] = {}


def annotate(node: Node, scope: _Scope = _NO_VARIABLES) -> Type:
    """Set `runtime_type` on the node and all nodes below it; returns that of the node.

    `scope` has the variables of macros.
    """
    node.runtime_type = _runtime_type(node, scope)
    return node.runtime_type


def _runtime_type(node: Node, scope: _Scope) -> Type:
    match node:
        case ast.Ident():
            found = scope.get(node.name, node.type)
            return DYN if found.nullable else found
        case ast.Select():
            return _select(node, scope)
        case ast.Call():
            return _call(node, scope)
        case ast.ListNode():
            return _list(node, scope)
        case ast.MapNode():
            return _map(node, scope)
        case ast.StructNode():
            for _, value in node.fields:
                annotate(value, scope)
        case ast.Fold():
            return _fold(node, scope)
    return node.type


def _select(node: ast.Select, scope: _Scope) -> Type:
    if node.absolute is not None:
        return annotate(node.absolute, scope)
    operand = annotate(node.operand, scope)
    if node.test_only:
        return node.type
    if operand != node.operand.type:
        return DYN
    field = operand.fields.find(node.field) if operand.fields is not None else None
    if field is not None and field.runtime_type is not None and not node.optional:
        return field.runtime_type
    return node.type


def _call(node: ast.Call, scope: _Scope) -> Type:
    operands = tuple(annotate(operand, scope) for operand in node.operands)
    if not node.overloads:  # `&&` and `||`
        return node.type
    results = {
        _result(overload.result, overload.params, operands) for overload in at_run_time(node)
    }
    return results.pop() if len(results) == 1 else DYN


def _result(result: Type, params: tuple[Type, ...], operands: tuple[Type, ...]) -> Type:
    """Return the result type of an overload; a type parameter is the common type of all
    operands."""
    if not _has_parameters(result):
        return result
    bound: dict[str, Type] = {}
    for param, operand in zip(params, operands, strict=True):
        _bind(param, operand, bound)
    return _replaced(result, bound)


def _has_parameters(type: Type) -> bool:
    return type.kind is Kind.PARAM or any(map(_has_parameters, type.params))


def _bind(param: Type, operand: Type, bound: dict[str, Type]) -> None:
    if param.kind is Kind.PARAM:
        same = bound.setdefault(param.name, operand) == operand
        if not same:
            bound[param.name] = DYN
        return
    has_same_name = (param.name, len(param.params)) == (operand.name, len(operand.params))
    for place, part in enumerate(param.params):
        _bind(part, operand.params[place] if has_same_name else DYN, bound)


def _replaced(type: Type, bound: Mapping[str, Type]) -> Type:
    if type.kind is Kind.PARAM:
        return bound.get(type.name, DYN)
    if not type.params:
        return type
    return Type(type.kind, type.name, tuple(_replaced(part, bound) for part in type.params))


def _common(checked: Type, parts: list[Type]) -> Type:
    """Return the checker's type of the parts of a literal if all parts have this type, else dyn."""
    return checked if all(each == checked for each in parts) else DYN


def _unwrapped(type: Type, is_optional: bool) -> Type:
    if not is_optional:
        return type
    return type.params[0] if types.is_optional(type) else DYN


def _list(node: ast.ListNode, scope: _Scope) -> Type:
    elements = [
        _unwrapped(annotate(item, scope), place in node.optional)
        for place, item in enumerate(node.elements)
    ]
    return types.list_of(_common(node.type.params[0], elements))


def _map(node: ast.MapNode, scope: _Scope) -> Type:
    keys = [annotate(entry.key, scope) for entry in node.entries]
    values = [_unwrapped(annotate(entry.value, scope), entry.optional) for entry in node.entries]
    key, value = node.type.params
    return types.map_of(_common(key, keys), _common(value, values))


def _fold(node: ast.Fold, scope: _Scope) -> Type:
    source = annotate(node.range, scope)
    if node.macro == "bind":
        return annotate(node.result, {**scope, node.accumulator: annotate(node.init, scope)})
    inner = {**scope, **dict(zip(node.variables, _loop_types(node, source), strict=False))}
    body = annotate(node.body, inner)
    if node.filter is not None:
        annotate(node.filter, inner)
    match node.macro:
        case "filter":
            return types.list_of(inner[node.variables[0]])
        case "map" | "transformList":
            return types.list_of(body)
        case "transformMap":
            return types.map_of(inner[node.variables[0]], body)
        case "transformMapEntry":
            return body
    return node.type


def _loop_types(node: ast.Fold, source: Type) -> tuple[Type, Type]:
    has_two = len(node.variables) == 2
    if source.kind is Kind.LIST:
        return (INT if has_two else source.params[0]), source.params[0]
    if source.kind is Kind.MAP:
        return source.params[0], source.params[1]
    return DYN, DYN
