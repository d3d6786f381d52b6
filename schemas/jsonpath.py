"""The JSONPath of printer columns: parse once, find values in plain JSON.

    .spec.size   ['key']   [0]   [-1]   [1:3]   [*]   ..name   [?(@.type=="Ready")]

Follows client-go/util/jsonpath for relaxed column expressions. Raises ValueError for a path that
does not parse. A path with missing members finds no values.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from inkube.schemas import caches

Step = Callable[[Any], Iterator[Any]]
MAX_MATCHES = 10_000  # limits the memory for `..` over a large object

_TOKEN = r"""
    (?P<recursive>\.\.)
  | \.?\[\?\((?P<filter>(?:[^()'"]|'[^']*'|"[^"]*"|\([^()]*\))*)\)\]
  | \.?\[(?P<index>(?:[^\[\]'"]|'[^']*'|"[^"]*")*)\]
  | \.(?P<field>(?:\\.|[^.\[\]\\\s{}])+)
  | (?P<first>(?:\\.|[^.\[\]\\\s{}])+)
    """
_COMPARISON = r"\s*(?P<left>.+?)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<right>.+?)\s*)?$"


@caches.of_texts(4096)
def parse(path: str) -> Callable[[Any], list[Any]]:
    """A function that finds every value at `path`, in order."""
    steps = tuple(_steps(path.strip()))

    def find(value: Any) -> list[Any]:
        matches = [value]
        for step in steps:
            matches = [each for one in matches for each in step(one)][:MAX_MATCHES]
        return matches

    return find


def _steps(path: str) -> Iterator[Step]:
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1]
    place = 0
    if path in ("", ".", "@", "$"):
        return
    if path[0] in "@$":
        place = 1
    token = re.compile(_TOKEN, re.VERBOSE)  # half a millisecond less at the start
    while place < len(path):
        match = token.match(path, place)
        if match is None:
            raise ValueError(f"cannot read {path[place:]!r} in JSONPath {path!r}")
        place = match.end()
        yield _step(match)


def _step(match: re.Match[str]) -> Step:
    if match["recursive"]:
        return _everything
    if match["filter"] is not None:
        return _filter(match["filter"])
    if match["index"] is not None:
        return _index(match["index"].strip())
    name = re.sub(r"\\(.)", r"\1", match["field"] or match["first"])
    return _all if name == "*" else _member(name)


def _member(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _everything(value: Any) -> Iterator[Any]:
    """The value and all values below it, without recursion; stops after MAX_FOUND values."""
    waiting = [value]
    for _ in range(MAX_MATCHES):
        if not waiting:
            return
        current = waiting.pop()
        yield current
        waiting.extend(reversed(list(_all(current))))


def _index(text: str) -> Step:
    if text == "*":
        return _all
    if text[:1] in "'\"" and text:
        names = [part.strip()[1:-1] for part in text.split(",")]
        members = [_member(name) for name in names]
        return lambda value: (item for member in members for item in member(value))
    if re.fullmatch(r"-?\d*(:-?\d*){1,2}", text):
        bounds = [int(part) if part else None for part in text.split(":")]
        return lambda value: iter(_sliced(value, slice(*bounds)))
    numbers = [int(part) for part in text.split(",")]
    return lambda value: iter(_picked(value, numbers))


def _sliced(value: Any, part: slice) -> Sequence[Any]:
    return value[part] if isinstance(value, list) else []


def _picked(value: Any, numbers: list[int]) -> Sequence[Any]:
    if not isinstance(value, list):
        return []
    return [value[n] for n in numbers if -len(value) <= n < len(value)]


def _filter(text: str) -> Step:
    match = re.match(_COMPARISON, text)
    if match is None:
        raise ValueError(f"cannot read the filter {text!r}")
    left = _operand(match["left"])
    operator = match["op"]
    right = _operand(match["right"]) if operator else None

    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            operand = left(item)
            if right is None:
                if operand:
                    yield item
            elif operand and _holds(operand[0], operator, right(item)):
                yield item

    return step


def _operand(text: str) -> Callable[[Any], list[Any]]:
    text = text.strip()
    if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 1:
        return lambda _: [text[1:-1]]
    if text.startswith("@"):
        return parse(text)
    if text in ("true", "false"):
        return lambda _: [text == "true"]
    number = float(text)
    return lambda _: [number]


def _holds(left: Any, operator: str, right: list[Any]) -> bool:
    if not right:
        return False
    other = right[0]
    if operator in ("==", "!="):
        equal = left == other and isinstance(left, bool) == isinstance(other, bool)
        return equal is (operator == "==")
    try:
        below, above = bool(left < other), bool(left > other)
    except TypeError:
        return False
    equal = left == other
    return {"<": below, "<=": below or equal, ">": above, ">=": above or equal}[operator]
