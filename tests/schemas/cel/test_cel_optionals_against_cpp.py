"""Every function of optional values, with typed, dynamic, null and absent values, compared with
C++.

Each expression gives the same value in both engines, fails in both, or is refused by both.
`INKUBE_FUZZ=20000 pytest …` compares more of them.
"""

import itertools
import json
import os
import random
import re
from typing import Any

import pytest

from inkube.schemas import cel
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.values import Optional

cpp = pytest.importorskip("cel_expr_python.cel")
ext_optional = pytest.importorskip("cel_expr_python.ext.ext_optional")

COUNT = int(os.environ.get("INKUBE_FUZZ", "2000"))
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
    *(f"optional.ofNonZeroValue({value})" for value in ("s", "''", "null", "x.k", "x.n", "x.e",
    "z")),
    "optional.none()",
    "m[?'k']", "m[?'no']", "m.?k", "m.?no",
    "l[?0]", "l[?7]", "x.l[?0]", "x.l[?1]", "x.l[?7]",
    *(f"{holder}{form}" for holder in ("x", "n") for form in (
        "[?'k']", "[?'n']", "[?'i']", "[?'no']", ".?k", ".?n", ".?i", ".?no", ".?m.k", ".?m.?k",
        "[?'m'].k", "[?'m'][?'k']", "[?'m']['k']", "[?'no'].k", "[?'no'][?'k']", ".?l[?0]",
        ".?l[0]",
        ".?l[?1]", ".?l[?7]",
    )),
    "optional.of(optional.of(s))", "optional.of(x.?k)", "(true ? x.?k : optional.none())",
    "[x.?k, optional.none()][0]", "dyn(m.?k)",
]  # fmt: skip
PLAIN = [
    "null", "s", "''", "1", "x.k", "x.n", "n['k']", "z", "dyn(null)", "dyn(s)", "[s]", "{'k': s}",
]  # fmt: skip
UNARY = [
    "{o}", "{o}.hasValue()", "!{o}.hasValue()", "{o}.value()", "[?{o}]", "[?{o}, s]",
    "[null, ?{o}]",
    "{{?'k': {o}}}", "{{'a': s, ?'k': {o}}}.k", "size({{'a': null, ?'k': {o}}})", "{o} == {o}",
    "{o} == null", "{o} != null", "{o} == optional.none()", "optional.none() == {o}",
    "type({o}.value()) == string", "size({o}.value())", "[{o}.value()] + [s]", "{o}.value() + s",
]  # fmt: skip
BINARY = [
    "{o}.orValue({p})", "{o}.orValue({p}) == {p}", "{o}.orValue({p}) == x.k",
    "x.k == {o}.orValue({p})",
    "{o}.orValue({p}) != n['k']", "{o}.orValue({p}) == s", "{o}.orValue({p}) == x.n",
    "{o}.orValue({p}) in [{p}]", "x.k in [{o}.orValue({p})]", "{o}.orValue({p}) + x.k",
    "[{o}.orValue({p})] == [x.k]", "{{'k': {o}.orValue({p})}} == x.m", "{o}.value() == {p}",
    "{o}.or(optional.of({p}))", "{o}.or(optional.of({p})).value() == x.k",
    "{o} == optional.of({p})",
    "optional.of({p}) == {o}", "{o} != optional.of({p})", "{o}.optMap(v, v)",
    "{o}.optMap(v, v == {p})",
    "{o}.optMap(v, {p}).orValue(x.k) == x.k", "{o}.optFlatMap(v, optional.of({p})) == {o}",
    "{o}.optFlatMap(v, x.?k).orValue({p}) == x.k", "{o}.orValue({p}) < x.k",
    "(x.i == 1 ? {o}.orValue({p}) : {p}) == x.k", "[{o}.orValue({p})].exists(v, v == x.k)",
    "[{o}.orValue({p})].map(v, v) == [x.k]", "[{o}.orValue({p})].filter(v, v == {p})",
    "size({o}.orValue({p}))", "[?{o}] == [{p}]",
    "{{?'k': {o}}} == {{'k': {p}}}", "[?{o}] + [{p}]", "{o}.orValue({p}) == null",
    "type({o}.orValue({p})) == string", "{o}.optMap(v, [v]).orValue([{p}]) == [x.k]",
    "({o}.orValue({p})) ? 1 : 2", "{o}.orValue({p}).startsWith('t')",
]  # fmt: skip


def _environment() -> Any:
    return cpp.NewEnv(variables=THEIRS, extensions=[ext_optional.ExtOptional()])


def _shown(value: Any) -> str:
    """Return a value as the C++ engine prints it."""
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
    except cel.CompileError as refusal:
        return "refused: one type" if "expected type" in str(refusal) else "refused"
    except cel.CelError:
        return "failed"


def _theirs(environment: Any, text: str) -> str:
    try:
        expression = environment.compile(f"[{text}]")
    except RuntimeError as refusal:
        return "refused: dyn" if "but found 'dyn'" in str(refusal) else "refused"
    try:
        found = expression.eval(data=VALUES)
    except RuntimeError:
        return "failed"
    return "failed" if "ERROR" in str(found.type()) else str(found.value())


def _is_explained(ours: str, theirs: str) -> bool:
    """Return whether a difference is expected: Kubernetes requires one type in a literal; cel-go's
    checker accepts `[?dyn(x)]`."""
    return ours == "refused: one type" or theirs == "refused: dyn"


def _expressions() -> list[str]:
    return [
        *(form.format(o=optional) for form, optional in itertools.product(UNARY, OPTIONALS)),
        *(
            form.format(o=optional, p=value)
            for form, optional, value in itertools.product(BINARY, OPTIONALS, PLAIN)
        ),
    ]


def test_optionals_mean_what_they_mean_in_cpp() -> None:
    environment = _environment()
    chosen = random.Random(34).sample(_expressions(), COUNT)
    outcomes = [(text, _ours(text), _theirs(environment, text)) for text in chosen]
    assert sum("refused" not in ours and ours != "failed" for _, ours, _ in outcomes) > COUNT / 2
    unexplained = [
        outcome for outcome in outcomes
        if outcome[1] != outcome[2] and not _is_explained(*outcome[1:])
    ]  # fmt: skip
    assert unexplained == []


ON_SCALARS = {
    "has(x.k.no)": False,
    "has(x.n.no)": False,
    "has(x.?k.no)": False,
    "x.?k.no.hasValue()": False,
    "x.?n[?'no'].hasValue()": False,
    "x.?i[0].hasValue()": False,
    "z.?k.hasValue()": False,
    "size(x[?'k'].orValue([]))": 4,
    "x[?'k'].orValue(1) + x.k": "texttext",
}
"""cel-go interpreter/attributes.go, refQualify: what has no members is asked like what lacks one.

The second group calls functions that cel-go binds once for all overloads.
"""


@pytest.mark.parametrize("text", ON_SCALARS)
def test_presence_is_tested_on_values_without_members_too(text: str) -> None:
    assert cel.compile(text, OURS).evaluate(VALUES) == ON_SCALARS[text]


@pytest.mark.parametrize(
    ("text", "told"),
    {
        "x.k.no": "no such key: no",
        "x.n.no": "no such key: no",
        "x.i[0]": "no such key: 0",
        "x.l.no": "unsupported index type 'string' in list",
        "has(x.l.no)": "unsupported index type 'string' in list",
        "string(x[?'k'].orValue(1))": "no such overload",
    }.items(),
)
def test_errors_of_values_without_members_are_those_of_cel_go(text: str, told: str) -> None:
    with pytest.raises(cel.CelError, match=re.escape(told)):
        cel.compile(text, OURS).evaluate(VALUES)
