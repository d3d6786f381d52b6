"""For any expression, the engine returns a value or an error of its own.

INKUBE_CEL_FUZZ sets the number of expressions in each test (default 300).
"""

import contextlib
import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inkube.schemas import cel
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.running.libraries import FUNCTIONS

EXAMPLES = int(os.environ.get("INKUBE_CEL_FUZZ", "300"))
VALUES: list[Any] = [
    None, True, 0, -1, 2**63 - 1, 1.5, "", "a,b", "10.0.0.0/8", "1Gi", "2024-01-01T00:00:00Z", [],
    ["b", "a"], [1, 2, 2], [[1], []], {"a": 1, "b": {"c": []}}, {"": None},
]  # fmt: skip
TOKENS = [
    "self", "self.a", "self[0]", "self.?a", "oldSelf", "x", "1", "-1", "0u", "1.5", "'a'", "b'a'",
    "'%s %d'", "null", "true", "[", "]", "{", "}", "(", ")", ".", ",", ":", "?", "+", "-", "*",
    "/", "%", "==", "!=", "<", ">=", "in", "&&", "||", "!", ".all(x, ", ".map(x, ", ".filter(x, ",
    ".exists_one(x, ", ".sortBy(x, ", ".all(i, v, ", ".transformMap(k, v, ", ".optMap(x, ", "has(",
    "dyn(", "type(", "[?", "duration('1h')", "timestamp(0)", "optional.none()", "[1, 2]",
    "ip('::1')", "cidr('::/0')", "quantity('1')", "semver('1.2.3')", "url('/a')", "format.uri()",
]  # fmt: skip
CALLS = sorted({name for name in FUNCTIONS if name[0].isalpha()})


def check(text: str, value: Any) -> None:
    with contextlib.suppress(cel.CelError):
        cel.compile(text).evaluate({"self": value}, 100_000)


@st.composite
def token_soup(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.sampled_from(TOKENS) | st.sampled_from(CALLS), max_size=12))
    return "".join(parts)


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A call of any function with arguments of any kind."""
    arguments = st.sampled_from(
        ["self", "dyn(1)", "'a'", "-1", "1.5", "[self]", "{'a': self}", "1u"]
    )
    name = draw(st.sampled_from(CALLS))
    given_arguments = draw(st.lists(arguments, max_size=3))
    if "." not in name and given_arguments and draw(st.booleans()):
        return f"{given_arguments[0]}.{name}({', '.join(given_arguments[1:])})"
    return f"{name}({', '.join(given_arguments)})"


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(token_soup(), calls(), st.text(max_size=30)),
    st.sampled_from(VALUES),
)
def test_any_text_is_answered_or_refused(text: str, value: Any):
    check(text, value)


def mutated(text: str, source: random.Random) -> str:
    """Return the text with a few characters or tokens changed."""
    for _ in range(source.randint(0, 2)):
        place = source.randrange(len(text) + 1)
        part = source.choice([*TOKENS, "", "", source.choice("()[]{}.,?:'\"\\\n#@`$")])
        text = text[:place] + part + text[place + source.randint(0, 3) :]
    return text


def test_broken_expressions_are_answered_or_refused(
    expression: Callable[[int], str], bindings: tuple[dict[str, str], dict[str, Any]]
):
    kinds, bound = bindings
    variables = dict.fromkeys(kinds, types.DYN)
    for seed in range(EXAMPLES):
        text = mutated(expression(seed), random.Random(seed))
        with contextlib.suppress(cel.CelError):
            cel.compile(text, variables).evaluate(bound, 100_000)


@pytest.mark.parametrize("text", ["(" * 1000, "[" * 300 + "]" * 300, "1" * 5000])
def test_deep_and_long_texts_are_refused(text: str):
    with pytest.raises(cel.CelError):
        cel.compile(text)
