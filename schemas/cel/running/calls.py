"""Operators and function calls, as Python.

If types are known, the operation is inline code. Other code calls the overload, or a dispatcher
that finds the overload from the arguments.
"""

from collections.abc import Callable
from typing import Any

from inkube.schemas.cel.declarations.estimates import REGEX_FACTOR, STRING_FACTOR, scale
from inkube.schemas.cel.declarations.functions import Overload
from inkube.schemas.cel.declarations.types import Kind, Type
from inkube.schemas.cel.declarations.values import INT_MAX, INT_MIN, equal
from inkube.schemas.cel.language.ast import Call, Const, Node, Select
from inkube.schemas.cel.running import operator_overloads, operators
from inkube.schemas.cel.running.dynamic_calls import dispatcher
from inkube.schemas.cel.running.folding import MISSING, fold
from inkube.schemas.cel.running.writer import Code, FunctionWriter

_COMPARISONS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "_<_": ("<", operators.less),
    "_<=_": ("<=", operators.less_equal),
    "_>_": (">", operators.greater),
    "_>=_": (">=", operators.greater_equal),
}
_EQUALITIES: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "_==_": ("==", equal),
    "_!=_": ("!=", operators.unequal),
}
_SUMS = {"add_int64": "+", "subtract_int64": "-", "multiply_int64": "*"}
_FLOATS = {"add_double": "+", "subtract_double": "-", "multiply_double": "*"}
_SCALARS = frozenset(
    {Kind.BOOL, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.TIMESTAMP, Kind.DURATION, Kind.NULL}
)
_PLAIN = frozenset({Kind.BOOL, Kind.INT, Kind.STRING, Kind.BYTES, Kind.TIMESTAMP, Kind.DURATION})
"""Types whose values Python compares as CEL does, also inside lists."""
_DYNAMIC = frozenset({Kind.DYN, Kind.ERROR, Kind.PARAM, Kind.NULL})
_SHORT = 10
"""The number of characters whose traversal costs 1."""


def call(w: FunctionWriter, node: Call) -> Code:
    """Return the code of a call that is neither a branch nor an index."""
    if node.function in _EQUALITIES:
        return _equality(w, node)
    if node.function in _COMPARISONS:
        return _comparison(w, node)
    if node.function == "@in":
        return _membership(w, node)
    if node.function == "!_":
        return _inversion(w, node)
    if node.function == "-_" and node.args[0].runtime_type.kind in _DYNAMIC:
        w.pay(1)
        return Code(f"{w.constant(operators.negate)}({w.value(node.args[0]).text})", True)
    return _function(w, node)


def _operand(w: FunctionWriter, node: Node, *, marks: bool = False) -> Code:
    """Return an operand of a comparison of numbers: a stored number need not become a float."""
    if node.runtime_type.kind is Kind.DOUBLE and isinstance(node, Select):
        code = w.bounded(w.raw(node))
        return Code(code.text, code.fails)
    return w.value(node, marks=marks)


def _pair(w: FunctionWriter, node: Call) -> tuple[Code, Code]:
    is_mixed = node.args[0].runtime_type != node.args[1].runtime_type
    left = _operand(w, node.args[0], marks=is_mixed)
    mark = w.mark()
    right = _operand(w, node.args[1])
    (left,) = w.settle([left], mark)
    return left, right


def _equality(w: FunctionWriter, node: Call) -> Code:
    operator, general = _EQUALITIES[node.function]
    left, right = _pair(w, node)
    left, right = _pay_comparison(w, node, left, right)
    fails = left.fails or right.fails
    one, two = node.args[0].runtime_type, node.args[1].runtime_type
    if Kind.NULL in (one.kind, two.kind):
        return _null_check(w, operator, left, right, fails)
    if one == two and one.kind in (Kind.LIST, Kind.MAP) and _has_plain_items(one):
        general = _plain_equal if operator == "==" else _plain_unequal
    elif one == two and (one.kind in _PLAIN or one.kind is Kind.DOUBLE):
        return Code(f"({left.text} {operator} {right.text})", fails)
    return Code(f"{w.constant(general)}({left.text}, {right.text})", fails)


def _plain_equal(left: Any, right: Any) -> bool:
    """`==` of lists or maps of plain values: Python's, unless a list type has its own."""
    if type(left) is type(right) and type(left) in (list, dict):
        return bool(left == right)
    return equal(left, right)


def _plain_unequal(left: Any, right: Any) -> bool:
    return not _plain_equal(left, right)


def _null_check(w: FunctionWriter, operator: str, left: Code, right: Code, fails: bool) -> Code:
    identity = "is" if operator == "==" else "is not"
    return Code(f"({left.text} {identity} {right.text})", fails)


def _has_plain_items(type: Type) -> bool:
    """Return whether no item of a list or map has an equality of its own, as an inner set has."""
    return all(part.kind in _PLAIN for part in type.params)


def _pay_comparison(w: FunctionWriter, node: Call, left: Code, right: Code) -> tuple[Code, Code]:
    """Pay for the traversal of the smaller operand; short texts and scalars cost 1."""
    one, two = node.args
    if one.runtime_type.kind in _SCALARS or two.runtime_type.kind in _SCALARS:
        w.pay(1)
        return left, right
    constants = [fold(arg) for arg in node.args]
    for constant in constants:
        if isinstance(constant, str | bytes) and len(constant) <= _SHORT:
            w.pay(1 if constant else 0)
            return left, right
    left, right = w.hold(left), w.hold(right)
    cost = w.constant(operator_overloads.comparison_cost)
    w.line(f"c += {cost}(({left.text}, {right.text}), None)")
    return left, right


def _comparison(w: FunctionWriter, node: Call) -> Code:
    operator, general = _COMPARISONS[node.function]
    left, right = _pair(w, node)
    left, right = _pay_comparison(w, node, left, right)
    one, two = node.args[0].runtime_type.kind, node.args[1].runtime_type.kind
    fails = left.fails or right.fails
    is_number = one is two is Kind.DOUBLE and not any(map(_may_be_nan, node.args))
    if (one is two and one in _PLAIN) or is_number:
        return Code(f"({left.text} {operator} {right.text})", fails)
    return Code(f"{w.constant(general)}({left.text}, {right.text})", True)


def _may_be_nan(node: Node) -> bool:
    """Return whether a value can be NaN: only computed doubles can, because JSON has no NaN."""
    return not isinstance(node, Const | Select)


def _membership(w: FunctionWriter, node: Call) -> Code:
    element, container = node.args
    constant = fold(container)
    if isinstance(constant, list) and _is_hashable(constant):
        return _constant_membership(w, element, constant)
    parts = container.runtime_type.params
    is_mixed = parts[:1] != (element.runtime_type,)
    codes = w.values(node.args, marks=is_mixed)
    is_map = container.runtime_type.kind is Kind.MAP
    if container.runtime_type.kind is Kind.LIST:
        codes[1] = w.hold(codes[1])
        w.line(f"c += len({codes[1].text})")
    else:
        w.pay(1)
    fails = any(code.fails for code in codes)
    plain = element.runtime_type.kind in _PLAIN and not is_mixed
    if plain and (not is_map or element.runtime_type.kind is Kind.STRING):
        return Code(f"({codes[0].text} in {codes[1].text})", fails)
    contains = w.constant(operators.contains)
    return Code(f"{contains}({codes[0].text}, {codes[1].text})", True)


def _constant_membership(w: FunctionWriter, element: Node, constant: list[Any]) -> Code:
    """cel-go looks constants up in a set, and counts no cost for it."""
    code = w.value(element)
    if element.runtime_type.kind in _PLAIN:
        return Code(f"({code.text} in {w.constant(frozenset(constant))})", code.fails)
    contains = w.constant(operators.contains)
    return Code(f"{contains}({code.text}, {w.constant(constant)})", code.fails)


def _is_hashable(items: list[Any]) -> bool:
    kinds = {type(item) for item in items}
    return len(kinds) <= 1 and kinds <= {str, int, bytes}


def _inversion(w: FunctionWriter, node: Call) -> Code:
    w.pay(1)
    code = w.value(node.args[0])
    if node.args[0].runtime_type.kind is Kind.BOOL:
        return Code(f"(not {code.text})", code.fails)
    return Code(f"{w.constant(operators.invert)}({code.text})", True)


def _function(w: FunctionWriter, node: Call) -> Code:
    if [overload.id for overload in node.overloads] == ["to_dyn"]:
        w.pay(1)
        return w.value(node.args[0], marks=True)
    codes = w.values(node.operands)
    is_dynamic = any(arg.runtime_type.kind in _DYNAMIC for arg in node.operands)
    overloads = operator_overloads.at_run_time(node)
    if len(overloads) != 1 or (is_dynamic and _is_choosy(overloads[0])):
        return _dispatched(w, overloads, codes)
    overload = overloads[0]
    written = _written_out(w, node, overload, codes)
    if written is not None:
        return written
    return _called(w, node, overload, codes)


def _is_choosy(overload: Overload) -> bool:
    return any(param.kind not in _DYNAMIC for param in overload.params)


def _dispatched(w: FunctionWriter, overloads: tuple[Overload, ...], codes: list[Code]) -> Code:
    result, cost = w.temporary(), w.temporary()
    function = w.constant(dispatcher(overloads))
    w.line(f"{result}, {cost} = {function}({_joined(codes)})")
    w.line(f"c += {cost}")
    return Code(result)


def _joined(codes: list[Code]) -> str:
    return ", ".join(code.text for code in codes)


def _called(w: FunctionWriter, node: Call, overload: Overload, codes: list[Code]) -> Code:
    implementation = overload.impl
    if overload.specialise is not None:
        folded = {place: fold(arg) for place, arg in enumerate(node.operands)}
        constants = {place: value for place, value in folded.items() if value is not MISSING}
        implementation = overload.specialise(constants) or implementation
    fails = overload.fails or any(code.fails for code in codes)
    function = w.constant(implementation)
    if isinstance(overload.cost, int):
        w.pay(overload.cost)
        return Code(f"{function}({_joined(codes)})", fails)
    codes = [w.hold(code) for code in codes]
    result = w.hold(Code(f"{function}({_joined(codes)})", fails))
    args = "".join(f"{code.text}, " for code in codes)
    w.line(f"c += {w.constant(overload.cost)}(({args}), {result.text})")
    return result


def _written_out(
    w: FunctionWriter, node: Call, overload: Overload, codes: list[Code]
) -> Code | None:
    fails = any(code.fails for code in codes)
    if overload.id in _SUMS:
        return _integer_sum(w, _SUMS[overload.id], codes)
    if overload.id in _FLOATS:
        w.pay(1)
        return Code(f"({codes[0].text} {_FLOATS[overload.id]} {codes[1].text})", fails)
    if overload.function == "size":
        w.pay(1)
        return Code(f"len({codes[0].text})", fails)
    if len(codes) != 2:
        return None
    constant = fold(node.operands[1])
    return _text_search(w, overload, codes, constant) if isinstance(constant, str) else None


def _integer_sum(w: FunctionWriter, operator: str, codes: list[Code]) -> Code:
    w.pay(1)
    result = w.hold(Code(f"{codes[0].text} {operator} {codes[1].text}"))
    w.line(
        f"if not {INT_MIN} <= {result.text} <= {INT_MAX}: {w.constant(operators.checked_int)}"
        f"({result.text})"
    )
    return result


def _text_search(
    w: FunctionWriter, overload: Overload, codes: list[Code], constant: str
) -> Code | None:
    text, part = codes
    length = len(constant)
    fails = text.fails
    if overload.id in ("starts_with_string", "ends_with_string"):
        w.pay(scale(length, STRING_FACTOR))
        method = "startswith" if overload.id[0] == "s" else "endswith"
        return Code(f"{text.text}.{method}({part.text})", fails)
    if overload.id == "contains_string":
        text = w.hold(text)
        factor = scale(length, STRING_FACTOR)
        w.line(f"c += (len({text.text}) + 9) // 10 * {factor}")
        return Code(f"({part.text} in {text.text})", fails)
    if overload.id in ("matches", "matches_string") and overload.specialise is not None:
        text = w.hold(text)
        implementation = overload.specialise({1: constant}) or overload.impl
        w.line(f"c += (len({text.text}) + 10) // 10 * {scale(length, REGEX_FACTOR)}")
        return Code(f"{w.constant(implementation)}({text.text}, {part.text})", fails)
    return None
