"""How much an expression may cost at most, before it ever runs: cel-go checker/cost.go.

Sizes come from the shapes of variables (maxLength, maxItems, maxProperties, or what fits into a
request); what calls return has the size their overloads tell, or none.
"""

from dataclasses import dataclass

from inkube.schemas.cel.ast import Call, Const, Fold, Ident, ListNode, MapNode, Node, Select
from inkube.schemas.cel.decls import Decl
from inkube.schemas.cel.env import Environment
from inkube.schemas.cel.estimates import (
    ONE,
    UNKNOWN,
    ZERO,
    Argument,
    CallEstimate,
    Range,
)  # fmt: skip
from inkube.schemas.cel.functions import Overload
from inkube.schemas.cel.types import Kind, Type

_LIST = Range(10, 10)
_MAP = Range(30, 30)
_SCALARS = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
_SELECTABLE = frozenset({Kind.MAP, Kind.OBJECT, Kind.PARAM})


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a value: `size` once computed; `shape` where it has a path from a variable.

    `element` describes the items of computed lists and the values of computed maps.
    """

    cost: Range
    size: Range | None = None
    shape: Decl | None = None
    element: "_Known | None" = None


def estimate(root: Node, environment: Environment) -> Range:
    """Least and greatest cost of an expression that was checked."""
    return _Estimator(environment).visit(root).cost


class _Estimator:
    def __init__(self, environment: Environment) -> None:
        self._scope = {
            name: _Known(ONE, shape=shape) for name, shape in environment.variables.items()
        }

    def visit(self, node: Node) -> _Known:
        match node:
            case Const():
                size = len(node.value) if isinstance(node.value, str | bytes) else None
                return _Known(ZERO, None if size is None else Range(size, size))
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case ListNode():
                return self._list(node)
            case MapNode():
                return self._map(node)
            case Call():
                return self._call(node)
            case Fold():
                return self._fold(node)
        return _Known(ZERO)

    def size(self, node: Node, known: _Known) -> Range:
        """The size of a value: computed, declared, 1 for scalars, or anything."""
        if known.size is not None:
            return known.size
        if known.shape is not None and known.shape.max_size is not None:
            return Range(0, known.shape.max_size)
        return ONE if node.type.kind in _SCALARS else UNKNOWN

    def _ident(self, node: Ident) -> _Known:
        if node.type_value is not None:
            return _Known(ONE)
        return self._scope.get(node.name.removeprefix("."), _Known(ONE))

    def _select(self, node: Select) -> _Known:
        if node.absolute is not None:
            return self._ident(node.absolute)
        operand = self.visit(node.operand)
        if node.test_only:
            return _Known(operand.cost)
        cost = operand.cost
        if node.operand.type.kind in _SELECTABLE:
            cost += ONE
        return _Known(cost, shape=_field(operand, node))

    def _list(self, node: ListNode) -> _Known:
        cost, element = _LIST, None
        for item in node.elements:
            known = self.visit(item)
            cost += known.cost
            element = self._union(element, item, known)
        count = len(node.elements)
        return _Known(cost, Range(count, count), element=element)

    def _map(self, node: MapNode) -> _Known:
        cost, element = _MAP, None
        for entry in node.entries:
            known = self.visit(entry.value)
            cost += self.visit(entry.key).cost + known.cost
            element = self._union(element, entry.value, known)
        count = len(node.entries)
        return _Known(cost, Range(count, count), element=element)

    def _union(self, element: _Known | None, node: Node, known: _Known) -> _Known:
        size = self.size(node, known)
        if element is not None and element.size is not None:
            size = size.union(element.size)
        return _Known(ONE, size)

    def _call(self, node: Call) -> _Known:
        operands = [self.visit(arg) for arg in node.operands]
        if node.function in ("_&&_", "_||_"):
            most = sum((known.cost for known in operands), ZERO).max
            return _Known(Range(operands[0].cost.min, most))
        if node.function == "_?_:_":
            return self._conditional(node, operands)
        total = sum((known.cost for known in operands), ZERO)
        arguments = tuple(map(self._argument, node.operands, operands))
        estimates = [_estimate(overload, arguments) for overload in node.overloads]
        if not estimates:
            return _Known(total + ONE)
        cost, size = estimates[0].cost, estimates[0].result_size
        for other in estimates[1:]:
            cost = cost.union(other.cost)
            if other.result_size is not None:
                size = other.result_size if size is None else size.union(other.result_size)
        found = _indexed(operands[0]) if node.function == "_[_]" else _Known(ONE)
        return _Known(total + cost, size or found.size, found.shape, found.element)

    def _conditional(self, node: Call, operands: list[_Known]) -> _Known:
        condition, yes, no = operands
        size = self.size(node.args[1], yes).union(self.size(node.args[2], no))
        return _Known(condition.cost + yes.cost.union(no.cost), size, element=yes.element)

    def _argument(self, node: Node, known: _Known) -> Argument:
        constant = node.value if isinstance(node, Const) else None
        return Argument(node.type, self.size(node, known), _element(node.type, known), constant)

    def _fold(self, node: Fold) -> _Known:
        source = self.visit(node.range)
        initial = self.visit(node.init)
        outer = self._scope
        self._scope = {**outer, **_loop_variables(node, source)}
        if node.macro == "bind":
            self._scope[node.accumulator] = _Known(
                ONE, self.size(node.init, initial), initial.shape, initial.element
            )
            result = self.visit(node.result)
            self._scope = outer
            return _Known(source.cost + initial.cost + result.cost, result.size, result.shape)
        self._scope[node.accumulator] = _Known(ONE, initial.size)
        step = self.visit(node.condition).cost
        turn = self.visit(node.step)
        self._scope = outer
        count = self.size(node.range, source)
        cost = source.cost + initial.cost + ONE + count * (step + turn.cost)
        if node.macro == "exists_one":
            cost += ONE
        is_container = isinstance(node.init, ListNode | MapNode)
        return _Known(cost, count if is_container else None, element=turn.element)


def _field(operand: _Known, node: Select) -> Decl | None:
    shape = operand.shape
    if shape is None:
        return None
    if node.operand.type.kind is Kind.MAP:
        return shape.element
    entry = shape.fields.get(node.field)
    return entry.shape if entry else None


def _indexed(container: _Known) -> _Known:
    if container.element is not None:
        return container.element
    return _Known(ONE, shape=container.shape.element if container.shape else None)


def _element(type: Type, known: _Known) -> Argument | None:
    if type.kind not in (Kind.LIST, Kind.MAP):
        return None
    inner = type.params[-1]
    element = _indexed(known)
    if element.size is not None:
        return Argument(inner, element.size)
    if element.shape is not None and element.shape.max_size is not None:
        return Argument(inner, Range(0, element.shape.max_size), _element(inner, element))
    return Argument(inner, ONE if inner.kind in _SCALARS else UNKNOWN)


def _loop_variables(node: Fold, source: _Known) -> dict[str, _Known]:
    kind = node.range.type.kind
    element = _indexed(source)
    key = _Known(ONE, shape=source.shape.key if source.shape else None)
    if len(node.variables) == 2:
        first = key if kind is Kind.MAP else _Known(ONE)
        return {node.variables[0]: first, node.variables[1]: element}
    return {node.variables[0]: key if kind is Kind.MAP else element}


def _estimate(overload: Overload, arguments: tuple[Argument, ...]) -> CallEstimate:
    if overload.estimate is not None:
        found = overload.estimate(arguments)
        if found is not None:
            return found
    return CallEstimate(ONE)
