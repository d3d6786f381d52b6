"""Laws of offsets, of lists of several types, and of numbers in texts, as in cel-go."""

import datetime as dt
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas import cel

INSTANT = dt.datetime(2024, 5, 4, 19, 30, 15, tzinfo=dt.UTC)
TYPES = {
    "int": "1", "uint": "1u", "double": "1.5", "string": "'a'", "bool": "true", "bytes": "b'a'",
    "duration": "duration('1s')", "timestamp": "timestamp(0)",
}  # fmt: skip
SUMMED = ("int", "uint", "double", "duration")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def evaluate(text):
    return cel.compile(text, {}).evaluate({})


@settings(max_examples=30)
@given(
    st.sampled_from(["", "+", "-"]), st.integers(0, 30), st.integers(0, 99),
    st.sampled_from(["{}{}:{}", "{}{:02}:{:02}"]),
)  # fmt: skip
def test_a_numeric_zone_is_an_offset_in_hours_and_minutes(sign, hours, minutes, form):
    """Of any size: only Atoi reads the two numbers, and the sign is that of both."""
    zone = form.format(sign, hours, minutes)
    offset = dt.timedelta(hours=hours, minutes=minutes)
    local = INSTANT - offset if sign == "-" else INSTANT + offset
    given = f"timestamp('{INSTANT.isoformat()}')"
    methods = ("getFullYear", "getMonth", "getDate", "getHours", "getMinutes", "getSeconds")
    found = [evaluate(f"{given}.{each}('{zone}')") for each in methods]
    assert found == [local.year, local.month - 1, *local.timetuple()[2:6]]


@settings(max_examples=30)
@given(st.integers(-1439, 1439))
def test_a_time_keeps_the_zone_of_its_text_which_does_not_count_in_comparisons(minutes):
    zone = dt.timezone(dt.timedelta(minutes=minutes))
    shown = INSTANT.astimezone(zone).isoformat()
    assert evaluate(f"string(timestamp('{shown}'))") == shown.replace("+00:00", "Z")
    later = (INSTANT + dt.timedelta(hours=1)).astimezone(zone).isoformat().replace("+00:00", "Z")
    assert evaluate(f"string(timestamp('{shown}') + duration('1h'))") == later
    assert evaluate(f"string(duration('1h') + timestamp('{shown}'))") == later
    assert evaluate(f"string(timestamp('{shown}') - duration('-1h'))") == later
    assert evaluate(f"timestamp('{shown}') == timestamp('2024-05-04T19:30:15Z')") is True


@pytest.mark.parametrize("function", ["sum", "min", "max", "isSorted", "sort", "distinct"])
def test_a_list_has_values_of_one_type(function):
    for one, other in itertools.permutations(TYPES, 2):
        with pytest.raises(cel.CompileError) as caught:
            cel.compile(f"[{TYPES[one]}, {TYPES[other]}].{function}()", {})
        assert f"expected type '{one}' but found '{other}'" in str(caught.value)


@pytest.mark.parametrize("name", TYPES)
def test_only_amounts_have_a_sum(name):
    text = f"[{TYPES[name]}, {TYPES[name]}].sum() == {TYPES[name]} + {TYPES[name]}"
    if name in SUMMED:
        assert evaluate(text) is True
        return
    with pytest.raises(cel.CompileError, match="no matching overload"):
        cel.compile(f"[{TYPES[name]}].sum()", {})


@settings(max_examples=60)
@given(st.floats(-1e300, 1e300), st.integers(0, 12))
def test_formatted_numbers_have_the_requested_digits(value, digits):
    number = f"double('{value!r}')"
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    shown = f"{mantissa}×10{exponent.lstrip('+').translate(SUPERSCRIPTS)}"
    assert evaluate(f"'%.{digits}e'.format([{number}])") == shown
    if abs(value) < 1e15:
        assert evaluate(f"'%.{digits}f'.format([{number}])") == f"{value:,.{digits}f}"
