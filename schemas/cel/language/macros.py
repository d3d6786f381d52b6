"""Macros: calls that are replaced during parsing.

See cel-go parser/macro.go, ext/comprehensions.go and cel/library.go (optMap, optFlatMap).
An expansion is a tree, or an Issue for a wrong use of the macro. A call with another number of
arguments than the macro is an ordinary call.
"""

from collections.abc import Callable

from inkube.schemas.cel.language.ast import (
    Call,
    Const,
    Fold,
    Ident,
    ListNode,
    MapNode,
    Node,
    Select,
    StructNode,
)
from inkube.schemas.cel.language.source import Issue

_ACCUMULATOR = "@result"
_LEGACY_ACCUMULATOR = "__result__"
_UNUSED = "#unused"

_Args = tuple[Node, ...]
_Expander = Callable[[int, _Args, Node], Node | Issue]


def expand(
    pos: int, name: str, args: _Args, target: Node | None, *, binds: bool = False
) -> Node | Issue | None:
    """Return the expansion of a call at `pos`, None if it is not a macro.

    `cel.bind` is a macro only if `binds`.
    """
    if target is None:
        return _has(pos, args[0]) if name == "has" and len(args) == 1 else None
    if binds and (name, len(args)) == ("bind", 3) and _is_cel(target):
        return _bind(pos, args)
    expander = _MACROS.get((name, len(args)))
    return expander(pos, args, target) if expander else None


def _is_cel(node: Node) -> bool:
    return isinstance(node, Ident) and node.name == "cel"


def _bind(pos: int, args: _Args) -> Node | Issue:
    """ext/bindings.go: `cel.bind(name, value, expression)`."""
    variable, value, result = args
    if not isinstance(variable, Ident):
        return Issue(variable.pos, "cel.bind() variable names must be simple identifiers")
    return Fold(
        pos, "bind", ListNode(pos, ()), (_UNUSED,), variable.name,
        init=value,
        condition=Const(pos, False),
        step=Ident(pos, variable.name),
        result=result,
        body=result,
    )  # fmt: skip


class _WrongUse(Exception):
    def __init__(self, pos: int, message: str) -> None:
        self.issue = Issue(pos, message)


def _has(pos: int, arg: Node) -> Node | Issue:
    if isinstance(arg, Select) and not arg.optional and not arg.test_only:
        return Select(pos, arg.operand, arg.field, test_only=True)
    return Issue(arg.pos, "invalid argument to has() macro")


def _name(arg: Node, message: str) -> str:
    if not isinstance(arg, Ident):
        raise _WrongUse(arg.pos, message)
    if arg.name in (_ACCUMULATOR, _LEGACY_ACCUMULATOR):
        raise _WrongUse(arg.pos, "iteration variable overwrites accumulator variable")
    return arg.name


def _names(args: _Args, count: int, message: str) -> tuple[str, ...]:
    names = tuple(_name(arg, message) for arg in args[:count])
    if count == 2 and names[0] == names[1]:
        raise _WrongUse(args[1].pos, f"duplicate variable name: {names[0]}")
    return names


def _accumulator(pos: int) -> Node:
    return Ident(pos, _ACCUMULATOR)


def _true(pos: int) -> Node:
    return Const(pos, True)


def _quantifier(macro: str, count: int) -> _Expander:

    def expand(pos: int, args: _Args, target: Node) -> Node:
        names = _names(args, count, "argument must be a simple name")
        accumulator, body = _accumulator(pos), args[count]
        is_all = macro == "all"
        continue_condition = accumulator if is_all else Call(pos, "!_", (accumulator,))
        return Fold(
            pos, macro, target, names, _ACCUMULATOR,
            init=Const(pos, is_all),
            condition=Call(pos, "@not_strictly_false", (continue_condition,)),
            step=Call(pos, "_&&_" if is_all else "_||_", (_accumulator(pos), body)),
            result=_accumulator(pos),
            body=body,
        )  # fmt: skip

    return expand


def _exists_one(count: int) -> _Expander:
    def expand(pos: int, args: _Args, target: Node) -> Node:
        names = _names(args, count, "argument must be a simple name")
        more = Call(pos, "_+_", (_accumulator(pos), Const(pos, 1)))
        return Fold(
            pos, "exists_one", target, names, _ACCUMULATOR,
            init=Const(pos, 0),
            condition=_true(pos),
            step=Call(pos, "_?_:_", (args[count], more, _accumulator(pos))),
            result=Call(pos, "_==_", (_accumulator(pos), Const(pos, 1))),
            body=args[count],
        )  # fmt: skip

    return expand


def _transform(macro: str, count: int, filtered: bool, message: str) -> _Expander:
    """map, transformList, transformMap, transformMapEntry: collect into a list or a map."""

    def expand(pos: int, args: _Args, target: Node) -> Node:
        names = _names(args, count, message)
        body = args[-1]
        step = _collecting(macro, pos, names, body)
        condition = args[count] if filtered else None
        if condition is not None:
            step = Call(pos, "_?_:_", (condition, step, _accumulator(pos)))
        is_list = macro in ("map", "transformList")
        return Fold(
            pos, macro, target, names, _ACCUMULATOR,
            init=ListNode(pos, ()) if is_list else MapNode(pos, ()),
            condition=_true(pos),
            step=step,
            result=_accumulator(pos),
            body=body,
            filter=condition,
        )  # fmt: skip

    return expand


def _collecting(macro: str, pos: int, names: tuple[str, ...], body: Node) -> Node:
    if macro == "transformMap":
        return Call(pos, "cel.@mapInsert", (_accumulator(pos), Ident(pos, names[0]), body))
    if macro == "transformMapEntry":
        return Call(pos, "cel.@mapInsert", (_accumulator(pos), body))
    return Call(pos, "_+_", (_accumulator(pos), ListNode(pos, (body,))))


def _filter(pos: int, args: _Args, target: Node) -> Node:
    names = _names(args, 1, "argument is not an identifier")
    element = ListNode(pos, (args[0],))
    more = Call(pos, "_+_", (_accumulator(pos), element))
    return Fold(
        pos, "filter", target, names, _ACCUMULATOR,
        init=ListNode(pos, ()),
        condition=_true(pos),
        step=Call(pos, "_?_:_", (args[1], more, _accumulator(pos))),
        result=_accumulator(pos),
        body=args[1],
    )  # fmt: skip


def _optional(macro: str) -> _Expander:
    """optMap and optFlatMap: bind the value of an optional that has one."""

    def expand(pos: int, args: _Args, target: Node) -> Node | Issue:
        if not isinstance(args[0], Ident):
            return Issue(args[0].pos, f"{macro}() variable name must be a simple identifier")
        bound: Node = Fold(
            pos, "bind", ListNode(pos, ()), (_UNUSED,), args[0].name,
            init=Call(pos, "value", (), target),
            condition=Const(pos, False),
            step=Ident(pos, args[0].name),
            result=args[1],
            body=args[1],
        )  # fmt: skip
        if macro == "optMap":
            bound = Call(pos, "optional.of", (bound,))
        return Call(
            pos, "_?_:_", (Call(pos, "hasValue", (), target), bound, Call(pos, "optional.none", ()))
        )

    return expand


def _sort_by(pos: int, args: _Args, target: Node) -> Node | Issue:
    """ext/lists.go: first maps the keys, with the target evaluated one time."""
    name = "@__sortBy_input__"
    if isinstance(target, Const | MapNode | StructNode):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select"
        return Issue(target.pos, f"{message} expression")
    mapping = _transform("map", 1, False, "argument is not an identifier")
    keys = mapping(pos, args, Ident(pos, name))
    assert isinstance(keys, Fold)
    return Fold(
        pos, "bind", ListNode(pos, ()), (_UNUSED,), name,
        init=target,
        condition=Const(pos, False),
        step=Ident(pos, name),
        result=(ordered := Call(pos, "@sortByAssociatedKeys", (keys,), Ident(pos, name))),
        body=ordered,
    )  # fmt: skip


def _checked(expander: _Expander) -> _Expander:
    def expand(pos: int, args: _Args, target: Node) -> Node | Issue:
        try:
            return expander(pos, args, target)
        except _WrongUse as wrong:
            return wrong.issue

    return expand


_SIMPLE = "argument must be a simple name"
_MACROS: dict[tuple[str, int], _Expander] = {
    key: _checked(expander)
    for key, expander in {
        ("all", 2): _quantifier("all", 1),
        ("all", 3): _quantifier("all", 2),
        ("exists", 2): _quantifier("exists", 1),
        ("exists", 3): _quantifier("exists", 2),
        ("exists_one", 2): _exists_one(1),
        ("existsOne", 2): _exists_one(1),
        ("exists_one", 3): _exists_one(2),
        ("existsOne", 3): _exists_one(2),
        ("map", 2): _transform("map", 1, False, "argument is not an identifier"),
        ("map", 3): _transform("map", 1, True, "argument is not an identifier"),
        ("filter", 2): _filter,
        ("transformList", 3): _transform("transformList", 2, False, _SIMPLE),
        ("transformList", 4): _transform("transformList", 2, True, _SIMPLE),
        ("transformMap", 3): _transform("transformMap", 2, False, _SIMPLE),
        ("transformMap", 4): _transform("transformMap", 2, True, _SIMPLE),
        ("transformMapEntry", 3): _transform("transformMapEntry", 2, False, _SIMPLE),
        ("transformMapEntry", 4): _transform("transformMapEntry", 2, True, _SIMPLE),
        ("sortBy", 2): _sort_by,
        ("optMap", 2): _optional("optMap"),
        ("optFlatMap", 2): _optional("optFlatMap"),
    }.items()
}
