"""The checks of one value without its children: type, text, format, number, enum, size.

Each function returns the steps that a schema requires, and [] without such keywords. They follow
kube-openapi/pkg/validation/validate/{type,validator,values}.go.
"""

from collections.abc import Callable, Collection
from types import NoneType
from typing import Any

from inkube.schemas.fielderrors import FieldError, Type, invalid, supported, too_long, too_many
from inkube.schemas.golang import patterns
from inkube.schemas.structural import enums, fieldpaths, formats, numbers
from inkube.schemas.structural.fieldpaths import Path
from inkube.schemas.structural.findings import (
    Sink,
    Step,
    add_invalid,
    add_type_error,
    field,
    placeless,
)
from inkube.schemas.structural.nodes import Node

JSON_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    NoneType: "null",
}
_GO_FORMATS = {int: "int64", float: "float64"}
"""The format that kube-openapi infers from a Go type."""

# ------------------------------------------------------------------------------- types


def type_steps(node: Node, kind: type) -> list[Step]:
    """Return the step that checks the type of a value and, for numbers, the format."""
    types, form = node.types, node.format
    name = JSON_TYPES[kind]
    if kind is NoneType:
        refused = bool(types) and "null" not in types and not node.nullable
        return [_always_wrong(",".join(types), "null")] if refused else []
    if not types and not form:
        return []
    go_format = _GO_FORMATS.get(kind, "")
    fine = name in types or (kind is int and "number" in types)
    if kind is float and not fine and "integer" in types:
        return [_whole_number(form or ",".join(types), go_format if form else name)]
    if kind not in {str, list} and form and not fine and go_format != form:
        return [_always_wrong(form, go_format)]
    numeric = "number" in types or "integer" in types
    if fine or (not numeric and form and kind in {str, list}):
        return []
    return [_always_wrong(",".join(types), name)]


def type_fails(node: Node, value: Any) -> bool:
    """Return whether the value does not have one of the types."""
    errors = Sink()
    for step in type_steps(node, type(value)):
        step(value, None, errors)
    return bool(errors)


def _always_wrong(expected: str, type_name: str) -> Step:
    return lambda _value, path, errors: add_type_error(path, expected, type_name, errors)


def _whole_number(expected: str, type_name: str) -> Step:
    def check_whole(value: Any, path: Path, errors: Sink) -> None:
        if not numbers.is_whole(value):
            add_type_error(path, expected, type_name, errors)

    return check_whole


# -------------------------------------------------------------------- texts and numbers


def string_steps(node: Node) -> list[Step]:
    """Return the step that checks length and pattern; an error of the length hides one of the
    pattern."""
    raw = node.raw
    least, most, pattern = raw.get("minLength"), raw.get("maxLength"), raw.get("pattern")
    if least is None and most is None and not pattern:
        return []
    shortest, longest = least or 0, most if most is not None else 1 << 62
    matches = _matcher(pattern) if pattern else _anything

    def check_string(value: Any, path: Path, errors: Sink) -> None:
        size = len(value)
        if size > longest:
            errors.append(too_long(field(path), longest))
        elif size < shortest:
            add_invalid(path, value, f"should be at least {shortest} chars long", errors)
        else:
            add_mismatch(value, path, errors)

    def add_mismatch(value: str, path: Path, errors: Sink) -> None:
        try:
            matched = matches(value)
        except patterns.PatternError as error:  # too many steps to decide
            add_invalid(path, value, str(error), errors)
        else:
            if not matched:
                add_invalid(path, value, f"should match '{pattern}'", errors)

    short = patterns.short_matcher(pattern) if pattern else None
    if short is not None:
        return [_unless_matched((shortest, min(longest, short[1])), short[0], check_string)]
    return [check_string if pattern else _unless_sized((shortest, longest), check_string)]


def _unless_sized(sizes: tuple[int, int], whole: Step) -> Step:
    """Return a step that runs `whole` only for a text with a length outside of `sizes`."""
    shortest, longest = sizes

    def check(value: Any, path: Path, errors: Sink) -> None:
        if not shortest <= len(value) <= longest:
            whole(value, path, errors)

    return check


def _unless_matched(sizes: tuple[int, int], search: Callable[[str], object], whole: Step) -> Step:
    """Return a step that runs `whole` for a text with a length outside of `sizes`, or without a
    match."""
    shortest, longest = sizes

    def check(value: Any, path: Path, errors: Sink) -> None:
        if not (shortest <= len(value) <= longest and search(value)):
            whole(value, path, errors)

    return check


def _anything(_text: str) -> bool:
    return True


def _matcher(pattern: str) -> patterns.Matcher:
    try:
        return patterns.matcher(pattern)
    except patterns.PatternError:
        return lambda _text: False  # upstream also compiles the pattern only for a value


def format_steps(node: Node) -> list[Step]:
    """Return the step that checks the format of a text."""
    form = node.format
    conforms = formats.check_for(form) if form else None
    if conforms is None:
        return []

    def check_format(value: Any, path: Path, errors: Sink) -> None:
        if not conforms(value):
            add_type_error(path, form, value, errors)

    return [check_format]


def number_steps(node: Node, kind: type, *, ranges_fractions: bool = True) -> list[Step]:
    """Return the step that checks a number by the range of its format and the bounds.

    `ranges_fractions`: whether a fraction is out of the range of integers too, in addition to the
    error of its type.
    """
    declared = node.types[0] if len(node.types) == 1 else ""
    form = node.format
    bounds = numbers.compile_bounds(dict(node.raw), declared, form)
    always_fits = (declared == "integer" and kind is int and form != "int32") or (
        declared != "integer" and form != "float"
    )
    always_fits |= not ranges_fractions
    if always_fits and not bounds:
        return []
    range_text = numbers.range_problem("Checked", declared, form)
    safe = kind is int or declared != "integer"
    low, high = numbers.safe_range(node.raw, declared, form) if safe else (0, 0)

    def check_number(value: Any, path: Path, errors: Sink) -> None:
        if low < value < high:
            return
        if not always_fits and not numbers.fits(value, declared, form):
            errors.append(placeless(range_text + fieldpaths.text(path)))
        for bound in bounds:
            for before, after, wrong in bound(value):
                text = f"{before}{fieldpaths.text(path)}{after}"
                error = placeless(text) if wrong is None else invalid(field(path), wrong, text)
                errors.append(error)

    return [check_number]


# ------------------------------------------------------------------------------- enums


def enum_steps(node: Node, kind: type) -> list[Step]:
    """Return the step that checks the enum."""
    choices = node.enum
    if not choices:
        return []
    detail = supported(enums.choice_texts(choices))
    texts = frozenset(choice for choice in choices if isinstance(choice, str))
    right = tuple(choice for choice in choices if isinstance(choice, str))

    def refuse(value: Any, path: Path, errors: Sink) -> None:
        errors.append(FieldError(Type.NOT_SUPPORTED, field(path), value, detail, "", right))

    def check_text(value: Any, path: Path, errors: Sink) -> None:
        if value not in texts:
            refuse(value, path, errors)

    def check_enum(value: Any, path: Path, errors: Sink) -> None:
        if not enums.is_choice(value, choices):
            refuse(value, path, errors)

    return [check_text if kind is str else check_enum]


# ------------------------------------------------------------------------------- sizes


def size_steps(node: Node) -> list[Step]:
    """Return the step that checks minItems and maxItems."""
    least, most = node.raw.get("minItems"), node.raw.get("maxItems")
    return [] if least is None and most is None else [size_step(least, most, "items")]


def forbidden_step(declared: Collection[str]) -> Step:
    """Return the step that refuses the members of an object that are not declared."""

    def check_members(value: Any, path: Path, errors: Sink) -> None:
        for name in value:
            if name not in declared:
                add_invalid(path, name, "is a forbidden property", errors, name)

    return check_members


def size_step(least: int | None, most: int | None, noun: str) -> Step:
    """Return the step that checks the number of items or members."""

    def check_size(value: Any, path: Path, errors: Sink) -> None:
        size = len(value)
        if least is not None and size < least:
            add_invalid(path, size, f"should have at least {least} {noun}", errors)
        if most is not None and size > most:
            errors.append(too_many(field(path), size, most))

    return check_size
