"""Lazily computed values are computed once, by the first user."""

import pytest

from inkube.schemas.lazy import Lazy


def test_a_lazy_value_is_computed_once() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    late = Lazy(make)
    assert made == []
    assert late() is late()
    assert len(made) == 1


def test_asking_whether_a_lazy_value_exists_does_not_compute_it() -> None:
    late = Lazy(list)
    assert late.value_if_created is None
    value = late()
    assert late.value_if_created is value


def test_none_counts_as_a_created_value() -> None:
    calls: list[int] = []
    late = Lazy(lambda: calls.append(1))
    assert late() is None
    assert late() is None
    assert calls == [1]


def test_a_failed_lazy_value_is_computed_again() -> None:
    wishes = [ValueError("not yet"), None]

    def make() -> str:
        error = wishes.pop(0)
        if error is not None:
            raise error
        return "made"

    late = Lazy(make)
    with pytest.raises(ValueError, match="not yet"):
        late()
    assert late() == "made"
