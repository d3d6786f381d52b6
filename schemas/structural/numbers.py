"""Checks of numbers as upstream: integers in floats, ranges of formats, bounds, multiples.

Follows kube-openapi/pkg/validation/validate/{validator,values}.go and go-openapi/swag/convert.go.
"""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import NamedTuple

from inkube.schemas.golang import gofloats

_MAX_JSON_FLOAT = float(2**53 - 1)
_EPSILON = 1e-9
_INT64 = 2**63
_MAX_FLOAT32 = 3.4028235677973366e38
_BITS = {"int32": 31, "int64": 63, "": 63}

Number = int | float


class Problem(NamedTuple):
    """An error of a number; its text contains the path of the number."""

    before: str
    after: str
    value: Number | None
    """The value in the error; None for an error without a field."""


def is_whole(value: float) -> bool:
    """swag.IsFloat64AJSONInteger: whole within a relative error, and exact in a double."""
    if not -_MAX_JSON_FLOAT <= value <= _MAX_JSON_FLOAT:
        return False
    if value.is_integer():
        return True
    if abs(value) < 1 or value < 0:
        return False
    whole = float(int(value))
    return (value - whole) / (value + whole) < _EPSILON


def fits(value: Number, kind: str, format: str) -> bool:
    """Return whether type and format can represent the number (IsValueValidAgainstRange)."""
    if kind == "integer":
        limit = 1 << _BITS.get(format, 63)
        if isinstance(value, float):
            if not value.is_integer():
                return False
            value = int(Decimal(repr(value)))  # the shortest digits, which upstream reads again
        return -limit <= value < limit
    return format != "float" or abs(value) < _MAX_FLOAT32 or math.isinf(value)


def compile_bounds(
    schema: dict[str, Number | bool], kind: str, format: str
) -> list[Callable[[Number], list[Problem]]]:
    """Return the checks of multipleOf, minimum and maximum, in the order upstream merges them."""
    checks: list[Callable[[Number], list[Problem]]] = []
    makers = (("multipleOf", _multiple), ("minimum", _minimum), ("maximum", _maximum))
    for keyword, maker in makers:
        bound = schema.get(keyword)
        if bound is not None and not isinstance(bound, bool):
            exclusive = bool(schema.get(f"exclusive{keyword.capitalize()}"))
            checks.append(_guarded(maker(bound, exclusive), bound, (keyword, kind, format)))
    return checks


def safe_range(schema: Mapping[str, Number | bool], kind: str, form: str) -> tuple[Number, Number]:
    """Return an open range in which every number is valid; (0, 0) if no simple range is known."""
    bounds = [schema.get("minimum"), schema.get("maximum")]
    unfit = any(
        bound is not None and (abs(bound) >= _INT64 or not fits(bound, kind, form))
        for bound in bounds
    )
    if unfit or form == "float" or "multipleOf" in schema:
        return 0, 0
    reach = 1 << _BITS.get(form, 63)
    low = -reach if bounds[0] is None else max(bounds[0], -reach)
    high = reach if bounds[1] is None else min(bounds[1], reach)
    return low, high


_PREFIXES = {
    "multipleOf": "MultipleOf",
    "minimum": "Minimum boundary",
    "maximum": "Maximum boundary",
}


def range_problem(prefix: str, kind: str, format: str) -> str:
    """Return the text for a number out of range, without the path at its end."""
    how = f"with format {format}" if format else "(default format)"
    return f"{prefix} value must be of type {kind} {how} in "


def _guarded(
    check: Callable[[Number], Problem | None], bound: Number, where: tuple[str, str, str]
) -> Callable[[Number], list[Problem]]:
    """Return a check with the error of the bound itself, if the type cannot represent the bound.

    The value is then compared as a float.
    """
    keyword, kind, form = where
    unfit = "" if fits(bound, kind, form) else range_problem(_PREFIXES[keyword], kind, form)

    def problems(value: Number) -> list[Problem]:
        found = check(float(value) if unfit else value)
        bound_problems = [Problem(unfit, "", None)] if unfit else []
        return [*bound_problems, found] if found else bound_problems

    return problems


def _minimum(bound: Number, exclusive: bool) -> Callable[[Number], Problem | None]:
    words = "greater than" if exclusive else "greater than or equal to"

    def check(value: Number) -> Problem | None:
        limit = _native(bound, value)
        if value < limit or (exclusive and value == limit):
            return _unfit(value, f"should be {words} {_written(limit)}")
        return None

    return check


def _maximum(bound: Number, exclusive: bool) -> Callable[[Number], Problem | None]:
    words = "less than" if exclusive else "less than or equal to"

    def check(value: Number) -> Problem | None:
        limit = _native(bound, value)
        if value > limit or (exclusive and value == limit):
            return _unfit(value, f"should be {words} {_written(limit)}")
        return None

    return check


def _multiple(factor: Number, _exclusive: bool) -> Callable[[Number], Problem | None]:
    def check(value: Number) -> Problem | None:
        divisor = _native(factor, value)
        if divisor <= 0:
            wrong = f" must be positive: {_written(divisor)}"
            return Problem("factor MultipleOf declared for ", wrong, divisor)
        if isinstance(value, int) and isinstance(divisor, int):
            fine = value % divisor == 0
        else:
            fine = is_whole(1 / divisor * value if divisor < 1 else value / divisor)
        return None if fine else _unfit(value, f"should be a multiple of {_written(divisor)}")

    return check


def _unfit(value: Number, text: str) -> Problem:
    return Problem("", f" in body {text}", value)


def _written(number: Number) -> str:
    """`%v` of a number."""
    return gofloats.format_general(number) if isinstance(number, float) else str(number)


def _native(bound: Number, value: Number) -> Number:
    """Return the bound in the type of the value: for integers it is truncated, so -1.5 becomes -1,
    and a multiple of 0.5 one of 0, which no integer is. Beyond int64 it is the least one, as Go
    converts on amd64."""
    bound = float(bound)
    if isinstance(value, float):
        return bound
    whole = int(bound)
    return whole if -_INT64 <= whole < _INT64 else -_INT64
