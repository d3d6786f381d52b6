"""Texts of compile errors, equal to those of cel-go."""

import pytest

from inkube.schemas import cel
from inkube.schemas.cel.declarations import types

EXPRESSION = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT,"
    " STRING, BYTES, IDENTIFIER}"
)
SYNTAX: dict[str, list[tuple[int, str]]] = {
    "self.n >": [(9, f"mismatched input '<EOF>' expecting {EXPRESSION}")],
    "self.n > 0 &&& true": [(14, "token recognition error at: '& '")],
    "(self.n > 0": [(12, "missing ')' at '<EOF>'")],
    "self.n = 1": [
        (8, "token recognition error at: '= '"),
        (10, "extraneous input '1' expecting <EOF>"),
    ],
    "'unclosed": [
        (1, "token recognition error at: ''unclosed'"),
        (10, f"mismatched input '<EOF>' expecting {EXPRESSION}"),
    ],
    "self.in > 0": [
        (6, "no viable alternative at input '.in'"),
        (9, f"extraneous input '>' expecting {EXPRESSION}"),
    ],
    "self.true > 0": [(6, "mismatched input 'true' expecting IDENTIFIER")],
    "*@a | b": [
        (1, f"extraneous input '*' expecting {EXPRESSION}"),
        (2, "token recognition error at: '@'"),
        (5, "token recognition error at: '| '"),
        (7, "extraneous input 'b' expecting <EOF>"),
    ],
    "t{>C}": [
        (3, "extraneous input '>' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"),
        (5, "mismatched input '}' expecting ':'"),
    ],
    "x(1,)": [(5, f"mismatched input ')' expecting {EXPRESSION}")],
    "[1 2]": [(4, "extraneous input '2' expecting {']', ','}")],
    "a ? b": [(6, "mismatched input '<EOF>' expecting ':'")],
    "self.n > -1.": [(13, "no viable alternative at input '.'")],
    "-1[?]": [(5, "mismatched input ']' expecting " + EXPRESSION)],
    "self.n.#in": [
        (8, "token recognition error at: '#'"),
        (9, "no viable alternative at input '.in'"),
        (11, f"mismatched input '<EOF>' expecting {EXPRESSION}"),
    ],
    "f(){}": [(4, "mismatched input '{' expecting <EOF>")],
    "": [(1, f"mismatched input '<EOF>' expecting {EXPRESSION}")],
}


@pytest.mark.parametrize("text", SYNTAX)
def test_a_syntax_error_is_worded_as_antlr_words_it(text: str) -> None:
    with pytest.raises(cel.CompileError) as refusal:
        cel.compile(text)
    found = [(issue.offset + 1, issue.message) for issue in refusal.value.issues]
    assert found == [(column, f"Syntax error: {message}") for column, message in SYNTAX[text]]


NO_RANGE = (
    "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"
)
DECLARED = {
    "n": types.INT, "s": types.STRING, "b": types.BOOL, "f": types.DOUBLE,
    "l": types.LIST_STRING, "d": types.DYN, "m": types.map_of(types.STRING, types.INT),
}  # fmt: skip
CHECKS: dict[str, list[tuple[int, str]]] = {
    "gone > 0": [(1, "undeclared reference to 'gone' (in container '')")],
    "l.all(x, y == 'a')": [(10, "undeclared reference to 'y' (in container '')")],
    "n == 'one'": [(3, "found no matching overload for '_==_' applied to '(int, string)'")],
    "s.startsWith(1)": [
        (13, "found no matching overload for 'startsWith' applied to 'string.(int)'")
    ],
    "n && b": [(1, "expected type 'bool' but found 'int'")],
    "1 in l": [(3, "found no matching overload for '@in' applied to '(int, list(string))'")],
    "b ? s : n": [(3, "found no matching overload for '_?_:_' applied to '(bool, string, int)'")],
    "[1, 'a']": [(5, "expected type 'int' but found 'string'")],
    "s.isEmpty()": [(10, "undeclared reference to 'isEmpty' (in container '')")],
    "s.size().x": [(9, "type 'int' does not support field selection")],
    "n.all(x, true)": [(1, NO_RANGE)],
    "has(s)": [(5, "invalid argument to has() macro")],
    "l.all('x', true)": [(7, "argument must be a simple name")],
    "l.map(__result__, true)": [
        (7, "iteration variable overwrites accumulator variable")
    ],
    "l.transformList(x, x, 1)": [(20, "duplicate variable name: x")],
    "math.greatest(n, 1)": [
        (1, "undeclared reference to 'math' (in container '')"),
        (14, "undeclared reference to 'greatest' (in container '')"),
    ],
    "s.matches('[a-')": [(11, "invalid matches argument")],
    "duration('1x') > duration('1s')": [(10, "invalid duration argument")],
    "9223372036854775808": [(1, "invalid int literal")],
    "var": [(1, "reserved identifier: var")],
    "d.`x-y`": [(3, "unsupported syntax: '`'")],
    "type(n) == type(s) || m.a": [(24, "expected type 'bool' but found 'int'")],
}  # fmt: skip


@pytest.mark.parametrize("text", CHECKS)
def test_what_does_not_fit_is_reported_at_its_place(text: str) -> None:
    with pytest.raises(cel.CompileError) as refusal:
        cel.compile(text, DECLARED)
    found = [(issue.offset + 1, issue.message) for issue in refusal.value.issues]
    assert found == CHECKS[text]


def test_errors_show_their_line_and_an_arrow() -> None:
    with pytest.raises(cel.CompileError) as refusal:
        cel.compile("s == 'a' ||\n  t == 'b' ||\n\tu", DECLARED)
    assert str(refusal.value) == (
        "ERROR: <input>:2:3: undeclared reference to 't' (in container '')\n"
        " |   t == 'b' ||\n"
        " | ..^\n"
        "ERROR: <input>:3:2: undeclared reference to 'u' (in container '')\n"
        " |  u\n"
        " | .^"
    )


def test_wide_characters_get_wide_dots() -> None:
    with pytest.raises(cel.CompileError) as refusal:
        cel.compile("has(s.größe)", DECLARED)
    assert str(refusal.value).splitlines()[5] == " | ........．＾"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l", "list(string)"),
        ("[]", "list(dyn)"),
        ("{'a': [1u]}", "map(string, list(uint))"),
        ("b ? d : n", "dyn"),
        ("optional.of(n)", "optional_type(int)"),
        ("m.?a", "optional_type(int)"),
        ("timestamp('2024-01-01T00:00:00Z') - timestamp(0)", "duration"),
        ("type(n)", "type(int)"),
        ("null", "null"),
        ("l.map(x, size(x))", "list(int)"),
        ("m.transformMap(k, v, v > 1)", "map(string, bool)"),
    ],
)
def test_an_expression_has_its_type(text: str, expected: str) -> None:
    assert str(cel.compile(text, DECLARED).expression.type) == expected
