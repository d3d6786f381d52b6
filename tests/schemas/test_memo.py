"""Results for equal values are cached, within limits."""

import pytest

from inkube.schemas.caches import Memo


def test_equal_values_have_one_key():
    assert Memo.key({"a": [1, None]}) == Memo.key({"a": [1, None]})


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (({"a": 1},), ({"a": 1.0},)),
        (({"a": 1},), ({"a": True},)),
        (({"a": 1, "b": 2},), ({"b": 2, "a": 1},)),
        (({"a": 1}, True), ({"a": 1}, False)),
        (({"a": 2**70},), ({"a": 2**71},)),
    ],
)
def test_what_may_be_judged_differently_has_another_key(one, two):
    assert Memo.key(*one) != Memo.key(*two)


def test_the_oldest_are_forgotten():
    memo = Memo[int](__name__, "memo", 2)
    for number in range(3):
        memo.put(Memo.key(number), number)
    assert [memo.get(Memo.key(number)) for number in range(3)] == [None, 1, 2]
