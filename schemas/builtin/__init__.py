"""Built-in kinds: their definitions as data, their behaviours, columns and typed decoding."""

from inkube.schemas.builtin.definitions import definitions
from inkube.schemas.builtin.resources import Resource, Subresource

__all__ = ["Resource", "Subresource", "definitions"]
