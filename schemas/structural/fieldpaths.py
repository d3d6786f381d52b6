"""Paths to values under validation: linked pairs, converted to texts only for errors."""

from typing import Any

Path = tuple[Any, Any] | None
"""(path of the parent, field name or index); None is the root."""


class MapKey(str):
    """A key of a map that is the whole value, such as a default: a dot precedes it too."""

    __slots__ = ()


ROOT: Path = None
NO_FIELD = "<nil>"
"""The text that upstream prints for the path of the root (a nil *field.Path)."""


def segments(path: Path) -> list[str | int]:
    """Return names and indices from the root down."""
    segments: list[str | int] = []
    while path is not None:
        path, last = path
        segments.append(last)
    segments.reverse()
    return segments


def text(path: Path) -> str:
    """`spec.items[0].name`; "" for the root. A map key follows a dot, like a field."""
    parts: list[str] = []
    for segment in segments(path):
        if isinstance(segment, int):
            parts.append(f"[{segment}]")
        else:
            parts.append(f".{segment}" if parts or isinstance(segment, MapKey) else segment)
    return "".join(parts)
