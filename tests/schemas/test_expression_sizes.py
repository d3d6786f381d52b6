"""The maximum size of CEL expressions in an object, for every kind with expressions."""

import pytest

from inkube.schemas import expressionsize


def test_expressions_count_wherever_they_stand():
    half = "x" * (expressionsize.MOST // 2)
    found = {"a": [{"rule": half}], "b": {"c": {"messageExpression": half}}}
    (error,) = expressionsize.errors(found, "spec")
    assert (error.field, error.type) == ("spec", "FieldValueForbidden")
    assert "200080" in error.message()


def test_what_is_no_expression_does_not_count():
    text = "x" * (2 * expressionsize.MOST)
    assert not expressionsize.errors({"description": text, "rule": {"text": text}}, "spec")
    assert not expressionsize.errors(None, "spec")


def test_many_small_expressions_count_more_than_their_characters():
    small = [{"expression": "true"}] * 4_000
    assert not expressionsize.errors(small, "spec")
    assert expressionsize.errors(small * 2, "spec")


@pytest.mark.parametrize("depth", [1, 100_000])
def test_however_deep_they_stand(depth):
    value = {"rule": "x" * 300_000}
    for _ in range(depth):
        value = {"items": value}
    assert expressionsize.errors(value, "spec")
