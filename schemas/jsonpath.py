"""The JSONPath of printer columns: parse once, find values in plain JSON.

    .spec.size   ['key']   [0]   [-1]   [1:3]   [*]   ..name   [?(@.type=="Ready")]

Follows client-go/util/jsonpath for relaxed column expressions. Raises ValueError for a path that
does not parse. A path with missing members finds no values.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from inkube.schemas import caches

MAX_MATCHES = 10_000  # limits the memory for `..` over a large object
MAX_WORK = 50_000
"""The default number of values that the search for a path visits: 10 to 20 ms."""

_TOKEN = r"""
    (?P<recursive>\.\.)
  | \.?\[\?\((?P<filter>(?:[^()'"]|'[^']*'|"[^"]*"|\([^()]*\))*)\)\]
  | \.?\[(?P<index>(?:[^\[\]'"]|'[^']*'|"[^"]*")*)\]
  | \.(?P<field>(?:\\.|[^.\[\]\\\s{}])+)
  | (?P<first>(?:\\.|[^.\[\]\\\s{}])+)
    """
_OPERATOR = r"==|!=|<=|>=|<|>"


class Work:
    """The number of values that searches can still visit together. After that, they find nothing:
    a definition can have many columns, and each can search a whole object."""

    __slots__ = ("left",)

    def __init__(self, left: int = MAX_WORK) -> None:
        self.left = left


Step = Callable[[Any, Work], Iterator[Any]]


@caches.of_texts(4096)
def parse(path: str) -> Callable[..., list[Any]]:
    """Return a function that finds every value at `path`, in order: `find(value, work)`. Without
    `work`, it visits at most MAX_WORK values."""
    steps = tuple(_steps(path.strip()))

    def find(value: Any, work: Work | None = None) -> list[Any]:
        work = Work() if work is None else work
        matches = [value]
        for step in steps:
            matches = _matches(step, matches, work)
        return matches

    return find


def _matches(step: Step, values: list[Any], work: Work) -> list[Any]:
    found: list[Any] = []
    for value in values:
        for each in step(value, work):
            found.append(each)
            work.left -= 1
            if len(found) >= MAX_MATCHES or work.left < 0:
                return found if work.left >= 0 else []
    return found


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
    def step(value: Any, work: Work) -> Iterator[Any]:
        work.left -= 1
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _all(value: Any, work: Work) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _everything(value: Any, work: Work) -> Iterator[Any]:
    """Yield the value and all values below it, without recursion; stops after MAX_MATCHES
    values."""
    waiting = [value]
    for _ in range(MAX_MATCHES):
        if not waiting:
            return
        current = waiting.pop()
        yield current
        waiting.extend(reversed(list(_all(current, work))))


def _index(text: str) -> Step:
    if text == "*":
        return _all
    if text[:1] in "'\"" and text:
        names = [part.strip()[1:-1] for part in text.split(",")]
        members = [_member(name) for name in names]
        return lambda value, work: (item for member in members for item in member(value, work))
    if re.fullmatch(r"-?\d*(:-?\d*){1,2}", text):
        bounds = [int(part) if part else None for part in text.split(":")]
        return lambda value, work: iter(_sliced(value, slice(*bounds)))
    numbers = [int(part) for part in text.split(",")]
    return lambda value, work: iter(_picked(value, numbers))


def _sliced(value: Any, part: slice) -> Sequence[Any]:
    return value[part] if isinstance(value, list) else []


def _picked(value: Any, numbers: list[int]) -> Sequence[Any]:
    if not isinstance(value, list):
        return []
    return [value[n] for n in numbers if -len(value) <= n < len(value)]


def _filter(text: str) -> Step:
    text = text.strip()
    match = re.compile(_OPERATOR).search(text, 1)
    if not text or (match is not None and match.end() == len(text)):
        raise ValueError(f"cannot read the filter {text!r}")
    left = _operand(text if match is None else text[: match.start()])
    operator = "" if match is None else match[0]
    right = None if match is None else _operand(text[match.end() :])

    def step(value: Any, work: Work) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            work.left -= 1
            if work.left < 0:
                return
            operand = left(item, work)
            if right is None:
                if operand:
                    yield item
            elif operand and _holds(operand[0], operator, right(item, work)):
                yield item

    return step


def _operand(text: str) -> Callable[[Any, Work], list[Any]]:
    text = text.strip()
    if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 1:
        return lambda *_: [text[1:-1]]
    if text.startswith("@"):
        return parse(text)
    if text in ("true", "false"):
        return lambda *_: [text == "true"]
    number = float(text)
    return lambda *_: [number]


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
