"""Regular expressions with RE2's syntax and meaning.

RE2 decides whether a pattern is valid and what it matches (`regexp`). It is five times slower than
`re`, so `re` searches short texts for simple patterns. The functions below prove that a pattern has
the same meaning in both and cannot take long. A repeated group cannot take long if every round
starts with a character that no other part matches, and can match in only one way, like the dots in
`(\\.[a-z]+)*`.
"""

import re
from collections.abc import Callable
from typing import Any

from inkube.schemas import caches
from inkube.schemas.golang import regexp

try:  # neither has a public name
    from re import _constants as ops  # type: ignore[attr-defined]
    from re import _parser  # type: ignore[attr-defined]
except ImportError:  # in a later Python: `regexp` searches all texts
    _parser = None

Matcher = Callable[[str], bool]
PatternError = regexp.RegexError

_LONGEST, _SHORTEST = 300, 8
"""The longest text for `re`, and the shortest limit for which `re` is used at all."""
_MOST_STEPS = 2_000_000
"""The limit of steps for a text that was made to be slow: some ten milliseconds."""
_ODD = re.compile(
    r"[^\x20-\x7e]|\\[^dw./\-+^$|?*(){}\[\]]|\(\?[^:]|\[\[:|[*+?}][+?]|\{,|&&|--|~~|\|\|"
)
"""Syntax with another meaning in RE2 and `re`: flags, \\b, \\s, classes of Unicode, lazy
repeats…"""


def matcher(pattern: str) -> Matcher:
    """Return a function that tests whether a text contains a match. Raises PatternError."""
    return regexp.compile(pattern).matches


@caches.of_texts(4096)
def short_matcher(pattern: str) -> tuple[Callable[[str], object], int] | None:
    """Return a faster search and the longest text that it accepts, or None without one."""
    if _parser is None or _ODD.search(pattern) or len(pattern) > _LONGEST:
        return None
    try:
        tree = _parser.parse(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return None
    repeats, options = _freedom(tree)
    anchored = len(tree) and tree[0] == (ops.AT, ops.AT_BEGINNING)
    tries = repeats + (not anchored)
    steps = _MOST_STEPS >> min(options, 64)
    longest = min(int(steps ** (1 / tries)) if tries else steps, _LONGEST)
    if longest < _SHORTEST:
        return None
    # `$` is the end of the text in RE2; in `re`, it also matches before a final newline
    return re.compile(_end_anchored(pattern), re.ASCII).search, longest


def _end_anchored(pattern: str) -> str:
    parts = re.split(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])", pattern)
    return "".join(
        part if index % 2 else part.replace("$", r"\Z") for index, part in enumerate(parts)
    )


_WILD = (99, 99)


def _freedom(tree: Any) -> tuple[int, int]:
    """Return the number of retries of `re`: (unbounded repeats, choices), or _WILD if they are
    nested."""
    repeats = options = 0
    for index, (op, value) in enumerate(tree):
        more = (0, 0)
        if op is ops.SUBPATTERN:
            more = _freedom(value[3])
        elif op is ops.BRANCH:
            branches = [_freedom(branch) for branch in value[1]]
            more = (
                max(r for r, _ in branches),
                max(o for _, o in branches) + (len(branches) - 1).bit_length(),
            )
        elif op is ops.MAX_REPEAT:
            more = _freedom_of_repeat(value)
        elif op not in {ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.AT, ops.ANY}:
            return _WILD
        if _is_settled(tree, index):
            more = (0, 0)
        repeats, options = repeats + more[0], options + more[1]
    return repeats, options


def _is_settled(tree: Any, index: int) -> bool:
    """Return whether the next character ends a repeated class, such as the digits in `[0-9]+m`."""
    item = tree[index]
    while item[0] is ops.SUBPATTERN and len(item[1][3]) == 1:
        item = item[1][3][0]
    if item[0] is not ops.MAX_REPEAT or not _single(item[1][2]) or index + 1 == len(tree):
        return False
    after, code = tree[index + 1]
    return after is ops.LITERAL and not _can_match(item, code)


def _freedom_of_repeat(value: Any) -> tuple[int, int]:
    least, most, body = value
    if _single(body):
        return (int(most - least > 1), int(most - least == 1))
    if most <= 1:
        repeats, options = _freedom(body)
        return repeats, options + 1
    return (1, 0) if _separated(body) and _one_way(body) else _WILD


def _one_way(body: Any) -> bool:
    """Return whether only one part has a variable length, so that a text matches in one way at
    most."""
    while len(body) == 1 and body[0][0] is ops.SUBPATTERN:
        body = body[0][1][3]
    varying = [value for op, value in body if op is ops.MAX_REPEAT and value[0] != value[1]]
    fixed = all(op in {ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY, ops.MAX_REPEAT}
                for op, _ in body)  # fmt: skip
    if not fixed or len(varying) > 1:
        return False
    repeated = [value for op, value in body if op is ops.MAX_REPEAT]
    return all(_single(value[2]) or _optional_one_way(value) for value in repeated)


def _optional_one_way(value: Any) -> bool:
    least, most, body = value
    return bool((least, most) == (0, 1) and body.getwidth()[0] > 0 and _one_way(body))


def _single(body: Any) -> bool:
    return len(body) == 1 and body[0][0] in {ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY}


def _separated(body: Any) -> bool:
    """Return whether the group starts with a character that no other part of it can match."""
    while len(body) == 1 and body[0][0] is ops.SUBPATTERN:
        body = body[0][1][3]
    if not body or body[0][0] is not ops.LITERAL:
        return False
    return not any(_can_match(item, body[0][1]) for item in body[1:])


def _can_match(item: Any, code: int) -> bool:
    op, value = item
    if op is ops.LITERAL:
        return bool(value == code)
    if op is ops.IN:
        return bool(re.match(_class_text(value), chr(code), re.ASCII))
    if op is ops.SUBPATTERN:
        return any(_can_match(inner, code) for inner in value[3])
    if op is ops.BRANCH:
        return any(_can_match(inner, code) for branch in value[1] for inner in branch)
    if op is ops.MAX_REPEAT:
        return any(_can_match(inner, code) for inner in value[2])
    return op is not ops.AT


_CATEGORIES = {ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_WORD: r"\w"}


def _class_text(items: Any) -> str:
    text = ""
    for op, value in items:
        if op is ops.NEGATE:
            text += "^"
        elif op is ops.LITERAL:
            text += re.escape(chr(value))
        elif op is ops.RANGE:
            text += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        else:
            text += _CATEGORIES.get(value, r"\x00-\x7f")
    return f"[{text}]"
