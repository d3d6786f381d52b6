"""For any text, the engine raises only its own errors."""

from contextlib import suppress
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from inkube.schemas import cel
from inkube.schemas.cel.checking.estimator import estimate
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.environment import Environment
from inkube.schemas.cel.declarations.schema_shapes import declare
from inkube.schemas.cel.running.libraries import FUNCTIONS
from inkube.schemas.cel.running.program import CALL_LIMIT, Program, checked

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "s": {"type": "string", "maxLength": 10},
        "n": {"type": "number"},
        "t": {"type": "string", "format": "date-time"},
        "i": {"x-kubernetes-int-or-string": True},
        "l": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "m": {"type": "object", "additionalProperties": {"type": "string", "format": "date"}},
        "z": {"type": "string", "nullable": True},
    },
}
OBJECT: dict[str, Any] = {
    "a": 1, "s": "abc", "n": 3, "t": "2020-01-01T00:00:00Z", "i": "5%", "l": ["b", "a"],
    "m": {"q": "2020-01-02"}, "z": None,
}  # fmt: skip
# ruff: noqa: E501
WORDS = [
    "self", "self.a", "self.s", "self.n", "self.t", "self.i", "self.l", "self.m", "self.z", "dyn(self)",
    "(", ")", "[", "]", "{", "}", ".", "?", ":", ",", "+", "-", "*", "/", "%", "==", "!=", "<", ">=", "in",
    "&&", "||", "!", "1", "2.5", "'a'", "null", "true", "1u", "b'x'", "has(self.a)", "x", "[1, 2]",
    "{'a': 1}", "optional.of(1)", "optional.none()", ".?", "[?", "self.l.all(x, ", "self.m.exists(k, v, ",
    "duration('1h')", "timestamp(0)", "quantity('1Gi')", "ip('::1')", "cidr('10.0.0.0/8')",
    "semver('1.2.3')", "url('http://a')", "'[a-'", "oldSelf", "type(self)", "9223372036854775807", "\n",
]  # fmt: skip


def _shape_environment() -> Environment:
    shape = declare(SCHEMA)
    assert shape is not None
    return Environment(FUNCTIONS, {"self": shape, "oldSelf": shape})


ENVIRONMENT = _shape_environment()


def attempt(text: str) -> None:
    """Compile, estimate and run a text; the engine's own errors are expected."""
    with suppress(cel.CelError):
        expression = checked(text, ENVIRONMENT)
        estimate(expression.root, ENVIRONMENT)
        Program(expression, ENVIRONMENT).run(0, CALL_LIMIT, OBJECT, OBJECT)


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A call of any function with any arguments."""
    name = draw(st.sampled_from(sorted(name for name in FUNCTIONS if name[0].isalpha())))
    overload = draw(st.sampled_from(FUNCTIONS[name]))
    args = [draw(st.sampled_from(WORDS)) for _ in overload.params]
    if overload.receiver and args:
        return f"{args[0]}.{name}({', '.join(args[1:])})"
    return f"{name}({', '.join(args)})"


pieces = st.one_of(st.sampled_from(WORDS), calls())


@settings(max_examples=400, deadline=None)
@given(st.lists(pieces, max_size=12))
def test_words_in_any_order_raise_only_the_engines_errors(words: list[str]) -> None:
    attempt("".join(words))


@settings(max_examples=400, deadline=None)
@given(calls(), st.sampled_from(["==", "+", "<", "in", "&&", "? 1 :"]), pieces)
@example("duration(null)", "<", "duration(null)")
@example("timestamp(null)", "<", "timestamp(0)")
def test_any_call_raises_only_the_engines_errors(call: str, operator: str, other: str) -> None:
    attempt(f"{call} {operator} {other}")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_any_text_raises_only_the_engines_errors(text: str) -> None:
    attempt(text)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=3)
        ),
        max_leaves=6,
    ),
    st.sampled_from(
        ["self == self", "self < 1", "self.a", "self[0]", "size(self)", "self in [1, 2]",
         "self.all(x, x == 1)", "string(self)", "self + 1", "-self", "!self", "self.?a.b",
         "[self].map(x, x.a)", "type(self) == int", "self.contains('a')"]
    ),
)  # fmt: skip
def test_any_value_raises_only_the_engines_errors(value: Any, text: str) -> None:
    program = cel.compile(text, {"self": types.DYN})
    with suppress(cel.CelError):
        program.evaluate({"self": value})
