"""Quantities: valid texts, canonical form, arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas import quantity
from inkube.schemas.quantity import Quantity


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("1024Ki", "1Mi"),
        ("0.5Ki", "512"),
        ("1000k", "1M"),
        ("12e3", "12e3"),
        ("1E", "1E"),
        ("0.0000000001", "1n"),
        ("-4Ki", "-4Ki"),
        ("100000000000000000000Ki", "9223372036854775807"),
        ("+", "0"),
    ],
)
def test_a_quantity_has_its_canonical_form(text: str, canonical: str):
    assert str(quantity.parse(text)) == canonical


@pytest.mark.parametrize("text", ["", "4 Ki", "1.2.3", "1e3x", "١", "0x10"])
def test_what_is_no_number_names_the_pattern(text: str):
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        quantity.parse(text)


@pytest.mark.parametrize("text", ["1e", "1iK", "1KiB", "1kk", "1-", "1e99999999999999999999"])
def test_an_invalid_suffix_of_a_quantity_is_an_error(text: str):
    with pytest.raises(ValueError, match="quantit"):
        quantity.parse(text)


@pytest.mark.parametrize(
    ("text", "integer"),
    [("50k", 50_000), ("1Mi", 1 << 20), ("1.0", None), ("1000m", None), ("1.5Gi", None)],
)
def test_only_whole_small_numbers_are_integers(text: str, integer: int | None):
    assert quantity.parse(text).as_int64() == integer


def test_quantities_compare_by_amount():
    assert quantity.parse("200M") == quantity.parse("0.2G")
    assert hash(quantity.parse("200M")) == hash(quantity.parse("0.2G"))
    assert quantity.parse("50M") < quantity.parse("50Mi")
    assert quantity.parse("-1e2000000000") < quantity.parse("1e2000000000")


def test_a_sum_has_the_format_of_the_first_that_is_not_zero():
    assert str(quantity.parse("1Ki").add(quantity.parse("1k"))) == "2024"
    assert str(quantity.parse("0").add(quantity.parse("1Mi"))) == "1Mi"
    assert str(quantity.parse("50k").subtract(quantity.parse("20"))) == "49980"


def test_amounts_too_far_apart_are_not_added():
    with pytest.raises(ValueError, match="too far apart"):
        quantity.parse("1e2000000000").add(quantity.parse("1"))


_TEXTS = st.from_regex(
    r"[+-]?[0-9]{1,25}(\.[0-9]{1,12})?(n|u|m|k|Ki|Mi|Gi|E|e-?[0-9]{1,2})?", fullmatch=True
)


@given(_TEXTS)
def test_the_canonical_form_is_a_fixed_point_of_the_same_amount(text: str):
    parsed = quantity.parse(text)
    again = quantity.parse(str(parsed))
    assert again == parsed
    assert str(again) == str(parsed)


@given(st.integers(-(2**70), 2**70), st.integers(-9, 20), st.integers(-(2**70), 2**70))
def test_subtraction_undoes_addition(value: int, scale: int, other: int):
    first, second = Quantity(value, scale, big=True), Quantity(other, big=True)
    assert first.add(second).subtract(second) == first


_KEPT = ("+1", "1E3", "1e3", "3e0", "5.", "007", "9Ki", "-1", "100n")
_REWRITTEN = {
    "0.5": "500m", "1000m": "1", "1024Mi": "1Gi", "16Ki": "16Ki", "00": "0", "2000": "2k",
    "1e4": "10e3",
}  # fmt: skip


def test_text_that_is_canonical_enough_is_kept():
    assert [quantity.written(text) for text in _KEPT] == list(_KEPT)
    assert {text: quantity.written(text) for text in _REWRITTEN} == _REWRITTEN


@given(_TEXTS)
def test_what_is_written_is_the_text_or_its_canonical_form(text: str):
    """Whatever was read once is read and written again as it is."""
    read = quantity.parse(text)
    kept = quantity.written(text)
    assert kept in (text, str(read))
    assert quantity.parse(kept) == read
    again = quantity.written(kept)
    assert quantity.written(again) == again


@given(_TEXTS)
def test_signs_and_the_letter_of_an_exponent_do_not_make_text_canonical(text: str):
    """ParseQuantity looks at the digits and the scale alone."""
    digits = text.lstrip("+-")
    is_kept = quantity.written(f"+{digits}") == f"+{digits}"  # canonical forms have no plus
    for each in (digits, f"-{digits}", digits.replace("e", "E")):
        assert quantity.written(each) == (each if is_kept else str(quantity.parse(each)))


@given(st.decimals(-1000, 1000, places=12).map(str))
def test_amounts_of_resources_are_whole_milli_and_never_less(text: str):
    if "E" in text:
        return
    rounded = quantity.parse(quantity.written(text, quantity.MILLI))
    exact = quantity.parse(text)
    assert rounded.scale >= quantity.MILLI
    assert abs(rounded.value) * 10 ** (rounded.scale + 12) >= abs(exact.value) * 10 ** (
        exact.scale + 12
    )
    assert quantity.written(str(rounded), quantity.MILLI) == str(rounded)


@pytest.mark.parametrize(
    ("text", "scale", "amount"),
    [
        ("1500m", 0, 2), ("-1500m", 0, -2), ("1", -3, 1000), ("9223372036854775807", 0, 2**63 - 1),
        ("9223372036854775808", 0, -(2**63)), ("18446744073709551616", 0, 0),
        ("9E", -3, 0), ("1e30", 0, 0), ("1000000000000000000001", 0, 10**21 + 1),
        ("1e400", 0, 0),
    ],
)  # fmt: skip
def test_scaled_values_are_int64(text: str, scale: int, amount: int):
    wrapped = (amount + 2**63) % 2**64 - 2**63
    assert quantity.parse(text).scaled(scale) == wrapped
