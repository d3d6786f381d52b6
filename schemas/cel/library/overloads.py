"""Short forms to declare overloads, shared by the libraries."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from inkube.schemas.cel.declarations.functions import EvalError, Impl, Specialise

_R = TypeVar("_R")


def checked(function: Callable[..., _R]) -> Callable[..., _R]:
    """The function with its ValueError raised as EvalError of the same text."""

    def call(*arguments: Any) -> _R:
        try:
            return function(*arguments)
        except ValueError as error:
            raise EvalError(str(error)) from None

    return call


def folded(function: Impl, *, arity: int = 1) -> Specialise:
    """A specialisation for constant arguments: the result, found once.

    Arguments for which the function fails are left to fail when evaluated.
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
