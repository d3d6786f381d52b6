"""CEL types, and declared shapes: a type with additional data from a schema.

A type describes the values of an expression. It is immutable and compared by its parts. Object
types are compared by name and have fields, whose shapes have types too. The checker gets the fields
of an object from a shape, the compiler the JSON values with another form in CEL (a date-time is a
timestamp, a set compares as a set), and the estimator the largest sizes of values.
Names and texts follow cel-go common/types/types.go and checker/format.go.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Kind(Enum):
    """The family of a type."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    NULL = "null_type"
    TIMESTAMP = "google.protobuf.Timestamp"
    DURATION = "google.protobuf.Duration"
    DYN = "dyn"
    ERROR = "!error!"
    LIST = "list"
    MAP = "map"
    TYPE = "type"
    OPAQUE = "opaque"
    OBJECT = "object"
    PARAM = "param"


@dataclass(frozen=True, slots=True)
class Type:
    """A CEL type. `name` is the runtime name (`list`, `kubernetes.Quantity`, an object's name).

    `fields` are those of an object type; None if they are unknown, and for other types. `nullable`:
    a variable of the type can be null, which the checker does not know.
    """

    kind: Kind
    name: str
    params: tuple["Type", ...] = ()
    fields: "Fields | None" = field(default=None, compare=False, repr=False)
    nullable: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        """Return the text of compile errors: `list(int)`, `map(string, dyn)`, `timestamp`."""
        name = _FORMATTED_NAMES.get(self.kind, self.name)
        if self.params:
            return f"{name}({', '.join(map(str, self.params))})"
        return name

    @property
    def is_dyn(self) -> bool:
        """Whether the checker accepts every type here."""
        return self.kind is Kind.DYN or self.kind is Kind.ERROR


_FORMATTED_NAMES = {Kind.NULL: "null", Kind.TIMESTAMP: "timestamp", Kind.DURATION: "duration"}


def _simple(kind: Kind) -> Type:
    return Type(kind, kind.value)


BOOL = _simple(Kind.BOOL)
INT = _simple(Kind.INT)
UINT = _simple(Kind.UINT)
DOUBLE = _simple(Kind.DOUBLE)
STRING = _simple(Kind.STRING)
BYTES = _simple(Kind.BYTES)
NULL = _simple(Kind.NULL)
TIMESTAMP = _simple(Kind.TIMESTAMP)
DURATION = _simple(Kind.DURATION)
DYN = _simple(Kind.DYN)
ERROR = _simple(Kind.ERROR)
TYPE = _simple(Kind.TYPE)

QUANTITY = Type(Kind.OPAQUE, "kubernetes.Quantity")
IP = Type(Kind.OPAQUE, "net.IP")
CIDR = Type(Kind.OPAQUE, "net.CIDR")
URL = Type(Kind.OPAQUE, "kubernetes.URL")
SEMVER = Type(Kind.OPAQUE, "kubernetes.Semver")
FORMAT = Type(Kind.OPAQUE, "kubernetes.NamedFormat")


def list_of(element: Type) -> Type:
    """list(element)."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """map(key, value)."""
    return Type(Kind.MAP, "map", (key, value))


def type_of(inner: Type) -> Type:
    """type(inner): the type of a type."""
    return Type(Kind.TYPE, "type", (inner,))


def optional_of(inner: Type) -> Type:
    """optional_type(inner)."""
    return Type(Kind.OPAQUE, "optional_type", (inner,))


def object_of(name: str, fields: "Fields | None" = None) -> Type:
    """Return an object type with this name."""
    return Type(Kind.OBJECT, name, (), fields)


def param(name: str) -> Type:
    """Return a type parameter of an overload, such as T in list(T)."""
    return Type(Kind.PARAM, name)


def is_optional(type: Type) -> bool:
    """Return whether the type is optional_type(…)."""
    return type.kind is Kind.OPAQUE and type.name == "optional_type"


T = param("T")
K = param("K")
V = param("V")
LIST_T = list_of(T)
LIST_DYN = list_of(DYN)
LIST_STRING = list_of(STRING)
MAP_KV = map_of(K, V)
OPTIONAL_T = optional_of(T)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A property: `key` in the JSON object, known by its escaped name.

    With `nullable`, null counts as absent. `runtime_type` is set if values can have another type
    than the one that the checker uses.
    """

    key: str
    shape: "Shape"
    nullable: bool = False
    runtime_type: Type | None = None


class Fields:
    """The fields of an object type by their escaped names."""

    def __init__(self, by_name: Mapping[str, Field]) -> None:
        self._by_name = by_name

    def find(self, name: str) -> Field | None:
        """Return the field with this escaped name, None without one."""
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[Field]:
        return iter(self._by_name.values())


@dataclass(slots=True, eq=False)
class Shape:
    """A value's shape. `element` is a list's item or a map's value, `max_size` its size bound.

    `convert` creates the CEL value from a JSON leaf (None: both are the same). `list_type` is `set`
    or `map` if it changes equality and `+`.
    """

    type: Type
    element: "Shape | None" = None
    key: "Shape | None" = None
    max_size: int | None = None
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    convert: Callable[[Any], Any] | None = None
    _adapted: bool | None = field(default=None, init=False)

    @classmethod
    def of(cls, type: Type) -> "Shape":
        """Return the shape of a type without additional data."""
        if type.kind is Kind.LIST:
            return cls(type, element=cls.of(type.params[0]))
        if type.kind is Kind.MAP:
            return cls(type, key=cls.of(type.params[0]), element=cls.of(type.params[1]))
        return cls(type)

    @property
    def fields(self) -> Fields:
        """The fields of an object; empty for other values."""
        return _NONE if self.type.fields is None else self.type.fields

    @property
    def is_adapted(self) -> bool:
        """Whether a part of the value has another form in CEL than in JSON."""
        if self._adapted is None:
            self._adapted = (
                self.convert is not None
                or bool(self.list_type)
                or (self.element is not None and self.element.is_adapted)
                or any(entry.shape.is_adapted for entry in self.fields)
            )
        return self._adapted


_NONE = Fields({})
