"""CEL types: values that name what an expression may yield.

A type is immutable and compared by its parts; object types are compared by name and lead to their
fields (`decls`). Names and texts follow cel-go common/types/types.go and
checker/format.go.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inkube.schemas.cel.declarations.decls import Fields


class Kind(Enum):
    """What family a type belongs to."""

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

    `fields` are those of an object type; None where they are not known, and of other types.
    """

    kind: Kind
    name: str
    params: tuple["Type", ...] = ()
    fields: "Fields | None" = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """The text of compile errors: `list(int)`, `map(string, dyn)`, `timestamp`."""
        shown = _SHOWN.get(self.kind, self.name)
        if self.params:
            return f"{shown}({', '.join(map(str, self.params))})"
        return shown

    @property
    def is_dyn(self) -> bool:
        """Whether the checker lets anything pass here."""
        return self.kind is Kind.DYN or self.kind is Kind.ERROR


_SHOWN = {
    Kind.NULL: "null",
    Kind.TIMESTAMP: "timestamp",
    Kind.DURATION: "duration",
}


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
    """An object type of that name."""
    return Type(Kind.OBJECT, name, (), fields)


def param(name: str) -> Type:
    """A type parameter of an overload, such as T in list(T)."""
    return Type(Kind.PARAM, name)


def is_optional(type: Type) -> bool:
    """Whether the type is optional_type(…)."""
    return type.kind is Kind.OPAQUE and type.name == "optional_type"


T = param("T")
K = param("K")
V = param("V")
LIST_T = list_of(T)
LIST_DYN = list_of(DYN)
LIST_STRING = list_of(STRING)
MAP_KV = map_of(K, V)
OPTIONAL_T = optional_of(T)
