"""The conditions (`if=`) under which a line of the table applies.

`strategy` (is set), `!strategy` (`!` negates any condition), `type:A|B`, `type:` (is missing or
empty), `replicas<0`, `ready>replicas` (numbers, or times), `~tokens` (changed or new), `create`,
`update`, `@call`, `@call(word)`. Commas join several conditions. A member can be `old.type` (before
the update), `^hostNetwork` (of an enclosing struct) or `#ports` (the number of items).
"""

import re
from collections.abc import Callable
from functools import reduce
from typing import Any

from inkube.schemas.builtin.rules import functions, shapes, words
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.objects import semantically_same as same

Condition = Callable[[Frame], bool]
_Reader = Callable[[Frame], Any]
_COMPARISON = re.compile(r"([^<>]+)([<>])(.+)")
_OLD = "old."


def make(text: str, type_name: str, file: str, location: str) -> Condition:
    """Return the condition of a line on its struct. Raises RuleError."""
    parts = [_part(part, type_name, file, location) for part in text.split(",")]
    return reduce(_both, parts)


def _both(first: Condition, second: Condition) -> Condition:
    return lambda frame: first(frame) and second(frame)


def _part(text: str, type_name: str, file: str, location: str) -> Condition:
    if text.startswith("!"):
        whether = _part(text[1:], type_name, file, location)
        return lambda frame: not whether(frame)
    if text.startswith("@"):
        found = functions.find(file, text[1:], location)
        return lambda frame: bool(found(frame))
    if text in ("update", "create"):
        updates = text == "update"
        return lambda frame: frame.updates is updates
    if text.startswith("~"):
        before = _reader(text[1:])
        return lambda frame: frame.old is None or not same(before(frame), _of_old(frame, before))
    comparison = _COMPARISON.fullmatch(text)
    if comparison is not None:
        return _compared(_reader(comparison[1]), comparison[2] == "<", _operand(comparison[3]))
    member, colon, values = text.partition(":")
    read = _reader(member)
    if colon:
        wanted = frozenset(values.split("|"))
        return lambda frame: _text(read(frame)) in wanted
    try:
        known = shapes.at(type_name, member.removeprefix(_OLD).split("."))
    except KeyError:  # a member of an enclosing struct, or of a value that is not a struct
        known = shapes.ANYTHING
    return lambda frame: words.is_set(read(frame), known)


def _compared(read: _Reader, less: bool, other: _Reader) -> Condition:
    def compare(frame: Frame) -> bool:
        left, right = read(frame) or 0, other(frame) or 0
        if type(left) is not type(right):
            return False
        return bool(left < right if less else left > right)

    return compare


def _operand(text: str) -> _Reader:
    """Return the reader of a number, or of a member."""
    try:
        number = int(text)
    except ValueError:
        return _reader(text)
    return lambda _frame: number


def _of_old(frame: Frame, read: _Reader) -> Any:
    return read(Frame(frame.old or {}, frame.prefix, None, None, updates=True))


def _text(value: object) -> str:
    if value is None:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _reader(member: str) -> _Reader:
    if member.startswith("#"):
        items = _reader(member[1:])
        return lambda frame: len(items(frame) or ())
    outer, old = member.startswith("^"), member.startswith(_OLD)
    path = member.removeprefix("^").removeprefix(_OLD).split(".")
    first = path[0]
    if not outer and not old and len(path) == 1:
        return lambda frame: frame.obj.get(first)

    def read(frame: Frame) -> Any:
        found = frame.outer(first) if outer else frame
        return None if found is None else words.at(found.old if old else found.obj, path)

    return read
