"""Values of jq: truth, types, their order, arithmetic."""

import json
from collections.abc import Callable
from typing import Any

STEPS = 20_000
"""Intermediate values that one run can produce, at most."""


class RunError(Exception):
    """The query cannot run on a value, or exceeds a limit."""


def is_true(value: Any) -> bool:
    """Return whether a value is true in jq: all values except null and false."""
    return value is not None and value is not False


def is_number(value: Any) -> bool:
    """Return whether a value is an int or a float, but not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def type_of(value: Any) -> str:
    """Return the name of a value's type in jq."""
    kinds: dict[type, str] = {str: "string", list: "array", dict: "object"}
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if is_number(value):
        return "number"
    return kinds[type(value)]


_ORDER = {"null": 0, "boolean": 1, "number": 3, "string": 4, "array": 5, "object": 6}


def rank_of(value: Any) -> tuple[Any, ...]:
    """Return the key by which jq sorts values: first the type, then the value."""
    kind = type_of(value)
    if kind == "array":
        return (_ORDER[kind], [rank_of(item) for item in value])
    if kind == "object":
        keys = sorted(value)
        return (_ORDER[kind], keys, [rank_of(value[key]) for key in keys])
    return (_ORDER[kind], value) if value is not None else (0,)


def equals(left: Any, right: Any) -> bool:
    """Return whether two values are equal, as the operator `==` does."""
    return bool(rank_of(left) == rank_of(right))


def text_of(value: Any) -> str:
    """Return a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def list_of(value: Any) -> list[Any]:
    """Return the value, if it is an array. Raises RunError otherwise."""
    if not isinstance(value, list):
        raise RunError(f"{type_of(value)} is not an array")
    return value


def string_of(value: Any) -> str:
    """Return the value, if it is a string. Raises RunError otherwise."""
    if not isinstance(value, str):
        raise RunError(f"{type_of(value)} is not a string")
    return value


def added(left: Any, right: Any) -> Any:
    """Return the sum of numbers, strings, arrays or objects; null is neutral. Raises RunError."""
    if left is None or right is None:
        return right if left is None else left
    if is_number(left) and is_number(right):
        return left + right
    for kind in (str, list):
        if isinstance(left, kind) and isinstance(right, kind):
            if len(left) + len(right) > STEPS:
                raise RunError("too long a value")
            return left + right  # type: ignore[operator] # both are of the kind
    if isinstance(left, dict) and isinstance(right, dict):
        return {**left, **right}
    raise RunError(f"{type_of(left)} and {type_of(right)} cannot be added")


def _minus(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        return [item for item in left if not any(equals(item, other) for other in right)]
    return _numbers(left, right, "subtracted", lambda a, b: a - b)


def _times(left: Any, right: Any) -> Any:
    return _numbers(left, right, "multiplied", lambda a, b: a * b)


def divided(left: Any, right: Any) -> Any:
    """Return the quotient of numbers, or split a string by another. Raises RunError."""
    if isinstance(left, str) and isinstance(right, str):
        return left.split(right) if right else list(left)
    if right == 0 and is_number(right):
        raise RunError("division by zero")
    return as_whole(_numbers(left, right, "divided", lambda a, b: a / b))


def _modulo(left: Any, right: Any) -> Any:
    if not (is_number(left) and is_number(right)) or int(right) == 0:
        raise RunError(f"{type_of(left)} and {type_of(right)} cannot be divided")
    rest = abs(int(left)) % abs(int(right))
    return -rest if left < 0 else rest


def _numbers(left: Any, right: Any, word: str, function: Callable[[Any, Any], Any]) -> Any:
    if not (is_number(left) and is_number(right)):
        raise RunError(f"{type_of(left)} and {type_of(right)} cannot be {word}")
    return function(left, right)


def as_whole(value: float) -> int | float:
    """Return a float without a fraction as an int, any other value unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": equals,
    "!=": lambda left, right: not equals(left, right),
    "<=": lambda left, right: rank_of(left) <= rank_of(right),
    ">=": lambda left, right: rank_of(left) >= rank_of(right),
    "<": lambda left, right: rank_of(left) < rank_of(right),
    ">": lambda left, right: rank_of(left) > rank_of(right),
}


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": added,
    "-": _minus,
    "*": _times,
    "/": divided,
    "%": _modulo,
}
