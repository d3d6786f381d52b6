"""Values of JSON as Go's templates see them: what is true, how they are printed; and the bounds."""

from typing import Any

from inkube.schemas.golang import gotext

STEPS = 100_000
"""Nodes that one run may visit."""
LONGEST = 1024 * 1024
"""Characters that one run may write, or a template may have."""
DEEPEST = 100
"""Blocks or brackets within each other."""


class TemplateError(ValueError):
    """The template cannot be read, or asks for what is not supported."""


class RunError(Exception):
    """The template does not fit the object it is rendered for."""


def is_true(value: Any) -> bool:
    """Go's truth: what is empty, zero or nil is false."""
    return bool(value)


def printed(value: Any) -> str:
    """What `fmt.Print` writes for a value of JSON."""
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
    """A value within another, or as an argument: there nil has a text of its own."""
    return "<nil>" if value is None else printed(value)


def is_int(value: Any) -> bool:
    """Whether it is a whole number; true and false, which Python counts among them, are none."""
    return isinstance(value, int) and not isinstance(value, bool)
