"""Declared shapes: a CEL type with what the schema says beyond it.

A shape tells the checker the fields of an object, the compiler which JSON values are something else
in CEL (a date-time is a timestamp, a set compares as a set), and the estimator how large values
may be.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.types import Type


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A property: `key` in the JSON object, known by its escaped name. Null counts as absent."""

    key: str
    shape: "Decl"
    nullable: bool = False


class Fields:
    """The fields of an object type by their escaped names."""

    def __init__(self, known: Mapping[str, Field]) -> None:
        self._known = known

    def find(self, name: str) -> Field | None:
        """The field of that escaped name."""
        return self._known.get(name)

    def __iter__(self) -> Iterator[Field]:
        return iter(self._known.values())


@dataclass(slots=True, eq=False)
class Decl:
    """A value's shape. `element` is a list's item or a map's value, `max_size` its size bound.

    `convert` makes the CEL value from a JSON leaf (None: it is the same); `list_type` is `set` or
    `map` where equality and `+` follow it.
    """

    type: Type
    element: "Decl | None" = None
    key: "Decl | None" = None
    max_size: int | None = None
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    convert: Callable[[Any], Any] | None = None
    _adapted: bool | None = field(default=None, init=False)

    @classmethod
    def of(cls, type: Type) -> "Decl":
        """The shape of a type nothing more is known of."""
        if type.kind is types.Kind.LIST:
            return cls(type, element=cls.of(type.params[0]))
        if type.kind is types.Kind.MAP:
            return cls(type, key=cls.of(type.params[0]), element=cls.of(type.params[1]))
        return cls(type)

    @property
    def fields(self) -> Fields:
        """An object's fields; none of other values."""
        return _NONE if self.type.fields is None else self.type.fields

    @property
    def is_adapted(self) -> bool:
        """Whether anything in the value is not plain JSON in CEL."""
        if self._adapted is None:
            self._adapted = (
                self.convert is not None
                or bool(self.list_type)
                or (self.element is not None and self.element.is_adapted)
                or any(entry.shape.is_adapted for entry in self.fields)
            )
        return self._adapted


_NONE = Fields({})
