"""The syntax tree that the parser returns, with expanded macros.

Nodes are compared by identity. `pos` is the offset for errors. The checker sets `type`;
`runtime_type` is set before an expression is compiled.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any

from inkube.schemas.cel.declarations.functions import Overload
from inkube.schemas.cel.declarations.types import DYN, Type


@dataclass(slots=True, eq=False)
class Node:
    """Any expression. `runtime_type` is the known type of its values at run time."""

    pos: int
    type: Type = attribute(default=DYN, init=False)
    runtime_type: Type = attribute(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Const(Node):
    """A literal: a bool, int, Uint, float, str, bytes or None."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name. The checker sets `type_value` if the name means a type."""

    name: str
    type_value: Type | None = attribute(default=None, init=False)


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.field`; `test_only` inside has(), `optional` for `operand.?field`.

    The checker sets `absolute` if the whole dotted name is a declared name.
    """

    operand: Node
    field: str
    test_only: bool = False
    optional: bool = False
    absolute: Ident | None = attribute(default=None, init=False)


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function or operator; `overloads` are those that the checker found possible."""

    function: str
    args: tuple[Node, ...]
    target: Node | None = None
    overloads: tuple[Overload, ...] = attribute(default=(), init=False)

    @property
    def operands(self) -> tuple[Node, ...]:
        """The arguments, the receiver first."""
        return self.args if self.target is None else (self.target, *self.args)


@dataclass(slots=True, eq=False)
class ListNode(Node):
    """`[a, ?b]`; `optional` has the positions of the optional elements."""

    elements: tuple[Node, ...]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapEntry:
    """One `key: value` of a map literal."""

    pos: int
    key: Node
    value: Node
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapNode(Node):
    """`{a: b, ?c: d}`."""

    entries: tuple[MapEntry, ...]


@dataclass(slots=True, eq=False)
class StructNode(Node):
    """`Name{field: value}`."""

    name: str
    fields: tuple[tuple[str, Node], ...]


@dataclass(slots=True, eq=False)
class Fold(Node):
    """The expansion of a comprehension macro (cel-go's ComprehensionExpr).

    `macro` names the macro for the compiler; `body` and `filter` are the parts of `step` that
    it compiles (`body` alone for all, exists, exists_one, filter).
    """

    macro: str
    range: Node
    variables: tuple[str, ...]
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node
    body: Node
    filter: Node | None = None


def children(node: Node) -> Iterator[Node]:
    """Yield the direct parts of a node."""
    match node:
        case Select():
            yield node.operand
        case Call():
            yield from node.operands
        case ListNode():
            yield from node.elements
        case MapNode():
            for entry in node.entries:
                yield entry.key
                yield entry.value
        case StructNode():
            yield from (value for _, value in node.fields)
        case Fold():
            yield from (node.range, node.init, node.condition, node.step, node.result)
        case _:
            return


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all nodes below it, parents first."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))
