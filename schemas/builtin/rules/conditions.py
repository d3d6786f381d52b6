"""The conditions (`if=`) under which a line of the table applies.

`strategy` (is set), `!strategy` (`!` negates any condition), `type:A|B`, `replicas<0`,
`replicas>9`, `~tokens` (changed or new), `^hostNetwork` (of an enclosing struct), `create`,
`update`, `@call`, `@call(word)`. Commas join several conditions.
"""

import re
from collections.abc import Callable

from inkube.schemas.builtin.rules import functions, shapes
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.builtin.rules.words import is_set
from inkube.schemas.objects import semantically_same as same

Condition = Callable[[Frame], bool]
_COMPARISON = re.compile(r"([^<>]+)([<>])(-?[0-9]+)")


def make(text: str, type_name: str, file: str, location: str) -> Condition:
    """Return the condition of a line on its struct. Raises RuleError."""
    parts = [_part(part, type_name, file, location) for part in text.split(",")]
    if len(parts) == 1:
        return parts[0]
    return lambda frame: all(part(frame) for part in parts)


def _part(text: str, type_name: str, file: str, location: str) -> Condition:
    if text.startswith("!"):
        whether = _part(text[1:], type_name, file, location)
        return lambda frame: not whether(frame)
    if text.startswith("@"):
        name, parenthesis, argument = text[1:].partition("(")
        found = functions.find(file, name, location)
        if parenthesis:
            return lambda frame: bool(found(argument.removesuffix(")"), frame))
        return lambda frame: bool(found(frame))
    if text in ("update", "create"):
        updates = text == "update"
        return lambda frame: frame.updates is updates
    if text.startswith("~"):
        before = _reader(text[1:])
        return lambda frame: frame.old is None or not same(before(frame), _of_old(frame, before))
    comparison = _COMPARISON.fullmatch(text)
    if comparison is not None:
        return _compared(_reader(comparison[1]), comparison[2] == "<", int(comparison[3]))
    member, colon, values = text.partition(":")
    read = _reader(member)
    if colon:
        wanted = frozenset(values.split("|"))
        return lambda frame: _text(read(frame)) in wanted
    try:
        known = shapes.at(type_name, member.split("."))
    except KeyError:  # a member of an enclosing struct, or of a value that is not a struct
        known = shapes.ANYTHING
    return lambda frame: is_set(read(frame), known)


def _compared(read: Callable[[Frame], object], less: bool, bound: int) -> Condition:
    def compare(frame: Frame) -> bool:
        number = read(frame) or 0
        return isinstance(number, int) and (number < bound if less else number > bound)

    return compare


def _of_old(frame: Frame, read: Callable[[Frame], object]) -> object:
    return read(Frame(frame.old or {}, frame.prefix, None, None, updates=True))


def _text(value: object) -> str:
    if value is None:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _reader(member: str) -> Callable[[Frame], object]:
    outer = member.startswith("^")
    path = member.removeprefix("^").split(".")
    first = path[0]
    if not outer and len(path) == 1:
        return lambda frame: frame.obj.get(first)

    def read(frame: Frame) -> object:
        found = frame.outer(first) if outer else frame
        value: object = None if found is None else found.obj
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return read
