"""Properties of every line of the table of rules, generated from the table itself.

Each type that can be valid alone has a valid struct (`support.validstructs`). The tests violate one
line at a time in it, and expect one error of the right type at the right place.
"""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import validstructs

from inkube.schemas.builtin.rules import conditions, shapes, table
from inkube.schemas.builtin.rules.formats import FORMATS
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.builtin.rules.table import Line, Word

NEWEST = table.NEWEST
PARAGRAPHS = {
    paragraph.type: paragraph
    for file in sorted(table.FOLDER.glob("*.rules"))
    for paragraph in table.read(file.read_text(), file.name)
    if not paragraph.occasion and table.holds(paragraph.words, NEWEST)
}
FOUND = {
    name: found for name in sorted(PARAGRAPHS) if (found := validstructs.find(name)) is not None
}
ODD_TEXTS = ("Not Valid!", "..", "a=b", "../x", "x")
ALONE = (
    "enum",
    "filled",
    "format",
    "max",
    "maxBytes",
    "maxLength",
    "min",
    "over",
    "range",
    "required",
)
"""Words that a value violates whatever the other values are."""


class Violation(NamedTuple):
    """A value that one word of a line refuses, and the expected errors: type and texts, None for
    any text."""

    value: Any
    sort: str
    texts: tuple[str | None, ...] = (None,)


BOUNDS = {
    "min": "must be greater than or equal to {}", "max": "must be less than or equal to {}",
    "over": "must be greater than {}",
}  # fmt: skip


def broken(word: Word, kind: str) -> Violation | None:
    """Return a value of the kind that the word refuses; None if there is none."""
    own = (word.text if "{" not in word.text else None,)
    match word.name:
        case "required" | "filled":
            return Violation(None, "REQUIRED", own)
        case "enum" if kind == "string":
            choices = ", ".join(f'"{choice}"' for choice in word.value.split("|"))
            return Violation("Bogus", "NOT_SUPPORTED", (f"supported values: {choices}",))
        case "maxLength" | "maxBytes" if kind == "string":
            return Violation("a" * (int(word.value) + 1), "INVALID" if word.text else "TOO_LONG")
        case "format" if kind == "string" and word.value in FORMATS:
            odd = next((text for text in ODD_TEXTS if FORMATS[word.value](text)), None)
            if odd is None:
                return None
            return Violation(odd, "INVALID", own if word.text else (*FORMATS[word.value](odd),))
        case "range" if kind in ("int32", "int64"):
            low, high = word.value.split("..")
            usual = f"must be between {low} and {high}, inclusive"
            return Violation(int(high) + 1, "INVALID", own if word.text else (usual,))
        case "min" | "max" | "over" if kind in ("int32", "int64"):
            past = int(word.value) + {"min": -1, "max": 1, "over": 0}[word.name]
            usual = BOUNDS[word.name].format(word.value)
            return Violation(past, "INVALID", own if word.text else (usual,))
    return None


def violations(name: str) -> Iterator[tuple[Line, Word, Violation]]:
    """Yield the possible violations in a type by a single value: each line once for each such
    word."""
    for line in PARAGRAPHS[name].lines(NEWEST):
        if line.element or not line.path or "[]." in line.field or line.find("ratchet"):
            continue
        kind = shapes.at(name, line.path).kind
        for word in line.words:
            found = broken(word, kind) if word.name in ALONE else None
            if found is not None and found.value == 0 and line.find("required"):
                found = found._replace(value=-1)  # zero means unset, which is reported first
            if found is not None:
                yield line, word, found


def set_at(value: Any, path: list[str], new: Any) -> None:
    for key in path[:-1]:
        value = value.setdefault(key, {})
    if new is None:
        value.pop(path[-1], None)
    else:
        value[path[-1]] = new


def place_of(line: Line) -> str:
    """Return the path of a line's errors."""
    word = line.find("at")
    if word is None:
        return line.field
    return "" if word.value == "." else word.value.removeprefix("/")


def reads(line: Line, field: str) -> bool:
    """Return whether a line is about a field, or may read it in a function or condition."""
    condition = line.find("if")
    names = condition.value if condition is not None else ""
    return (
        line.path[:1] in ([], [field])
        or field in names
        or "@" in names
        or line.find("call") is not None
        or line.find("at") is not None
    )


def holds(name: str, line: Line, value: Any) -> bool:
    """Return whether the line's condition holds for the struct."""
    word = line.find("if")
    if word is None:
        return True
    whether = conditions.make(word.value, name, line.location.partition(".rules")[0], line.location)
    return whether(Frame(value, "", None, None, updates=False))


def test_nine_types_in_ten_have_a_valid_struct():
    assert len(FOUND) >= 0.9 * len(PARAGRAPHS)


@pytest.mark.parametrize("name", FOUND)
def test_a_violation_of_one_line_is_that_lines_error(name):
    for line, word, found in violations(name):
        value = copy.deepcopy(FOUND[name])
        set_at(value, line.path, found.value)
        if not holds(name, line, value):
            continue
        try:
            errors = validstructs.errors(name, value)
        except AssertionError:  # the line's function reads the surrounding struct
            continue
        own = [
            error
            for error in errors
            if error.field == place_of(line)
            and error.type.name == found.sort
            and (None in found.texts or error.detail in found.texts)
        ]
        assert len(own) == len(found.texts), (line.location, word, own)
        others = {error.field.split(".")[0].split("[")[0] for error in errors if error not in own}
        for other in others - {line.path[0]}:
            assert any(
                reads(each, line.path[0])
                for each in PARAGRAPHS[name].lines(NEWEST)
                if each.path[:1] == [other] or not each.path or each.find("at")
            ), (line.location, word, other)
