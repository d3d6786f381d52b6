"""The semantics of expressions: values, errors, and the cost at run time."""

from typing import Any

import pytest

from inkube.schemas import cel
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.values import Duration, Optional, Timestamp, Uint

SELF: dict[str, Any] = {
    "n": 3, "s": "häus", "l": [1, 2, 3], "m": {"a": 1, "b": None}, "e": [], "t": True,
}  # fmt: skip

VALUES: dict[str, Any] = {
    "1 + 2 * 3": 7,
    "7 / -2": -3,
    "-7 % 3": -1,
    "7u / 2u": Uint(3),
    "1.0 / 0.0": float("inf"),
    "-9223372036854775808": -(2**63),
    "0x1F": 31,
    "'a' + 'b'": "ab",
    r"'\u00e4\x41\101\n'": "äAA\n",
    r"r'\n' + '''a'b'''": "\\na'b",
    r"b'ä\xff'": b"\xc3\xa4\xff",
    "size('häus')": 4,
    "'b' > 'a' && 'ä' > 'z'": True,
    "[1, 2] + [3]": [1, 2, 3],
    "{'a': 1}['a']": 1,
    "1 in [1, 2] && !(3 in [1, 2])": True,
    "'a' in {'a': 1}": True,
    "dyn(1) == 1.0 && dyn(1) == 1u": True,
    "dyn(true) == dyn(1)": False,
    "dyn([1, 2]) == [1.0, 2.0]": True,
    "1 < 2.5 && 3u > 2": True,
    "null == dyn(null)": True,
    "type(1) == int && type([]) == list && type('') != bytes": True,
    "type(type(1)) == type": True,
    "true ? 1 : 2": 1,
    "self.l.all(x, x > 0)": True,
    "self.l.exists(x, x == 2)": True,
    "self.l.exists_one(x, x > 2)": True,
    "self.l.map(x, x * 2)": [2, 4, 6],
    "self.l.map(x, x > 1, x * 2)": [4, 6],
    "self.l.filter(x, x != 2)": [1, 3],
    "self.l.all(i, x, x == i + 1)": True,
    "self.m.exists(k, v, k == 'a' && v == 1)": True,
    "self.l.existsOne(i, x, i == 0)": True,
    "[5, 6].transformList(i, x, i * x)": [0, 6],
    "[5, 6].transformMap(i, x, x > 5, x)": {1: 6},
    "{'a': 1}.transformMapEntry(k, v, {k + 'x': v})": {"ax": 1},
    "self.?gone.orValue(7)": 7,
    "self.?n.orValue(7)": 3,
    "self.?m.?gone.hasValue()": False,
    "self.l[?9].orValue(0) + self.l[?0].value()": 1,
    "[1, ?optional.none(), ?optional.of(2)]": [1, 2],
    "{'a': 1, ?'b': optional.none()}": {"a": 1},
    "self.?n.optMap(x, x + 1).value()": 4,
    "self.?n.optFlatMap(x, optional.of(x)).value()": 3,
    "optional.of(1).or(optional.of(2)).value()": 1,
    "optional.of(1).orValue(1 / 0)": 1,
    "optional.ofNonZeroValue('').hasValue()": False,
    "[[3, 1], [1]].sortBy(x, size(x))": [[1], [3, 1]],
    "timestamp('2024-01-01T00:00:00Z') + duration('1h')": Timestamp(1704070800 * 10**9),
    "duration('90s')": Duration(90 * 10**9),
    "has(self.n) && !has(self.gone)": True,
    "self.gone || true": True,
    "true || self.gone": True,
    "self.gone && false": False,
    "self.l.exists(x, 1 / (x - 1) == 1)": True,
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_an_expression_has_its_value(text: str) -> None:
    found = cel.compile(text).evaluate({"self": SELF})
    assert found == VALUES[text]
    assert type(found) is type(VALUES[text])


FAILURES = {
    "self.gone": "no such key: gone",
    "self.m['x']": "no such key: x",
    "self.l[3]": "index out of bounds: 3",
    "1 / (self.n - 3)": "division by zero",
    "1 % (self.n - 3)": "modulus by zero",
    "self.n + 9223372036854775807": "integer overflow",
    "-(self.n - 9223372036854775807 - 4)": "integer overflow",
    "1u - 2u": "unsigned integer overflow",
    "self.n < 'a'": "no such overload",
    "self.s + 1": "no such overload",
    "self.n && true": "no such overload",
    "self.gone && true": "no such key: gone",
    "self.gone || false": "no such key: gone",
    "self.l.all(x, x / 0 > 1)": "division by zero",
    "optional.none().value()": "optional.none() dereference",
    "{'a': 1, 'a' + self.s: 2}['häus']": "no such key: häus",
    "self.n.all(x, true)": "got 'types.Int', expected iterable type",
}


@pytest.mark.parametrize("text", FAILURES)
def test_an_expression_fails_with_its_text(text: str) -> None:
    with pytest.raises(cel.EvalError) as failure:
        cel.compile(text).evaluate({"self": SELF})
    assert str(failure.value) == FAILURES[text]


COSTS = {
    "1 + 2 == 3": 2,
    "self": 1,
    "self.n": 2,
    "has(self.n)": 1,
    "self.l[0]": 3,
    "self.n in [1, 2]": 2,
    "[self.n]": 12,
    "{'a': self.n}": 32,
    "self.l.all(x, x > 0)": 2 + 3 * (3 + 2) + 1,
    "self.l.exists(x, x > 0)": 2 + (4 + 2) + 3 + 1,
    "self.l.map(x, x)": 2 + 3 * (12 + 1) + 1,
    "self.gone || true": 2,
    "true ? self.n : self.gone": 2,
}


@pytest.mark.parametrize("text", COSTS)
def test_an_evaluation_has_its_cost(text: str) -> None:
    program = cel.compile(text)
    assert program.run(0, cel.CALL_LIMIT, SELF)[1] == COSTS[text]


def test_a_program_over_the_limit_is_cut_off() -> None:
    deep = "range.all(a, range.all(b, range.all(c, range.all(d, a + b + c + d >= 0))))"
    program = cel.compile(deep, {"range": types.list_of(types.INT)})
    with pytest.raises(cel.CostExceededError, match="actual cost limit exceeded"):
        program.evaluate({"range": list(range(100))})


def test_a_failure_reports_the_spent_cost() -> None:
    program = cel.compile("self.l.map(x, x / 0)")
    with pytest.raises(cel.EvalError) as failure:
        program.run(0, cel.CALL_LIMIT, SELF)
    assert failure.value.cost >= 3


def test_values_are_not_changed() -> None:
    before = repr(SELF)
    cel.compile("self.l + [4] == [1] || self.l.map(x, x + 1) == []").evaluate({"self": SELF})
    assert repr(SELF) == before


def test_a_missing_variable_is_an_error() -> None:
    with pytest.raises(cel.EvalError, match="no such attribute"):
        cel.compile("self").evaluate({})


def test_an_optional_is_a_value() -> None:
    found = cel.compile("self.?n").evaluate({"self": SELF})
    assert isinstance(found, Optional)
    assert (found.present, found.value) == (True, 3)


@pytest.mark.parametrize("depth", [3, 12, 60])
def test_nesting_beyond_what_python_nests_still_runs(depth: int) -> None:
    logic = "(self.n == 3 && " * depth + "(self.n == 2 || true)" + ")" * depth
    assert cel.compile(logic).evaluate({"self": SELF}) is True
    loops = "".join(f"[{place}].all(v{place}, " for place in range(depth)) + "true" + ")" * depth
    assert cel.compile(loops).evaluate({"self": SELF}) is True


@pytest.mark.parametrize("text", ["(" * 3_000, "[" * 3_000 + "]" * 3_000, "a." * 20_000 + "a"])
def test_bottomless_texts_are_refused(text: str) -> None:
    with pytest.raises(cel.CompileError, match="recursion limit exceeded"):
        cel.compile(text)
