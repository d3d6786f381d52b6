"""Every function of optional values, on typed, dynamic, null and absent values, as C++ has it.

Each expression yields the same in both engines, fails in both, or is refused by both.
"""

import itertools
import json
from typing import Any

import pytest

from inkube.schemas import cel
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.values import Optional

cpp = pytest.importorskip("cel_expr_python.cel")
ext_optional = pytest.importorskip("cel_expr_python.ext.ext_optional")

VALUES: dict[str, Any] = {
    "s": "text",
    "m": {"k": "text"},
    "l": ["text"],
    "x": {"k": "text", "n": None, "i": 1, "l": ["text", None], "m": {"k": "text"}, "e": ""},
    "n": {"k": "text", "n": None, "i": 1, "l": ["text", None], "m": {"k": "text"}, "e": ""},
    "z": None,
}
OURS = {
    "s": types.STRING,
    "m": types.map_of(types.STRING, types.STRING),
    "l": types.LIST_STRING,
    "x": types.DYN,
    "n": types.map_of(types.STRING, types.DYN),
    "z": types.DYN,
}
THEIRS = {
    "s": cpp.Type.STRING,
    "m": cpp.Type.Map(cpp.Type.STRING, cpp.Type.STRING),
    "l": cpp.Type.List(cpp.Type.STRING),
    "x": cpp.Type.DYN,
    "n": cpp.Type.Map(cpp.Type.STRING, cpp.Type.DYN),
    "z": cpp.Type.DYN,
}
OPTIONALS = [
    *(f"optional.of({value})" for value in ("s", "null", "x.k", "x.n", "z", "1", "dyn(s)")),
    *(f"optional.ofNonZeroValue({value})" for value in ("s", "''", "null", "x.k", "x.n", "x.e", "z")),
    "optional.none()",
    "m[?'k']", "m[?'no']", "m.?k", "m.?no",
    "l[?0]", "l[?7]", "x.l[?0]", "x.l[?1]", "x.l[?7]",
    *(f"{holder}{form}" for holder in ("x", "n") for form in (
        "[?'k']", "[?'n']", "[?'i']", "[?'no']", ".?k", ".?n", ".?i", ".?no", ".?m.k", ".?m.?k",
        "[?'m'].k", "[?'m'][?'k']", "[?'m']['k']", "[?'no'].k", "[?'no'][?'k']", ".?l[?0]", ".?l[0]",
        ".?l[?1]", ".?l[?7]", ".?k.no", ".?n.no", ".?n[?'no']",
    )),
    "z.?k", "z[?'k']",
    "optional.of(optional.of(s))", "optional.of(x.?k)", "(true ? x.?k : optional.none())",
    "[x.?k, optional.none()][0]", "dyn(m.?k)",
]  # fmt: skip
PLAIN = ["null", "s", "''", "1", "x.k", "x.n", "n['k']", "z", "dyn(null)", "dyn(s)", "[s]", "{'k': s}"]
UNARY = [
    "{o}", "{o}.hasValue()", "!{o}.hasValue()", "{o}.value()", "[?{o}]", "[?{o}, s]", "[null, ?{o}]",
    "{{?'k': {o}}}", "{{'a': s, ?'k': {o}}}", "{{'a': null, ?'k': {o}}}", "has({o}.k)", "{o} == {o}",
    "{o} == null", "{o} != null", "{o} == optional.none()", "optional.none() == {o}",
    "type({o}.value())", "size({o}.value())", "[{o}.value()] + [s]", "{o}.value() + s",
]  # fmt: skip
BINARY = [
    "{o}.orValue({p})", "{o}.orValue({p}) == {p}", "{o}.orValue({p}) == x.k", "x.k == {o}.orValue({p})",
    "{o}.orValue({p}) != n['k']", "{o}.orValue({p}) == s", "{o}.orValue({p}) == x.n",
    "{o}.orValue({p}) in [{p}]", "x.k in [{o}.orValue({p})]", "{o}.orValue({p}) + x.k",
    "[{o}.orValue({p})] == [x.k]", "{{'k': {o}.orValue({p})}} == x.m", "{o}.value() == {p}",
    "{o}.or(optional.of({p}))", "{o}.or(optional.of({p})).value() == x.k", "{o} == optional.of({p})",
    "optional.of({p}) == {o}", "{o} != optional.of({p})", "{o}.optMap(v, v)", "{o}.optMap(v, v == {p})",
    "{o}.optMap(v, {p}).orValue(x.k) == x.k", "{o}.optFlatMap(v, optional.of({p})) == {o}",
    "{o}.optFlatMap(v, x.?k).orValue({p}) == x.k", "{o}.orValue({p}) < x.k",
    "(x.i == 1 ? {o}.orValue({p}) : {p}) == x.k", "[{o}.orValue({p})].exists(v, v == x.k)",
    "[{o}.orValue({p})].map(v, v) == [x.k]", "[{o}.orValue({p})].filter(v, v == {p})",
    "size({o}.orValue({p}))", "string({o}.orValue({p})) == 'text'", "[?{o}] == [{p}]",
    "{{?'k': {o}}} == {{'k': {p}}}", "[?{o}] + [{p}]", "{o}.orValue({p}) == null",
    "type({o}.orValue({p})) == string", "{o}.optMap(v, [v]).orValue([{p}]) == [x.k]",
    "({o}.orValue({p})) ? 1 : 2", "{o}.orValue({p}).startsWith('t')", "{o}.orValue({p})[0] == 't'",
]  # fmt: skip


def _environment() -> Any:
    return cpp.NewEnv(variables=THEIRS, extensions=[ext_optional.ExtOptional()])


def _shown(value: Any) -> str:
    """A value as the C++ engine prints it."""
    if isinstance(value, Optional):
        return f"optional.of({_shown(value.value)})" if value.present else "optional.none()"
    if isinstance(value, types.Type):
        return value.name
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_shown(key)}: {_shown(value[key])}' for key in sorted(value))}}}"
    return json.dumps(value)


def _ours(text: str) -> str:
    try:
        return _shown(cel.compile(f"[{text}]", OURS).evaluate(VALUES))
    except cel.CompileError:
        return "refused"
    except cel.CelError:
        return "failed"


def _theirs(environment: Any, text: str) -> str:
    try:
        expression = environment.compile(f"[{text}]")
    except RuntimeError:
        return "refused"
    try:
        found = expression.eval(data=VALUES)
    except RuntimeError:
        return "failed"
    return "failed" if "ERROR" in str(found.type()) else str(found.value())


def _expressions() -> list[str]:
    return [
        *(form.format(o=optional) for form, optional in itertools.product(UNARY, OPTIONALS)),
        *(
            form.format(o=optional, p=value)
            for form, optional, value in itertools.product(BINARY, OPTIONALS, PLAIN)
        ),
    ]
