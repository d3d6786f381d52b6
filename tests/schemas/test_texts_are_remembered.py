"""Caches of clients' texts are limited, however long the texts are."""

import pytest

from inkube.schemas import caches


@pytest.fixture
def calls():
    return []


@pytest.fixture
def double(calls):
    @caches.of_texts(100, characters=1_000)
    def double(text):
        calls.append(text)
        return text * 2

    return double


def test_a_text_is_worked_on_once(double, calls):
    assert [double("a"), double("a")] == ["aa", "aa"]
    assert calls == ["a"]


def test_texts_beyond_the_bound_make_it_forget_the_others(double, calls):
    double("short")
    double("x" * 400)
    double("short")
    assert len(calls) == 3


def test_a_failure_is_not_remembered(calls):
    @caches.of_texts(100)
    def fail(text):
        calls.append(text)
        raise ValueError(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="a"):
            fail("a")
    assert calls == ["a", "a"]


def test_a_typed_cache_distinguishes_numbers_and_booleans():
    @caches.of_texts(100, typed=True)
    def show(value):
        return str(value)

    assert [show(1), show(True), show(1.0)] == ["1", "True", "1.0"]
