"""Durations are read and written by Go's grammar: `[-+]?([0-9]*(.[0-9]*)?[a-z]+)+`."""

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inkube.schemas.golang import gotime

NANOSECONDS = {
    "ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9,
    "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
NUMBERS = st.sampled_from(["0", "7", "005", "1.5", "3.", ".25", "0.000000001", "98765.43210"])
PARTS = st.tuples(NUMBERS, st.sampled_from(sorted(NANOSECONDS)))
SIGNS = st.sampled_from(["", "+", "-"])


def amount(part):
    number, unit = part
    whole, _, fraction = number.partition(".")
    return Fraction(f"{whole or 0}.{fraction or 0}") * NANOSECONDS[unit]


@given(SIGNS, st.lists(PARTS, min_size=1, max_size=4))
def test_a_duration_is_the_sum_of_its_parts_without_fractions_of_nanoseconds(sign, parts):
    found = gotime.parse_duration(sign + "".join(number + unit for number, unit in parts))
    exact = sum(map(amount, parts))
    assert 0 <= exact - abs(found) < len(parts)
    assert (found < 0) is (sign == "-" and found != 0)


@given(st.integers(-(2**63), 2**63 - 1))
@example(-(2**63))
def test_each_duration_is_read_as_it_is_written(ns):
    assert gotime.parse_duration(gotime.format_duration(ns)) == ns


GRAMMAR = re.compile(r"[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)", re.ASCII)


@given(st.lists(st.sampled_from([*"0.15+-hmsd _\u0663", "ns", "1s", "0.5m"]), max_size=5))
def test_what_has_another_grammar_is_refused_with_the_text(pieces):
    text = "".join(pieces)
    if GRAMMAR.fullmatch(text):
        gotime.parse_duration(text)
        return
    with pytest.raises(ValueError, match=r"^time: (invalid|(missing|unknown) unit.*) duration "):
        gotime.parse_duration(text)


@pytest.mark.parametrize("unit", NANOSECONDS)
def test_the_limits_are_those_of_an_int64(unit):
    most = (2**63 - 1) // NANOSECONDS[unit]
    assert gotime.parse_duration(f"{most}{unit}") == most * NANOSECONDS[unit]
    assert gotime.parse_duration(f"-{most}{unit}") == -most * NANOSECONDS[unit]
    with pytest.raises(ValueError, match="invalid duration"):
        gotime.parse_duration(f"{most + 1}{unit}")
