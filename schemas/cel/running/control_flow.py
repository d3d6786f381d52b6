"""Logic, conditionals and comprehensions, as Python statements.

`&&` and `||` absorb errors: the error of a term is raised only if no other term decides.
`c` is the cost so far, `limit` its bound, checked in every turn of a loop and at the end.
"""

from inkube.schemas.cel.declarations.types import Kind, Shape
from inkube.schemas.cel.language.ast import Call, Fold, Node
from inkube.schemas.cel.running import operators
from inkube.schemas.cel.running.writer import Code, FunctionWriter, Variable

LIST_COST = 10
_CHECK = "if c > limit: raise exceeded()"


def branches(w: FunctionWriter, node: Node) -> Code:
    """`&&`, `||`, `?:`, and `or` and `orValue` of an optional."""
    assert isinstance(node, Call)
    if node.function == "_?_:_":
        return _conditional(w, node)
    if node.target is not None:
        return _alternative(w, node, node.target)
    return _logical(w, node)


def _alternative(w: FunctionWriter, node: Call, target: Node) -> Code:
    """`o.or(p)` and `o.orValue(v)`: the argument is computed only if it is needed."""
    optional = w.hold(w.value(target))
    result = w.temporary()
    held = optional
    if target.runtime_type.kind is not Kind.OPAQUE:
        held = w.hold(Code(f"{w.constant(operators.optional)}({optional.text})"))
    with w.level():
        with w.nested(f"if {held.text}.present:"):
            present = optional.text if node.function == "or" else f"{held.text}.value"
            w.line(f"{result} = {present}")
        with w.block("else:"):
            w.line(f"{result} = {w.value(node.args[0]).text}")
    return Code(result)


def _boolean(w: FunctionWriter, node: Node) -> Code:
    code = w.value(node)
    if node.runtime_type.kind is Kind.BOOL:
        return code
    return Code(f"{w.constant(operators.boolean)}({code.text})", True)


def _conditional(w: FunctionWriter, node: Call) -> Code:
    condition = _boolean(w, node.args[0])
    result = w.temporary()
    with w.level():
        for head, part in (f"if {condition.text}:", node.args[1]), ("else:", node.args[2]):
            with w.block(head):
                w.line(f"{result} = {w.value(part).text}")
    return Code(result)


def _logical(w: FunctionWriter, node: Call) -> Code:
    """Return the code of a loop that ends at the first term that decides."""
    result, error = w.temporary(), w.temporary()
    leave = f"if {result}: break" if node.function == "_||_" else f"if not {result}: break"
    w.line(f"{error} = None")
    with w.level(), w.nested("while True:"):
        for term in node.args[:-1]:
            with w.payment():
                with w.nested("try:"):
                    w.line(f"{result} = {_boolean(w, term).text}")
                    w.line(leave)
                with w.nested("except errors as x:"):
                    w.line(f"{error} = {error} or x")
        with w.payment():
            with w.nested("try:"):
                w.line(f"{result} = {_boolean(w, node.args[-1]).text}")
            with w.nested("except errors as x:"):
                w.line(f"raise {error} or x from None")
            w.line(leave)
            w.line(f"if {error} is not None: raise {error}")
        w.line("break")
    return Code(result)


def comprehension(w: FunctionWriter, node: Node) -> Code:
    """Return the code of a macro over a list or a map; for optMap, without a range."""
    assert isinstance(node, Fold)
    if node.macro == "bind":
        return _binding(w, node)
    source = w.bounded(w.raw(node.range))
    outer = w.scope
    w.scope = dict(outer)
    head = _loop_head(w, node, source)
    with w.level():
        result = _MACROS[node.macro](w, node, head)
    w.scope = outer
    w.pay(1)
    return Code(result)


def _binding(w: FunctionWriter, node: Fold) -> Code:
    bound = w.hold(w.value(node.init))
    outer = w.scope
    w.scope = {**outer, node.accumulator: Variable(bound.text, None)}
    result = w.hold(w.value(node.result))
    w.scope = outer
    return result


def _loop_head(w: FunctionWriter, node: Fold, source: Code) -> str:
    """Return `for …:`, and add its variables to the scope."""
    kind = node.range.runtime_type.kind
    shape = source.shape
    element = shape.element if shape is not None else None
    if kind not in (Kind.LIST, Kind.MAP):
        source, element = w.adapted(source), None
    names = [w.temporary() for _ in node.variables]
    shapes = _shapes(node, element)
    for name, variable, variable_shape in zip(names, node.variables, shapes, strict=True):
        w.scope[variable] = Variable(name, variable_shape)
    return f"for {', '.join(names)} in {_sequence(w, node, source.text)}:"


def _shapes(node: Fold, element: Shape | None) -> list[Shape | None]:
    if len(node.variables) == 2:
        return [None, element]
    return [element if node.range.runtime_type.kind is Kind.LIST else None]


def _sequence(w: FunctionWriter, node: Fold, source: str) -> str:
    kind = node.range.runtime_type.kind
    if len(node.variables) == 1:
        return (
            source
            if kind in (Kind.LIST, Kind.MAP)
            else f"{w.constant(operators.iterate)}({source})"
        )
    if kind is Kind.LIST:
        return f"enumerate({source})"
    return f"{source}.items()" if kind is Kind.MAP else f"{w.constant(operators.pairs)}({source})"


def _quantified(w: FunctionWriter, node: Fold, head: str) -> str:
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


def _counted(w: FunctionWriter, node: Fold, head: str) -> str:
    """Compile `exists_one`, which counts the matching items."""
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


def _filtered(w: FunctionWriter, node: Fold, head: str) -> str:
    result = w.temporary()
    w.line(f"{result} = []")
    variable = w.scope[node.variables[0]]
    with w.block(head):
        w.pay(1)
        w.line(_CHECK)
        body = _boolean(w, node.body)
        with w.block(f"if {body.text}:"):
            w.pay(12)
            element = w.adapted(Code(variable.name, False, variable.shape))
            w.line(f"{result}.append({element.text})")
    return result


def _collected(w: FunctionWriter, node: Fold, head: str) -> str:
    """map, transformList, transformMap, transformMapEntry: collect the results of the turns."""
    add, empty = _GATHERED[node.macro]
    result = w.temporary()
    w.line(f"{result} = {empty}")
    with w.block(head):
        w.line(_CHECK)
        if node.filter is None:
            add(w, node, result)
        else:
            condition = _boolean(w, node.filter)
            with w.block(f"if {condition.text}:"):
                add(w, node, result)
            with w.block("else:"):
                w.pay(1)
    return result


def _append(w: FunctionWriter, node: Fold, result: str) -> None:
    """A turn costs the accumulator, a list of one, and joining them."""
    w.pay(2 + LIST_COST)
    w.line(f"{result}.append({w.value(node.body).text})")


def _insert(w: FunctionWriter, node: Fold, result: str) -> None:
    body = w.value(node.body)
    w.pay(3)
    key = w.scope[node.variables[0]].name
    w.line(f"{w.constant(operators.insert)}({result}, {key}, {body.text})")


def _insert_entries(w: FunctionWriter, node: Fold, result: str) -> None:
    body = w.value(node.body)
    w.pay(2)
    w.line(f"{w.constant(_insert_all)}({result}, {body.text})")


def _insert_all(mapping: dict[object, object], entries: dict[object, object]) -> None:
    for key, value in entries.items():
        operators.insert(mapping, key, value)


_GATHERED = {
    "map": (_append, "[]"),
    "transformList": (_append, "[]"),
    "transformMap": (_insert, "{}"),
    "transformMapEntry": (_insert_entries, "{}"),
}
_MACROS = {
    "all": _quantified,
    "exists": _quantified,
    "exists_one": _counted,
    "filter": _filtered,
    **dict.fromkeys(_GATHERED, _collected),
}


def outlined(w: FunctionWriter, node: Node) -> Code:
    """Return the node as a separate function, called with the cost so far and all variables."""
    scope = {
        name: variable._replace(name=f"v{place}")
        for place, (name, variable) in enumerate(w.scope.items())
    }
    inner = FunctionWriter(w.module, scope, w.translate)
    name = f"f{len(w.module.functions)}"
    w.module.functions.append("")
    with inner.payment():
        result = inner.value(node)
    names = [variable.name for variable in scope.values()]
    w.module.functions[int(name[1:])] = function_text(name, names, inner, result)
    target = w.temporary()
    args = ", ".join(["c", "limit", *(variable.name for variable in w.scope.values())])
    with w.nested("try:"):
        w.line(f"{target}, c = {name}({args})")
    with w.nested("except EvalError as x:"):
        w.line("c = x.cost")
        w.line("raise")
    return Code(target)


def function_text(
    name: str, variables: list[str], body: FunctionWriter, result: Code, *, is_outer: bool = False
) -> str:
    """Return a function that returns the value and the cost so far; its errors have the cost.

    The outer function also turns exceptions that are no errors of CEL into errors, as cel-go
    recovers from a panic (cel/program.go `Eval`).
    """
    recovery = ["    except exceeded: raise", "    except Exception as x: raise recovered(x, c)"]
    lines = [
        f"def {name}({', '.join(['c', 'limit', *variables])}):",
        "    try:",
        body.text(),
        f"        r = {result.text}",
        "    except errors as x:",
        "        raise failed(x, c) from None",
        *(recovery if is_outer else ()),
        f"    {_CHECK}",
        "    return r, c",
    ]
    return "\n".join(line for line in lines if line)
