"""Ratcheting of rules: a failure at an unchanged value is only a warning.

Follows `ratchetingOptions` in apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
"""

from typing import Any

from inkube.schemas.structural import Correlation


class Ratchet:
    """A place in a new object, and the nearest place at or above it with an old counterpart."""

    __slots__ = ("_current", "_parent")

    def __init__(self, current: Correlation | None, parent: Correlation | None = None) -> None:
        self._current = current
        self._parent = parent

    def child(self, segment: str | int) -> "Ratchet":
        """Return the ratchet of a property, map value or list item."""
        if self._current is None:
            return self
        return Ratchet(self._current.child(segment), self._current)

    @property
    def old(self) -> Any:
        """The old value, None if this place has no counterpart."""
        return None if self._current is None else self._current.old

    @property
    def holds(self) -> bool:
        """Whether a failure here is only a warning."""
        nearest = self._current or self._parent
        return nearest is not None and nearest.equal
