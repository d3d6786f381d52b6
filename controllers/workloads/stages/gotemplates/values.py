"""Values of JSON in Go's templates: their truth and their text. Also the limits of templates."""

from typing import Any

from inkube.formats import gotext

STEPS = 100_000
"""Steps of one run, at most: nodes, calls, and the sizes of their results."""
LONGEST = 1024 * 1024
"""Characters of a template, or of the output of one run, at most."""
DEEPEST = 100
"""Nested blocks or brackets, at most."""


class TemplateError(ValueError):
    """The template cannot be read, or uses an unsupported feature."""


class RunError(Exception):
    """The template cannot be rendered for an object, or exceeds a limit."""


def is_true(value: Any) -> bool:
    """Return the truth of a value in Go's templates: empty values, zero and nil are false."""
    return bool(value)


def format_value(value: Any) -> str:
    """Return the text that `fmt.Print` writes for a value of JSON; nil is `<no value>`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        inner = " ".join(f"{key}:{inside(value[key])}" for key in sorted(value))
        return f"map[{inner}]"
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(inside(item) for item in value)}]"
    return str(value) if is_int(value) else gotext.number(value)


def inside(value: Any) -> str:
    """Return the text of a value within another value, or of an argument; nil is `<nil>`."""
    return "<nil>" if value is None else format_value(value)


def is_int(value: Any) -> bool:
    """Return whether a value is an int. A bool, which is an int in Python, is not."""
    return isinstance(value, int) and not isinstance(value, bool)
