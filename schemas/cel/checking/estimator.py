"""The largest cost of an expression, estimated before it runs: cel-go checker/cost.go.

Sizes come from the shape of `self` (maxLength, maxItems, maxProperties, or the size of a request),
which is looked up by the path of a value. Results of calls have the sizes from their overloads, or
an unknown size. As in Kubernetes, every path is looked up in `self`, independent of its first name,
so `oldSelf.x`, the name of a type or an item of a computed list also find sizes there.
"""

from dataclasses import dataclass, replace

from inkube.schemas.cel.declarations.environment import Environment
from inkube.schemas.cel.declarations.estimates import (
    ONE,
    UNKNOWN,
    ZERO,
    Argument,
    CallEstimate,
    Range,
)
from inkube.schemas.cel.declarations.functions import Overload
from inkube.schemas.cel.declarations.types import Kind, Shape, Type, is_optional
from inkube.schemas.cel.language import ast
from inkube.schemas.cel.language.ast import Node

_LIST = Range(10, 10)
_MAP = Range(30, 30)
_SCALARS = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
_SELECTABLE = frozenset({Kind.MAP, Kind.OBJECT, Kind.PARAM})
_ITEMS, _VALUES, _KEYS, _INDICES = "@items", "@values", "@keys", "@indices"

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Sizes of the keys (or indices) and values of a container made in the expression."""

    key: Range
    value: Range

    def union(self, other: "_Entry | None") -> "_Entry | None":
        if other is None:
            return None
        return _Entry(self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class _NodeEstimate:
    """The data about a node: its cost, its size if known, its path, the sizes of its entries."""

    cost: Range
    size: Range | None = None
    path: Path = ()
    entry: _Entry | None = None

    @property
    def bound(self) -> Range:
        """The size, or UNKNOWN."""
        return UNKNOWN if self.size is None else self.size


def estimate(root: Node, environment: Environment) -> Range:
    """Return the smallest and the largest cost of a checked expression."""
    shape = next(iter(environment.variables.values()), None)
    return _Estimator(shape).visit(root).cost


class _Estimator:
    def __init__(self, root: Shape | None) -> None:
        self._root = root
        self._locals: dict[str, _NodeEstimate] = {}

    def visit(self, node: Node) -> _NodeEstimate:
        match node:
            case ast.Const():
                size = len(node.value) if isinstance(node.value, str | bytes) else 1
                return _NodeEstimate(ZERO, Range(size, size))
            case ast.Ident():
                return self._ident(node)
            case ast.Select():
                return self._select(node)
            case ast.ListNode():
                return self._list(node)
            case ast.MapNode():
                return self._map(node)
            case ast.Call():
                return self._call(node)
            case ast.Fold():
                return self._fold(node)
        return _NodeEstimate(ZERO)

    def _declared(self, path: Path) -> Range | None:
        """Return the declared size of the value at a path (EstimateSize)."""
        if not path:
            return None
        shape = self._root
        for name in path[1:]:
            if shape is None:
                return None
            if name in (_ITEMS, _VALUES):
                shape = shape.element
            elif name == _KEYS:
                shape = shape.key
            else:
                field = shape.fields.find(name)
                shape = field.shape if field else None
        if shape is None or shape.max_size is None:
            return None
        return Range(0, shape.max_size)

    def _sized(self, estimate: _NodeEstimate, kind: Type) -> _NodeEstimate:
        """Return the data with a size from the path or the type, if no size was computed."""
        if estimate.size is not None:
            return estimate
        size = self._declared(estimate.path)
        if size is None and _is_scalar(kind):
            size = ONE
        return replace(estimate, size=size)

    def _ident(self, node: ast.Ident) -> _NodeEstimate:
        local = self._locals.get(node.name)
        if local is None:
            return self._sized(_NodeEstimate(ONE, path=(node.name,)), node.type)
        estimate = self._sized(_NodeEstimate(ONE, path=local.path, entry=local.entry), node.type)
        return replace(estimate, size=local.size) if estimate.size is None else estimate

    def _select(self, node: ast.Select) -> _NodeEstimate:
        if node.absolute is not None:
            return self._ident(node.absolute)
        operand = self.visit(node.operand)
        if node.test_only:
            return _NodeEstimate(operand.cost, ONE)
        cost = operand.cost
        if node.optional:
            return self._sized(_NodeEstimate(cost + ONE), node.type)
        if node.operand.type.kind in _SELECTABLE:
            cost += ONE
        return self._sized(_NodeEstimate(cost, path=(*operand.path, node.field)), node.type)

    def _list(self, node: ast.ListNode) -> _NodeEstimate:
        cost, value = _LIST, None
        for item in node.elements:
            element = self.visit(item)
            cost += element.cost
            value = element.bound if value is None else value.union(element.bound)
        count = len(node.elements)
        return _NodeEstimate(cost, Range(count, count), entry=_Entry(ONE, value or ZERO))

    def _map(self, node: ast.MapNode) -> _NodeEstimate:
        cost, key, value = _MAP, None, None
        for entry in node.entries:
            left, right = self.visit(entry.key), self.visit(entry.value)
            cost += left.cost + right.cost
            key = left.bound if key is None else key.union(left.bound)
            value = right.bound if value is None else value.union(right.bound)
        count = len(node.entries)
        return _NodeEstimate(cost, Range(count, count), entry=_Entry(key or ZERO, value or ZERO))

    def _call(self, node: ast.Call) -> _NodeEstimate:
        operands = [self.visit(arg) for arg in node.operands]
        total = sum((estimate.cost for estimate in operands), ZERO)
        if node.function in ("_&&_", "_||_"):
            return _NodeEstimate(Range(operands[0].cost.min, total.max), ONE)
        if node.function == "_?_:_":
            return self._conditional(node, operands)
        if node.function == "dyn":
            return replace(operands[0], cost=total + ONE, path=())
        cost, size = self._cheapest_to_dearest(node, operands)
        estimate = _NodeEstimate(total + cost, size, entry=_joined_entries(node, operands))
        if node.function == "_[_]":
            estimate = _indexed(node, estimate, operands[0])
        return self._sized(estimate, node.type)

    def _cheapest_to_dearest(
        self, node: ast.Call, operands: list[_NodeEstimate]
    ) -> tuple[Range, Range | None]:
        """Return the ranges of cost and result size that cover all overloads of a call."""
        arguments = tuple(map(self._argument, node.operands, operands))
        estimates = [_estimate(overload, arguments) for overload in node.overloads]
        if not estimates:
            return ONE, None
        cost, size = estimates[0].cost, estimates[0].result_size
        for other in estimates[1:]:
            cost = cost.union(other.cost)
            if other.result_size is not None:
                size = other.result_size if size is None else size.union(other.result_size)
        return cost, size

    def _conditional(self, node: ast.Call, operands: list[_NodeEstimate]) -> _NodeEstimate:
        condition, yes, no = operands
        entry = yes.entry.union(no.entry) if yes.entry else None
        cost = condition.cost + yes.cost.union(no.cost)
        return _NodeEstimate(cost, yes.bound.union(no.bound), entry=entry)

    def _argument(self, node: Node, estimate: _NodeEstimate) -> Argument:
        constant = node.value if isinstance(node, ast.Const) else None
        element = self._element(node.type, estimate.path)
        return Argument(node.type, estimate.bound, element, constant)

    def _element(self, kind: Type, path: Path) -> Argument | None:
        if kind.kind not in (Kind.LIST, Kind.MAP):
            return None
        inner = kind.params[-1]
        below = (*path, _ITEMS) if path else ()
        return Argument(inner, self._declared(below) or UNKNOWN, self._element(inner, below))

    def _fold(self, node: ast.Fold) -> _NodeEstimate:
        source, initial = self.visit(node.range), self.visit(node.init)
        outer = self._locals
        self._locals = {**outer, node.accumulator: replace(initial, path=initial.path)}
        if node.macro == "bind":
            result = self.visit(node.result)
            self._locals = outer
            return replace(result, cost=source.cost + initial.cost + result.cost, path=())
        self._locals |= _loop_variables(node, source)
        condition, step = self.visit(node.condition), self.visit(node.step)
        result = self.visit(node.result)
        self._locals = outer
        turns = source.bound * (condition.cost + step.cost)
        cost = source.cost + initial.cost + result.cost + turns
        if isinstance(node.init, ast.ListNode | ast.MapNode):
            return _NodeEstimate(cost, source.bound, entry=step.entry)
        return _NodeEstimate(cost, ONE)


def _is_scalar(kind: Type) -> bool:
    return kind.kind in _SCALARS or (is_optional(kind) and _is_scalar(kind.params[0]))


def _indexed(node: ast.Call, estimate: _NodeEstimate, container: _NodeEstimate) -> _NodeEstimate:
    for overload in node.overloads:
        if overload.id in ("index_list", "index_map"):
            step = _ITEMS if overload.id == "index_list" else _VALUES
            size = container.entry.value if container.entry else None
            return replace(estimate, size=size, path=(*container.path, step))
    return estimate


def _joined_entries(node: ast.Call, operands: list[_NodeEstimate]) -> _Entry | None:
    """Return the entry sizes of two joined lists; None for other calls or unknown sizes."""
    if node.function != "_+_" or operands[0].entry is None:
        return None
    return operands[0].entry.union(operands[1].entry)


def _loop_variables(node: ast.Fold, source: _NodeEstimate) -> dict[str, _NodeEstimate]:
    is_list = node.range.type.kind is Kind.LIST
    key = source.entry.key if source.entry else None
    value = source.entry.value if source.entry else None
    value_step = _ITEMS if is_list else _VALUES
    values = _NodeEstimate(ONE, value, (*source.path, value_step))
    keys = _NodeEstimate(ONE, key, (*source.path, _INDICES if is_list else _KEYS))
    if len(node.variables) == 2:
        return {node.variables[0]: keys, node.variables[1]: values}
    return {node.variables[0]: values if is_list else keys}


def _estimate(overload: Overload, arguments: tuple[Argument, ...]) -> CallEstimate:
    if overload.estimate is not None:
        estimate = overload.estimate(arguments)
        if estimate is not None:
            return estimate
    return CallEstimate(ONE)
