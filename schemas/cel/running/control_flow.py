"""Logic, conditionals and comprehensions, as Python statements.

`&&` and `||` absorb errors: a term that fails is remembered and raised only if no other decides.
`c` is the cost so far, `limit` its bound, checked in every turn of a loop and at the end.
"""

from inkube.schemas.cel.declarations.types import Kind, Shape
from inkube.schemas.cel.language.ast import Call, Fold, Node
from inkube.schemas.cel.running import compiler, operators
from inkube.schemas.cel.running.writer import Code, Variable, Writer

_CHECK = "if c > limit: raise exceeded()"


def branches(w: Writer, node: Node) -> Code:
    """`&&`, `||`, `?:`, and `or` and `orValue` of an optional."""
    assert isinstance(node, Call)
    if node.function == "_?_:_":
        return _conditional(w, node)
    if node.target is not None:
        return _alternative(w, node, node.target)
    return _logical(w, node)


def _alternative(w: Writer, node: Call, target: Node) -> Code:
    """`o.or(p)` and `o.orValue(v)`: the argument is only computed where it is needed."""
    optional = w.hold(compiler.value(w, target))
    result = w.temporary()
    if target.type.kind is not Kind.OPAQUE:
        w.line(f"{w.constant(operators.optional)}({optional.text})")
    with w.level():
        with w.nested(f"if {optional.text}.present:"):
            kept = optional.text if node.function == "or" else f"{optional.text}.value"
            w.line(f"{result} = {kept}")
        with w.block("else:"):
            w.line(f"{result} = {compiler.value(w, node.args[0]).text}")
    return Code(result)


def _boolean(w: Writer, node: Node) -> Code:
    code = compiler.value(w, node)
    if node.type.kind is Kind.BOOL:
        return code
    return Code(f"{w.constant(operators.boolean)}({code.text})", True)


def _conditional(w: Writer, node: Call) -> Code:
    condition = _boolean(w, node.args[0])
    result = w.temporary()
    with w.level():
        for head, part in (f"if {condition.text}:", node.args[1]), ("else:", node.args[2]):
            with w.block(head):
                w.line(f"{result} = {compiler.value(w, part).text}")
    return Code(result)


def _logical(w: Writer, node: Call) -> Code:
    """A loop left by the first term that decides."""
    result, error = w.temporary(), w.temporary()
    leave = f"if {result}: break" if node.function == "_||_" else f"if not {result}: break"
    w.line(f"{error} = None")
    with w.level(), w.nested("while True:"):
        may_fail = False
        for term in node.args[:-1]:
            may_fail = _term(w, term, (result, error, leave)) or may_fail
        _last_term(w, node.args[-1], (result, error, leave), may_fail)
        w.line("break")
    return Code(result)


def _term(w: Writer, node: Node, names: tuple[str, str, str]) -> bool:
    """One term in front of others; whether it may fail."""
    result, error, leave = names
    with w.payment():
        with w.nested("try:"):
            w.line(f"{result} = {_boolean(w, node).text}")
            w.line(leave)
        with w.nested("except errors as x:"):
            w.line(f"{error} = {error} or x")
    return True


def _last_term(w: Writer, node: Node, names: tuple[str, str, str], may_fail: bool) -> None:
    result, error, leave = names
    with w.payment():
        if not may_fail:
            w.line(f"{result} = {_boolean(w, node).text}")
            return
        with w.nested("try:"):
            w.line(f"{result} = {_boolean(w, node).text}")
        with w.nested("except errors as x:"):
            w.line(f"raise {error} or x from None")
        w.line(leave)
        w.line(f"if {error} is not None: raise {error}")


def comprehension(w: Writer, node: Node) -> Code:
    """A macro over a list, a map or, for optMap, over nothing."""
    assert isinstance(node, Fold)
    if node.macro == "bind":
        return _binding(w, node)
    source = w.bounded(compiler.raw(w, node.range))
    outer = w.scope
    w.scope = dict(outer)
    head = _loop_head(w, node, source)
    with w.level():
        result = _MACROS[node.macro](w, node, head)
    w.scope = outer
    w.pay(1)
    return Code(result)


def _binding(w: Writer, node: Fold) -> Code:
    bound = w.hold(compiler.value(w, node.init))
    outer = w.scope
    w.scope = {**outer, node.accumulator: Variable(bound.text, None)}
    result = w.hold(compiler.value(w, node.result))
    w.scope = outer
    return result


def _loop_head(w: Writer, node: Fold, source: Code) -> str:
    """`for …:`, with the variables in scope."""
    kind = node.range.type.kind
    shape = source.shape
    element = shape.element if shape is not None else None
    if kind not in (Kind.LIST, Kind.MAP):
        source, element = compiler.adapted(w, source), None
    names = [w.temporary() for _ in node.variables]
    shapes = _shapes(node, element)
    for name, variable, known in zip(names, node.variables, shapes, strict=True):
        w.scope[variable] = Variable(name, known)
    return f"for {', '.join(names)} in {_sequence(w, node, source.text)}:"


def _shapes(node: Fold, element: Shape | None) -> list[Shape | None]:
    if len(node.variables) == 2:
        return [None, element]
    return [element if node.range.type.kind is Kind.LIST else None]


def _sequence(w: Writer, node: Fold, source: str) -> str:
    kind = node.range.type.kind
    if len(node.variables) == 1:
        return (
            source
            if kind in (Kind.LIST, Kind.MAP)
            else f"{w.constant(operators.iterate)}({source})"
        )
    if kind is Kind.LIST:
        return f"enumerate({source})"
    return f"{source}.items()" if kind is Kind.MAP else f"{w.constant(operators.pairs)}({source})"


def _quantified(w: Writer, node: Fold, head: str) -> str:
    """all and exists: a turn costs the condition, the accumulator and the body."""
    is_all = node.macro == "all"
    result, error = w.temporary(), w.temporary()
    w.line(f"{error} = None")
    with w.block(head):
        w.pay(3 if is_all else 4)
        w.line(_CHECK)
        with w.nested("try:"):
            body = _boolean(w, node.body)
            with w.nested(f"if {'not ' if is_all else ''}{body.text}:"):
                w.line(f"{result} = {not is_all}")
                w.line(f"c += {2 if is_all else 3}")
                w.line("break")
        with w.nested("except errors as x:"):
            w.line(f"{error} = {error} or x")
    with w.nested("else:"):
        w.line(f"if {error} is not None: raise {error}")
        w.line(f"{result} = {is_all}")
    return result


def _counted(w: Writer, node: Fold, head: str) -> str:
    """exists_one."""
    result, count = w.temporary(), w.temporary()
    w.line(f"{count} = 0")
    with w.block(head):
        w.pay(1)
        w.line(_CHECK)
        body = _boolean(w, node.body)
        with w.block(f"if {body.text}:"):
            w.pay(1)
            w.line(f"{count} += 1")
    w.pay(1)
    w.line(f"{result} = {count} == 1")
    return result


def _filtered(w: Writer, node: Fold, head: str) -> str:
    result = w.temporary()
    w.line(f"{result} = []")
    variable = w.scope[node.variables[0]]
    with w.block(head):
        w.pay(1)
        w.line(_CHECK)
        body = _boolean(w, node.body)
        with w.block(f"if {body.text}:"):
            w.pay(12)
            kept = compiler.adapted(w, Code(variable.name, False, variable.shape))
            w.line(f"{result}.append({kept.text})")
    return result


def _mapped(w: Writer, node: Fold, head: str) -> str:
    """map and transformList: a turn costs the accumulator, a list of one, and joining them."""
    result = w.temporary()
    w.line(f"{result} = []")
    with w.block(head):
        w.line(_CHECK)
        if node.filter is None:
            _append(w, node, result)
        else:
            condition = _boolean(w, node.filter)
            with w.block(f"if {condition.text}:"):
                _append(w, node, result)
            with w.block("else:"):
                w.pay(1)
    return result


def _append(w: Writer, node: Fold, result: str) -> None:
    w.pay(2 + compiler.LIST_COST)
    w.line(f"{result}.append({compiler.value(w, node.body).text})")


def _transformed(w: Writer, node: Fold, head: str) -> str:
    """transformMap and transformMapEntry."""
    result = w.temporary()
    w.line(f"{result} = {{}}")
    with w.block(head):
        w.line(_CHECK)
        if node.filter is None:
            _insert(w, node, result)
        else:
            condition = _boolean(w, node.filter)
            with w.block(f"if {condition.text}:"):
                _insert(w, node, result)
            with w.block("else:"):
                w.pay(1)
    return result


def _insert(w: Writer, node: Fold, result: str) -> None:
    body = compiler.value(w, node.body)
    if node.macro == "transformMapEntry":
        w.pay(2)
        w.line(f"{w.constant(_insert_all)}({result}, {body.text})")
        return
    w.pay(3)
    key = w.scope[node.variables[0]].name
    w.line(f"{w.constant(compiler.insert)}({result}, {key}, {body.text})")


def _insert_all(mapping: dict[object, object], entries: dict[object, object]) -> None:
    for key, found in entries.items():
        compiler.insert(mapping, key, found)


_MACROS = {
    "all": _quantified,
    "exists": _quantified,
    "exists_one": _counted,
    "filter": _filtered,
    "map": _mapped,
    "transformList": _mapped,
    "transformMap": _transformed,
    "transformMapEntry": _transformed,
}


def outlined(w: Writer, node: Node) -> Code:
    """The node as a function of its own, called with the cost so far and everything in scope."""
    scope = {
        name: Variable(f"v{place}", variable.shape)
        for place, (name, variable) in enumerate(w.scope.items())
    }
    inner = Writer(w.module, scope)
    name = f"f{len(w.module.functions)}"
    w.module.functions.append("")
    with inner.payment():
        result = compiler.value(inner, node)
    names = [variable.name for variable in scope.values()]
    w.module.functions[int(name[1:])] = function_text(name, names, inner, result)
    found = w.temporary()
    args = ", ".join(["c", "limit", *(variable.name for variable in w.scope.values())])
    with w.nested("try:"):
        w.line(f"{found}, c = {name}({args})")
    with w.nested("except EvalError as x:"):
        w.line("c = x.cost")
        w.line("raise")
    return Code(found)


def function_text(name: str, variables: list[str], body: Writer, result: Code) -> str:
    """A function that yields the value and the cost so far; its errors carry the cost."""
    lines = [
        f"def {name}({', '.join(['c', 'limit', *variables])}):",
        "    try:",
        body.text(),
        f"        r = {result.text}",
        "    except errors as x:",
        "        raise failed(x, c) from None",
        f"    {_CHECK}",
        "    return r, c",
    ]
    return "\n".join(line for line in lines if line)
