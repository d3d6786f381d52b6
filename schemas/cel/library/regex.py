"""find and findAll with RE2 patterns. Upstream: apiserver pkg/cel/library/regex.go."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from inkube.schemas.cel.declarations.estimates import Argument, CallEstimate, Range
from inkube.schemas.cel.declarations.functions import EvalError, Impl, Overload, Specialise
from inkube.schemas.cel.declarations.types import INT, LIST_STRING, STRING, Type
from inkube.schemas.cel.library import costs
from inkube.schemas.golang import regexp


def _compiled(pattern: str) -> regexp.Pattern:
    try:
        return regexp.compile(pattern)
    except regexp.RegexError as error:
        raise EvalError(f"Illegal regex: {error}") from None


def find(text: str, pattern: str) -> str:
    """Return the first match, or "" without one."""
    return _find(_compiled(pattern), text)


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return the matches, at most `limit`, or all if it is negative."""
    return _find_all(_compiled(pattern), text, limit)


def _find(compiled: regexp.Pattern, text: str) -> str:
    try:
        return compiled.find(text)
    except regexp.StepsError as error:
        raise EvalError(str(error)) from None


def _find_all(compiled: regexp.Pattern, text: str, limit: int) -> list[str]:
    try:
        return compiled.find_all(text, max(limit, -1))
    except regexp.StepsError as error:
        raise EvalError(str(error)) from None


def _find_in(compiled: regexp.Pattern) -> Impl:
    return lambda text, _: _find(compiled, text)


def _find_all_in(compiled: regexp.Pattern) -> Impl:
    return lambda text, _, limit=-1: _find_all(compiled, text, limit)


def _with(make: Callable[[regexp.Pattern], Impl]) -> Specialise:
    """Return a specialization for a constant pattern. An invalid pattern makes the program
    invalid."""

    def specialise(constants: Mapping[int, Any]) -> Impl | None:
        if 1 not in constants:
            return None
        try:
            return make(regexp.compile(constants[1]))
        except regexp.RegexError as error:
            raise EvalError(str(error)) from None

    return specialise


def _estimate(arguments: tuple[Argument, ...]) -> CallEstimate:
    search = costs.estimate_search(arguments[:2])
    return CallEstimate(search.cost, Range(0, arguments[0].size.max))


def _search(
    function: str, id: str, others: tuple[Type, ...], result: Type, impl: Impl, make: Specialise
) -> Overload:
    return Overload(
        function, id, (STRING, STRING, *others), result, impl,
        receiver=True, cost=costs.search, estimate=_estimate, specialise=make,
    )  # fmt: skip


_ALL: Final = _with(_find_all_in)
OVERLOADS: Final[tuple[Overload, ...]] = (
    _search("find", "string_find_string", (), STRING, find, _with(_find_in)),
    _search("findAll", "string_find_all_string", (), LIST_STRING, find_all, _ALL),
    _search("findAll", "string_find_all_string_int", (INT,), LIST_STRING, find_all, _ALL),
)
