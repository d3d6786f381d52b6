"""Checked trees to Python: `translate`, and in this module names, selections, indices and literals.

Operators and calls are in `calls`, logic and comprehensions in `control_flow`. Costs are those of
cel-go interpreter/runtimecost.go: 1 for each name and selection, 10 for each list literal, 30 for
each map literal, 0 for constants. As in Kubernetes, has() is free.
"""

from collections.abc import Container, Sequence
from typing import Any

from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError
from inkube.schemas.cel.declarations.types import Field, Kind, Shape
from inkube.schemas.cel.declarations.values import NONE, Optional
from inkube.schemas.cel.language import ast
from inkube.schemas.cel.language.ast import Node
from inkube.schemas.cel.running import calls, control_flow, operators
from inkube.schemas.cel.running.folding import MISSING, fold
from inkube.schemas.cel.running.writer import DEEPEST, Code, FunctionWriter, Scope, Variable

MAP_COST = 30
STRUCT_COST = 40


def translate(w: FunctionWriter, node: Node) -> Code:
    """Return the code of the node's value; if `shape` is set, the value is still JSON to adapt."""
    constant = fold(node)
    if constant is not MISSING:
        return literal(w, constant)
    match node:
        case ast.Ident():
            return _ident(w, node)
        case ast.Select():
            return _select(w, node)
        case ast.ListNode():
            return _list(w, node)
        case ast.MapNode():
            return _map(w, node)
        case ast.StructNode():
            return _struct(w, node)
        case ast.Fold():
            return _apart(w, node, control_flow.comprehension)
        case ast.Call(function="_[_]" | "_[?_]"):
            return _index(w, node)
        case ast.Call(function="_&&_" | "_||_" | "_?_:_" | "or" | "orValue"):
            return _apart(w, node, control_flow.branches)
        case ast.Call():
            return calls.call(w, node)
    raise AssertionError(type(node).__name__)


def literal(w: FunctionWriter, constant: Any) -> Code:
    """Return the code of a constant; None and booleans are inline."""
    if constant is None or isinstance(constant, bool):
        return Code(repr(constant))
    return Code(w.constant(constant))


def is_attribute(node: Node) -> bool:
    """Return whether cel-go plans the node as an attribute: selections upon it share its cost."""
    if isinstance(node, ast.Call):
        return node.function in ("_[_]", "_[?_]", "_?_:_")
    return isinstance(node, ast.Ident | ast.Select)


def _apart(w: FunctionWriter, node: Node, compile: Any) -> Code:
    """Compile inline, or as a separate function if blocks are nested too deeply."""
    if w.depth < DEEPEST:
        code: Code = compile(w, node)
        return code
    return control_flow.outlined(w, node)


def _ident(w: FunctionWriter, node: ast.Ident) -> Code:
    if node.type_value is not None:
        return literal(w, node.type_value)
    variable = w.scope[node.name.removeprefix(".") if node.name not in w.scope else node.name]
    w.pay(1)
    if not variable.missing:
        return Code(variable.name, False, variable.shape)
    text = f"{w.constant(operators.resolved)}({variable.name}, {w.constant(variable.missing)})"
    return w.hold(Code(text, True, variable.shape))


def _select(w: FunctionWriter, node: ast.Select) -> Code:
    if node.absolute is not None:
        return _ident(w, node.absolute)
    operand = w.bounded(w.raw(node.operand))
    w.pay(int(not node.test_only) + int(not is_attribute(node.operand)))
    kind = node.operand.runtime_type.kind
    if kind is Kind.OBJECT and not node.optional:
        return _object_field(w, node, operand)
    shape = operand.shape.element if kind is Kind.MAP and operand.shape else None
    if kind is not Kind.MAP:
        operand = w.adapted(operand)  # of an object, a member is converted when it is read
    key = w.constant(node.field)
    if node.optional or kind is Kind.OPAQUE:
        return _optional_select(w, node, operand)
    if node.test_only:
        check = f"({key} in {operand.text})" if kind is Kind.MAP else ""
        return Code(check or f"{w.constant(operators.has)}({operand.text}, {key})", True)
    if kind is Kind.MAP:
        return Code(f"{operand.text}[{key}]", True, shape)
    return Code(f"{w.constant(operators.select)}({operand.text}, {key})", True)


def _object_field(w: FunctionWriter, node: ast.Select, operand: Code) -> Code:
    field = _declared(node)
    key = w.constant(field.key if field else node.field)
    shape = field.shape if field and operand.shape is not None else None
    if field is not None and (field.nullable or field.key != node.field):
        if node.test_only:
            return Code(f"({operand.text}.get({key}) is not None)", operand.fails)
        name = w.constant(node.field)
        return Code(f"{w.constant(_present)}({operand.text}, {key}, {name})", True, shape)
    if node.test_only:
        return Code(f"({key} in {operand.text})", operand.fails)
    return Code(f"{operand.text}[{key}]", True, shape)


def _declared(node: ast.Select) -> Field | None:
    target = node.operand.runtime_type
    if target.kind is Kind.OPAQUE and target.params:
        target = target.params[0]
    return None if target.fields is None else target.fields.find(node.field)


def _present(mapping: dict[str, Any], key: str, name: str) -> Any:
    """mapping[key], where null counts as absent. The error has the name in the expression, which is
    the escaped key."""
    value = mapping.get(key)
    if value is None:
        raise KeyError(name)
    return value


def _optional_select(w: FunctionWriter, node: ast.Select, operand: Code) -> Code:
    """`a.?b`, and `o.b` of an optional: an optional again."""
    field = _declared(node)
    key = w.constant(field.key if field else node.field)
    if node.test_only:
        return Code(f"{w.constant(operators.has)}({operand.text}, {key})", True)
    if field is not None:
        return Code(f"{w.constant(_optional_field)}({operand.text}, {key})", True)
    return Code(f"{w.constant(operators.optional_select)}({operand.text}, {key})", True)


def _optional_field(container: Any, key: str) -> Optional:
    selected = operators.optional_select(container, key)
    return selected if selected.present and selected.value is not None else NONE


def _index(w: FunctionWriter, node: ast.Call) -> Code:
    container_node, index_node = node.args
    constant = fold(index_node)
    if constant is not MISSING and not operators.is_key(constant):
        raise operators.missing_key(constant)
    container = w.bounded(w.raw(container_node))
    w.pay(1 + int(not is_attribute(container_node)))
    mark = w.mark()
    index = w.value(index_node)
    if is_attribute(index_node) and constant is MISSING:
        w.pay(-1)
    (container,) = w.settle([container], mark)
    kind = container_node.runtime_type.kind
    if node.function == "_[?_]" or kind is Kind.OPAQUE:
        is_known = index_node.runtime_type.kind in (Kind.STRING, Kind.INT)
        container = w.adapted(container, marks=not is_known)
        return Code(f"{w.constant(operators.optional_index)}({container.text}, {index.text})", True)
    shape = container.shape.element if container.shape is not None else None
    if kind is Kind.MAP and index_node.runtime_type.kind is Kind.STRING:
        return Code(f"{container.text}[{index.text}]", True, shape)
    entry = operators.entry if container.shape is None else operators.object_entry
    function = {Kind.LIST: operators.item, Kind.MAP: entry}.get(kind, operators.index)
    if kind not in (Kind.LIST, Kind.MAP):
        container = w.adapted(container)
    return Code(f"{w.constant(function)}({container.text}, {index.text})", True, shape)


def _list(w: FunctionWriter, node: ast.ListNode) -> Code:
    w.pay(control_flow.LIST_COST)
    codes = w.values(node.elements)
    fails = any(code.fails for code in codes)
    items = [
        f"*{w.constant(_optional_items)}({code.text})" if place in node.optional else code.text
        for place, code in enumerate(codes)
    ]
    return Code(f"[{', '.join(items)}]", fails or bool(node.optional))


def _struct(w: FunctionWriter, node: ast.StructNode) -> Code:
    w.pay(STRUCT_COST)
    codes = w.values([value for _, value in node.fields])
    rows = [
        f"{w.constant(name)}: {code.text}"
        for (name, _), code in zip(node.fields, codes, strict=True)
    ]
    return Code("{" + ", ".join(rows) + "}", any(code.fails for code in codes))


def _optional_items(optional: Any) -> list[Any]:
    if not isinstance(optional, Optional):
        raise EvalError(NO_OVERLOAD)
    return [optional.value] if optional.present else []


def _map(w: FunctionWriter, node: ast.MapNode) -> Code:
    w.pay(MAP_COST)
    parts = [part for entry in node.entries for part in (entry.key, entry.value)]
    codes = w.values(parts)
    rows = [
        f"({codes[2 * place].text}, {codes[2 * place + 1].text}, {entry.optional})"
        for place, entry in enumerate(node.entries)
    ]
    return Code(f"{w.constant(_built_map)}([{', '.join(rows)}])", True)


def _built_map(rows: list[tuple[Any, Any, bool]]) -> dict[Any, Any]:
    built: dict[Any, Any] = {}
    for key, value, is_optional in rows:
        if is_optional:
            if not isinstance(value, Optional):
                raise EvalError(NO_OVERLOAD)
            if not value.present:
                continue
            value = value.value
        operators.insert(built, key, value)
    return built


def shape_scope(names: Sequence[tuple[str, Shape]], missing: Container[str]) -> Scope:
    """Return the scope at the top of a rule: variables by position. Those in `missing` may have no
    value."""
    return {
        name: Variable(f"v{place}", shape, name if name in missing else "")
        for place, (name, shape) in enumerate(names)
    }
