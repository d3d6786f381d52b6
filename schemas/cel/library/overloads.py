"""Helpers that declare overloads, for all libraries."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from inkube.schemas.cel.declarations.functions import EvalError, Impl, Overload, Specialise
from inkube.schemas.cel.declarations.types import BOOL, STRING, Type
from inkube.schemas.cel.library import costs

_R = TypeVar("_R")


def checked(function: Callable[..., _R]) -> Callable[..., _R]:
    """Return the function with EvalError instead of ValueError, with the same text."""

    def call(*arguments: Any) -> _R:
        try:
            return function(*arguments)
        except ValueError as error:
            raise EvalError(str(error)) from None

    return call


def folded(function: Impl, *, arity: int = 1) -> Specialise:
    """Return a specialization for constant arguments: the result, computed one time.

    If the function fails for the arguments, the call fails at run time.
    """

    def specialise(constants: Mapping[int, Any]) -> Impl | None:
        if len(constants) != arity:
            return None
        try:
            result = function(*(constants[index] for index in range(arity)))
        except EvalError:
            return None
        return lambda *_: result

    return specialise


def reads(function: Callable[..., Any]) -> Callable[..., bool]:
    """Return a function that returns whether the given function accepts its arguments without a
    ValueError."""

    def answer(*arguments: Any) -> bool:
        try:
            function(*arguments)
        except ValueError:
            return False
        return True

    return answer


def reader(
    function: str, id: str, result: Type, impl: Impl, *others: Type, keeps_size: bool = False
) -> Overload:
    """Declare a function that parses a text, such as `ip(text)`. A constant text is parsed one
    time."""
    return Overload(
        function, id, (STRING, *others), result, impl,
        cost=costs.per_size(),
        estimate=costs.sized(keeps_size=keeps_size),
        specialise=folded(impl, arity=1 + len(others)),
    )  # fmt: skip


def question(function: str, id: str, impl: Impl, *others: Type) -> Overload:
    """Declare a function that returns whether a text can be parsed, such as `isIP(text)`."""
    return Overload(
        function, id, (STRING, *others), BOOL, impl,
        cost=costs.per_size(), estimate=costs.sized(), fails=False,
    )  # fmt: skip


def method(function: str, id: str, types: tuple[Type, ...], result: Type, impl: Impl) -> Overload:
    """Declare a method of the first of the types. It never fails and costs 1."""
    return Overload(function, id, types, result, impl, receiver=True, fails=False)


def text(id: str, type: Type, impl: Impl) -> Overload:
    """Declare string() for values of the type."""
    return Overload("string", id, (type,), STRING, impl, fails=False)
