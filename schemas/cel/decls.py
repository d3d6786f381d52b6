"""Declared shapes: a CEL type with what the schema says beyond it.

A shape tells the checker the fields of an object, the compiler which JSON values are something else
in CEL (a date-time is a timestamp, a set compares as a set), and the estimator how large values
may be.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from inkube.schemas.cel import types
from inkube.schemas.cel.types import Type


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A property: `key` in the JSON object, known by its escaped name. Null counts as absent."""

    key: str
    shape: "Decl"
    nullable: bool = False


@dataclass(slots=True, eq=False)
class Decl:
    """A value's shape. `element` is a list's item or a map's value, `max_size` its size bound,
    `min_bytes` the length of its shortest JSON.

    `convert` makes the CEL value from a JSON leaf (None: it is the same); `list_type` is `set` or
    `map` where equality and `+` follow it. `is_adapted` tells whether anything in the value is not
    plain JSON in CEL; it is computed.
    """

    type: Type
    fields: dict[str, Field] = field(default_factory=dict)
    element: "Decl | None" = None
    key: "Decl | None" = None
    max_size: int | None = None
    min_bytes: int = 0
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    convert: Callable[[Any], Any] | None = None
    is_adapted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.is_adapted = (
            self.convert is not None
            or bool(self.list_type)
            or (self.element is not None and self.element.is_adapted)
            or any(entry.shape.is_adapted for entry in self.fields.values())
        )

    @classmethod
    def of(cls, type: Type) -> "Decl":
        """The shape of a type nothing more is known of."""
        if type.kind is types.Kind.LIST:
            return cls(type, element=cls.of(type.params[0]))
        if type.kind is types.Kind.MAP:
            return cls(type, key=cls.of(type.params[0]), element=cls.of(type.params[1]))
        return cls(type)

    def objects(self) -> Iterator["Decl"]:
        """All object shapes within, this one included."""
        if self.type.kind is types.Kind.OBJECT:
            yield self
        for entry in self.fields.values():
            yield from entry.shape.objects()
        if self.element is not None:
            yield from self.element.objects()
