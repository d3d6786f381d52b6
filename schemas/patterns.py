"""Regular expressions with RE2's syntax and meaning.

RE2 decides what a pattern is and what it matches. Its Python wrapper is ten times slower than
`re`, so patterns of a plain sort, proven below to mean the same in both and to need polynomial
time at worst, run in `re` on short texts.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from re import _constants as ops  # type: ignore[attr-defined]  # no public home
from re import _parser  # type: ignore[attr-defined]  # no public home
from typing import Any

import re2

Matcher = Callable[[str], bool]
PatternError = re2.error

SHORT = 300
"""The longest text `re` is asked about; two unbounded repeats then cost at most 300² steps."""
_MOST_REPEATS = 2
_ODD = re.compile(
    r"[^\x20-\x7e]|\\[^dw./\-+^$|?*(){}\[\]]|\(\?[^:]|\[\[:|[*+?}][+?]|\{,|&&|--|~~|\|\|"
)
"""What RE2 and `re` may read differently: flags, \\b, \\s, classes of Unicode, lazy repeats…"""


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Matcher:
    """A function telling whether a text contains a match. Raises PatternError."""
    options = re2.Options()
    options.log_errors = False
    expression = re2.compile(pattern, options=options)
    search = expression.search

    def match(text: str) -> bool:
        return search(text) is not None

    return match


@lru_cache(maxsize=4096)
def short_matcher(pattern: str) -> Callable[[str], object] | None:
    """A faster search for texts of at most SHORT characters, where the pattern allows one."""
    fast = _as_python(pattern)
    return fast.search if fast else None


def _as_python(pattern: str) -> "re.Pattern[str] | None":
    """The same pattern for `re`, or None where that is not certain."""
    if _ODD.search(pattern) or len(pattern) > SHORT:
        return None
    try:
        tree = _parser.parse(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return None
    anchored = len(tree) and tree[0] == (ops.AT, ops.AT_BEGINNING)
    if _repeats(tree) + (not anchored) > _MOST_REPEATS:
        return None
    # `$` is the very end in RE2; in `re` it also stands before a last newline
    return re.compile(_end_anchored(pattern), re.ASCII)


def _end_anchored(pattern: str) -> str:
    parts = re.split(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])", pattern)
    return "".join(
        part if index % 2 else part.replace("$", r"\Z") for index, part in enumerate(parts)
    )


_TOO_MANY = 99


def _repeats(tree: Any) -> int:
    """How many unbounded repeats may take turns on one text; _TOO_MANY when they are nested.

    A repeated group counts once when a character of its own sets every round apart, as the dot
    in `(\\.[a-z]+)*` does.
    """
    total = 0
    for op, value in tree:
        if op is ops.SUBPATTERN:
            total += _repeats(value[3])
        elif op is ops.BRANCH:
            total += sum(_repeats(branch) for branch in value[1])
        elif op in {ops.MAX_REPEAT, ops.MIN_REPEAT}:
            total += _repeat(value)
        elif op not in {ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.AT, ops.ANY}:
            return _TOO_MANY
    return total


def _repeat(value: Any) -> int:
    least, most, body = value
    if _single(body):
        return 1 if most - least > _MOST_REPEATS else 0
    inner = _repeats(body)
    if most <= 1:
        return inner
    return max(inner, 1) if _separated(body) else _TOO_MANY


def _single(body: Any) -> bool:
    return len(body) == 1 and body[0][0] in {ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY}


def _separated(body: Any) -> bool:
    """The group starts with a character that nothing else in it can match."""
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
    if op in {ops.MAX_REPEAT, ops.MIN_REPEAT}:
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
