"""Types of all nodes, and type errors: cel-go checker/checker.go.

The checker sets `type` on nodes and `overloads` on calls, and resolves dotted names. It finds all
errors, not only the first one; error texts are those of cel-go.
"""

from inkube.schemas.cel.checking import validators
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.environment import Environment, named_type
from inkube.schemas.cel.declarations.functions import Overload
from inkube.schemas.cel.declarations.types import BOOL, DYN, ERROR, INT, Kind, Shape, Type
from inkube.schemas.cel.declarations.unify import Bindings, most_general
from inkube.schemas.cel.declarations.values import type_of
from inkube.schemas.cel.language import ast
from inkube.schemas.cel.language.ast import Node
from inkube.schemas.cel.language.source import CompileError, Issue, Source

_LOGICAL = frozenset({"_&&_", "_||_"})


def check(source: Source, root: Node, environment: Environment) -> Type:
    """Annotate the tree and return its type. Raises CompileError with all issues."""
    checker = _Checker(environment)
    try:
        checker.check(root)
    except RecursionError:
        issue = Issue(0, "expression recursion limit exceeded: 250")
        raise CompileError(source, [issue]) from None
    if checker.issues:
        raise CompileError(source, checker.issues)
    checker.settle()
    issues = validators.validate(root)
    if issues:
        raise CompileError(source, issues)
    return root.type


def qualified_name(node: Node) -> str | None:
    """`a.b.c` for a chain of plain selections from a name, else None."""
    fields: list[str] = []
    while isinstance(node, ast.Select) and not node.test_only and not node.optional:
        fields.append(node.field)
        node = node.operand
    if not isinstance(node, ast.Ident):
        return None
    return ".".join([node.name, *reversed(fields)])


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._scopes: list[dict[str, Type]] = []
        self._bindings = Bindings()
        self._typed: list[Node] = []
        self.issues: list[Issue] = []

    def check(self, node: Node) -> Type:
        """Set the node's type and return it."""
        node_type = self._type_of(node)
        node.type = node_type
        self._typed.append(node)
        return node_type

    def settle(self) -> None:
        """Set the final types; type parameters that were not bound become dyn."""
        for node in self._typed:
            node.type = self._bindings.resolve(node.type, to_dyn=True)

    def _type_of(self, node: Node) -> Type:
        match node:
            case ast.Const():
                return type_of(node.value)
            case ast.Ident():
                return self._ident(node)
            case ast.Select():
                return self._select(node)
            case ast.Call():
                return self._call(node)
            case ast.ListNode():
                return self._list(node)
            case ast.MapNode():
                return self._map(node)
            case ast.Fold():
                return self._fold(node)
            case ast.StructNode():
                return self._struct(node)
        raise AssertionError(type(node).__name__)

    def _report(self, node: Node, message: str) -> Type:
        self.issues.append(Issue(node.pos, message))
        return ERROR

    def _mismatch(self, node: Node, expected: Type, actual: Type) -> Type:
        resolved = (self._bindings.resolve(expected), self._bindings.resolve(actual))
        return self._report(node, f"expected type '{resolved[0]}' but found '{resolved[1]}'")

    def _undeclared(self, node: Node, name: str) -> Type:
        return self._report(node, f"undeclared reference to '{name}' (in container '')")

    def _lookup(self, name: str) -> Type | None:
        if not name.startswith("."):
            for scope in reversed(self._scopes):
                if name in scope:
                    return scope[name]
        shape = self._environment.variables.get(name.removeprefix("."))
        return None if shape is None else shape.type

    def _ident(self, node: ast.Ident) -> Type:
        declared = self._lookup(node.name)
        if declared is not None:
            return declared
        node.type_value = named_type(node.name.removeprefix("."))
        if node.type_value is not None:
            return types.type_of(node.type_value)
        return self._undeclared(node, node.name.removeprefix("."))

    def _select(self, node: ast.Select) -> Type:
        name = qualified_name(node)
        if name is not None and self._is_declared(name):
            node.absolute = ast.Ident(node.pos, name)
            return self.check(node.absolute)
        field_type = self._field(node)
        if node.test_only:
            return BOOL
        return self._bindings.resolve(field_type)

    def _is_declared(self, name: str) -> bool:
        return self._lookup(name) is not None or named_type(name.removeprefix(".")) is not None

    def _field(self, node: ast.Select) -> Type:
        operand = self._bindings.resolve(self.check(node.operand))
        was_optional = types.is_optional(operand)
        target = operand.params[0] if was_optional else operand
        field_type = self._field_of(node, target)
        if was_optional or node.optional:
            return field_type if types.is_optional(field_type) else types.optional_of(field_type)
        return field_type

    def _field_of(self, node: ast.Select, target: Type) -> Type:
        match target.kind:
            case Kind.MAP:
                return target.params[1]
            case Kind.OBJECT:
                return self._object_field(node, target)
            case Kind.PARAM:
                self._bindings.assign((DYN,), (target,))
            case Kind.DYN | Kind.ERROR:
                pass
            case _:
                self._report(node, f"type '{target}' does not support field selection")
        return DYN

    def _object_field(self, node: ast.Select, target: Type) -> Type:
        if target.fields is None and self._environment.is_open(target.name):
            return DYN
        if target.fields is None:
            return self._report(node, f"unexpected failed resolution of '{target}'")
        entry = target.fields.find(node.field)
        if entry is None:
            return self._report(node, f"undefined field '{node.field}'")
        return entry.shape.type

    def _call(self, node: ast.Call) -> Type:
        for arg in node.args:
            self.check(arg)
        if node.target is None:
            name = node.function.removeprefix(".")
            return self._resolve_or_report(node, name, is_member=False)
        prefix = qualified_name(node.target)
        if prefix is not None:
            name = f"{prefix}.{node.function}".removeprefix(".")
            if name in self._environment.functions:
                node.function, node.target = name, None
                return self._resolve_or_report(node, name, is_member=False)
        self.check(node.target)
        return self._resolve_or_report(node, node.function, is_member=True)

    def _resolve_or_report(self, node: ast.Call, name: str, is_member: bool) -> Type:
        overloads = self._environment.functions.get(name)
        if overloads is None:
            return self._undeclared(node, name)
        if name in _LOGICAL:
            return self._logical(node)
        result = self._resolve(node, overloads, is_member)
        if result is not None:
            return result
        operands = [self._bindings.resolve(arg.type, to_dyn=True) for arg in node.operands]
        arguments = _arguments(operands, is_member)
        return self._report(
            node, f"found no matching overload for '{name}' applied to '{arguments}'"
        )

    def _logical(self, node: ast.Call) -> Type:
        result = BOOL
        for arg in node.args:
            if not self._bindings.assign((arg.type,), (BOOL,)):
                result = self._mismatch(arg, BOOL, arg.type)
        return result

    def _resolve(
        self, node: ast.Call, overloads: tuple[Overload, ...], is_member: bool
    ) -> Type | None:
        operands = tuple(arg.type for arg in node.operands)
        matching: list[Overload] = []
        result: Type | None = None
        for overload in overloads:
            if overload.receiver is not is_member or len(overload.params) != len(operands):
                continue
            signature = self._instance((overload.result, *overload.params))
            if not self._bindings.assign(operands, signature[1:]):
                continue
            matching.append(overload)
            overload_result = self._bindings.resolve(signature[0])
            if result is None:
                result = overload_result
            elif not result.is_dyn and overload_result != result:
                result = DYN
        node.overloads = tuple(matching)
        return result

    def _instance(self, signature: tuple[Type, ...]) -> tuple[Type, ...]:
        fresh: dict[str, Type] = {}

        def renewed(type: Type) -> Type:
            if type.kind is Kind.PARAM:
                if type.name not in fresh:
                    fresh[type.name] = self._bindings.fresh()
                return fresh[type.name]
            if not type.params:
                return type
            return Type(type.kind, type.name, tuple(map(renewed, type.params)))

        return tuple(map(renewed, signature))

    def _list(self, node: ast.ListNode) -> Type:
        element: Type | None = None
        for position, item in enumerate(node.elements):
            item_type = self.check(item)
            if position in node.optional:
                item_type = self._unwrapped(item, item_type)
            element = self._joined(item, element, item_type)
        return types.list_of(element or self._bindings.fresh())

    def _map(self, node: ast.MapNode) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self._joined(entry.key, key, self.check(entry.key))
            value_type = self.check(entry.value)
            if entry.optional:
                value_type = self._unwrapped(entry.value, value_type)
            value = self._joined(entry.value, value, value_type)
        if key is None or value is None:
            key, value = self._bindings.fresh(), self._bindings.fresh()
        return types.map_of(key, value)

    def _unwrapped(self, node: Node, actual: Type) -> Type:
        if types.is_optional(actual):
            return actual.params[0]
        if not actual.is_dyn:
            self._mismatch(node, types.optional_of(actual), actual)
        return actual

    def _joined(self, node: Node, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self._bindings.assign((previous,), (current,)):
            return most_general(previous, current)
        return DYN

    def _fold(self, node: ast.Fold) -> Type:
        range_type = self._bindings.resolve(self.check(node.range))
        accumulator = self.check(node.init)
        self._scopes.append({node.accumulator: accumulator})
        self._scopes.append(
            dict(zip(node.variables, self._loop_types(node, range_type), strict=False))
        )
        self._require(node.condition, BOOL)
        self._require(node.step, accumulator)
        self._scopes.pop()
        result = self.check(node.result)
        self._scopes.pop()
        return self._bindings.resolve(result)

    def _loop_types(self, node: ast.Fold, range_type: Type) -> tuple[Type, Type]:
        has_two = len(node.variables) == 2
        match range_type.kind:
            case Kind.LIST:
                element = range_type.params[0]
                return (INT, element) if has_two else (element, element)
            case Kind.MAP:
                return range_type.params[0], range_type.params[1]
            case Kind.DYN | Kind.ERROR | Kind.PARAM:
                self._bindings.assign((DYN,), (range_type,))
                return DYN, DYN
        message = (
            f"expression of type '{range_type}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)"
        )
        self._report(node.range, message)
        return ERROR, ERROR

    def _require(self, node: Node, expected: Type) -> None:
        actual = self.check(node)
        if not self._bindings.assign((expected,), (actual,)):
            self._mismatch(node, expected, actual)

    def _struct(self, node: ast.StructNode) -> Type:
        name = node.name.removeprefix(".")
        shape = self._environment.constructed.get(name)
        if shape is None and not self._environment.is_open(name):
            for _, value in node.fields:
                self.check(value)
            return self._undeclared(node, name)
        for field, value in node.fields:
            value_type = self.check(value)
            if shape is not None:
                self._check_field(value, field, shape, value_type)
        return types.object_of(name) if shape is None else shape.type

    def _check_field(self, node: Node, field: str, shape: Shape, actual: Type) -> None:
        entry = shape.fields.find(field)
        if entry is None:
            self._report(node, f"undefined field '{field}'")
        elif not self._bindings.assign((entry.shape.type,), (actual,)):
            expected = f"expected type of field '{field}' is '{entry.shape.type}'"
            self._report(node, f"{expected} but provided type is '{actual}'")


def _arguments(operands: list[Type], is_member: bool) -> str:
    if is_member:
        return f"{operands[0]}.({', '.join(map(str, operands[1:]))})"
    return f"({', '.join(map(str, operands))})"
