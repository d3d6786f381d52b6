"""The strings extension, version 2: charAt, indexOf, join, replace, split, substring, trim.

Positions count characters. `format` is in `formatting`. Upstream: cel-go ext/strings.go; costs:
apiserver pkg/cel/library/cost.go.
"""

import math
from typing import Final

from inkube.schemas.cel.declarations.estimates import (
    STRING_FACTOR,
    TOP,
    ZERO,
    Argument,
    CallEstimate,
    Range,
)
from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError, Overload
from inkube.schemas.cel.declarations.types import INT, LIST_DYN, LIST_STRING, STRING, Type
from inkube.schemas.cel.library import costs, formatting

_SPACES: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code + 32: code for code in range(ord("A"), ord("Z") + 1)}
_ESCAPES: Final = str.maketrans(
    {
        "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
        "\\": "\\\\", '"': '\\"',
    }
)  # fmt: skip


def _out_of_range(index: int) -> EvalError:
    return EvalError(f"index out of range: {index}")


def char_at(text: str, index: int) -> str:
    """Return the character at a position, or "" at the end."""
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    """Return the first position of a part, from `start` on, or -1."""
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def last_index_of(text: str, part: str) -> int:
    """Return the last position of a part, or -1."""
    return text.rfind(part)


def last_index_up_to(text: str, part: str, end: int) -> int:
    """Return the last position of a part that is not after `end`, or -1."""
    if not part:
        return end
    if end < 0:
        raise _out_of_range(end)
    return -1 if end >= len(text) else text.rfind(part, 0, end + len(part))


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """Return the parts of the text, at most `limit`. An empty separator splits it into
    characters."""
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """Return the text with the first `limit` occurrences replaced, or all of them. An empty `old`
    occurs before every character."""
    return text.replace(old, new, max(limit, -1))


def substring(text: str, start: int) -> str:
    """Return the text from a position to the end."""
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def substring_between(text: str, start: int, end: int) -> str:
    """Return the text between two positions."""
    if start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def trim(text: str) -> str:
    """Return the text without Unicode white space at both ends."""
    return text.strip(_SPACES)


def lower_ascii(text: str) -> str:
    """Return the text with A to Z in lower case; other characters do not change."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def upper_ascii(text: str) -> str:
    """Return the text with a to z in upper case; other characters do not change."""
    return text.upper() if text.isascii() else text.translate(_UPPER)


def join(parts: list[str], separator: str = "") -> str:
    """Return the strings of a list as one string."""
    try:
        return separator.join(parts)
    except TypeError:
        raise EvalError(NO_OVERLOAD) from None


def quote(text: str) -> str:
    """Return the text in double quotes, with escapes for characters that cannot be printed."""
    return f'"{text.translate(_ESCAPES)}"'


def _estimate_replace(arguments: tuple[Argument, ...]) -> CallEstimate:
    """Return the estimate. The longest result replaces the shortest parts with the longest text,
    and the shortest result the opposite."""
    text, old, new = (argument.size for argument in arguments[:3])
    if old.min == 0:
        most, unreplaced_most = min(text.max + 1, TOP), text.max
    elif new.max <= old.min:
        most, unreplaced_most = 0, text.max
    else:
        most, unreplaced_most = min(math.ceil(text.max / old.min), TOP), 0
    if old.max == 0:
        least, unreplaced_least = min(text.min + 1, TOP), text.min
    elif old.max <= new.min:
        least, unreplaced_least = 0, text.min
    else:
        least, unreplaced_least = math.ceil(text.min / old.max), 0
    size = Range(least, most) * new + Range(unreplaced_least, unreplaced_most)
    return CallEstimate(text.times(2 * STRING_FACTOR), size)


def _estimate_split(arguments: tuple[Argument, ...]) -> CallEstimate:
    size = arguments[0].size
    most = size.max
    if len(arguments) > 2 and isinstance(arguments[2].constant, int):
        limit = arguments[2].constant
        most = limit if limit >= 0 else limit + TOP + 1
    return CallEstimate(size.times(2 * STRING_FACTOR), Range(0, most))


def _estimate_join(arguments: tuple[Argument, ...]) -> CallEstimate:
    target = arguments[0]
    size = target.size * costs.element_size(target) if target.type.params else ZERO
    if len(arguments) > 1:
        separators = Range(max(target.size.min - 1, 0), max(target.size.max - 1, 0))
        size += arguments[1].size * separators
    return CallEstimate(size.times(STRING_FACTOR), size)


def _estimate_quote(arguments: tuple[Argument, ...]) -> CallEstimate:
    size = arguments[0].size
    longest = min(size.max * 2 + 2, TOP)
    return CallEstimate(size.times(STRING_FACTOR), Range(size.min + 2, longest))


def _search(id: str, impl: object, *, with_offset: bool = False, last: bool = False) -> Overload:
    assert callable(impl)
    return Overload(
        "lastIndexOf" if last else "indexOf",
        id,
        (STRING, STRING, INT) if with_offset else (STRING, STRING),
        INT,
        impl,
        receiver=True,
        cost=costs.traversal,
        estimate=costs.estimate_traversal,
        fails=with_offset,
    )


def _plain(function: str, id: str, impl: object, *, numbers: int = 0) -> Overload:
    """Declare a function of a string whose result is a string of at most the same length."""
    assert callable(impl)
    return Overload(
        function,
        id,
        (STRING, *(INT,) * numbers),
        STRING,
        impl,
        receiver=True,
        cost=costs.per_size(),
        estimate=costs.sized(keeps_size=True),
        fails=numbers > 0,
    )


def _replacing(id: str, *limit: Type) -> Overload:
    return Overload(
        "replace", id, (STRING, STRING, STRING, *limit), STRING, replace,
        receiver=True, cost=costs.per_size(2 * STRING_FACTOR), estimate=_estimate_replace,
        fails=False,
    )  # fmt: skip


def _splitting(id: str, *limit: Type) -> Overload:
    return Overload(
        "split", id, (STRING, STRING, *limit), LIST_STRING, split,
        receiver=True, cost=costs.per_size(2 * STRING_FACTOR), estimate=_estimate_split,
        fails=False,
    )  # fmt: skip


def _joining(id: str, *separators: object) -> Overload:
    return Overload(
        "join",
        id,
        (LIST_STRING, *(STRING for _ in separators)),
        STRING,
        join,
        receiver=True,
        cost=costs.per_result(2 * STRING_FACTOR),
        estimate=_estimate_join,
    )


OVERLOADS: Final[tuple[Overload, ...]] = (
    Overload("charAt", "string_char_at_int", (STRING, INT), STRING, char_at, receiver=True),
    _search("string_index_of_string", index_of),
    _search("string_index_of_string_int", index_of, with_offset=True),
    _search("string_last_index_of_string", last_index_of, last=True),
    _search("string_last_index_of_string_int", last_index_up_to, with_offset=True, last=True),
    _plain("lowerAscii", "string_lower_ascii", lower_ascii),
    _replacing("string_replace_string_string"),
    _replacing("string_replace_string_string_int", INT),
    _splitting("string_split_string"),
    _splitting("string_split_string_int", INT),
    _plain("substring", "string_substring_int", substring, numbers=1),
    _plain("substring", "string_substring_int_int", substring_between, numbers=2),
    _plain("trim", "string_trim", trim),
    _plain("upperAscii", "string_upper_ascii", upper_ascii),
    _joining("list_join"),
    _joining("list_join_string", "separator"),
    Overload(
        "format",
        "string_format",
        (STRING, LIST_DYN),
        STRING,
        formatting.format,
        receiver=True,
        cost=costs.per_size(),
        estimate=costs.sized(),
    ),
    Overload(
        "strings.quote",
        "strings_quote",
        (STRING,),
        STRING,
        quote,
        cost=costs.per_size(),
        estimate=_estimate_quote,
        fails=False,
    ),
)
