"""The built-in functions of Go's templates. Follows text/template/funcs.go."""

import re
from collections.abc import Callable
from typing import Any

from inkube.controllers.workloads.stages.gotemplates.values import (
    RunError,
    format_value,
    inside,
    is_int,
    is_true,
)
from inkube.formats import gotext

Function = Callable[..., Any]


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if value is None:
            raise RunError("index of untyped nil")
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, (list, str)) and is_int(key):
            if not 0 <= key < len(value):
                raise RunError(f"index out of range: {key}")
            value = value[key]
        else:
            raise RunError(f"can't index item of type {gotext.json_kind(value)}")
    return value


def _slice(value: Any, *bounds: int) -> Any:
    if not isinstance(value, (list, str)) or not all(is_int(bound) for bound in bounds):
        raise RunError("can't slice that")
    if any(not 0 <= bound <= len(value) for bound in bounds):
        raise RunError("index out of range")
    return value[slice(*(bounds if len(bounds) > 1 else (*bounds, None)))]


def _len(value: Any) -> int:
    if isinstance(value, (dict, list, str)):
        return len(value.encode()) if isinstance(value, str) else len(value)
    raise RunError(f"len of type {gotext.json_kind(value)}")


def _comparable(left: Any, right: Any) -> bool:
    numbers = (int, float)
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    return (isinstance(left, numbers) and isinstance(right, numbers)) or (
        isinstance(left, str) and isinstance(right, str)
    )


def _eq(first: Any, *others: Any) -> bool:
    if not others:
        raise RunError("missing argument for comparison")
    for other in others:
        if first is None or other is None:
            if first is other:
                return True
        elif not _comparable(first, other):
            raise RunError("incompatible types for comparison")
        elif first == other:
            return True
    return False


def _less(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or not _comparable(left, right):
        raise RunError("invalid type for comparison")
    return bool(left < right)


_VERB = re.compile(r"%([-+# 0]*)(\d*)(?:\.(\d+))?([a-zA-Z%])")


def _printf(form: Any, *values: Any) -> str:
    """Return the text of fmt.Sprintf. It supports the verbs that templates use: v s d q t f g x T
    %."""
    if not isinstance(form, str):
        raise RunError("printf takes a text first")
    left = list(values)

    def put(match: re.Match[str]) -> str:
        flags, width, precision, verb = match.groups()
        if verb == "%":
            return "%"
        if not left:
            return f"%!{verb}(MISSING)"
        if len(width) > 4 or len(precision or "") > 4:
            raise RunError("printf: too wide")
        text = _format(verb, left.pop(0), precision)
        if "+" in flags and verb in "dfg" and not text.startswith("-"):
            text = f"+{text}"
        if "-" in flags:
            return text.ljust(int(width or 0))
        if "0" in flags and verb in "dfgx":
            return text.zfill(int(width or 0))
        return text.rjust(int(width or 0))

    text = _VERB.sub(put, form)
    if left:
        text += "%!(EXTRA " + ", ".join(format_value(value) for value in left) + ")"
    return text


def _format(verb: str, value: Any, precision: str | None) -> str:
    if verb == "q" and isinstance(value, str):
        return gotext.quote(value)
    if verb == "d" and is_int(value):
        return str(value)
    if verb == "x" and is_int(value):
        return f"{value:x}"
    if verb in "fg" and isinstance(value, (int, float)):
        return f"{float(value):.{precision or 6}{verb}}"
    if verb == "t" and isinstance(value, bool):
        return format_value(value)
    if verb in "vs":
        text = inside(value)
        return text[: int(precision)] if precision and verb == "s" else text
    return f"%!{verb}({format_value(value)})"


def _println(*values: Any) -> str:
    return " ".join(inside(value) for value in values) + "\n"


def _print(*values: Any) -> str:
    """Return the text of fmt.Sprint, with a space between two adjacent values if neither is a
    string."""
    found, previous = "", None
    for number, value in enumerate(values):
        if number and not isinstance(value, str) and not isinstance(previous, str):
            found += " "
        found += inside(value)
        previous = value
    return found


BUILTIN: dict[str, Function] = {
    "not": lambda value: not is_true(value),
    "len": _len,
    "index": _index,
    "slice": _slice,
    "print": _print,
    "println": _println,
    "printf": _printf,
    "eq": _eq,
    "ne": lambda left, right: not _eq(left, right),
    "lt": _less,
    "le": lambda left, right: _less(left, right) or _eq(left, right),
    "gt": lambda left, right: not (_less(left, right) or _eq(left, right)),
    "ge": lambda left, right: not _less(left, right),
}
