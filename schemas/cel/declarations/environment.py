"""The names that an expression can use: variables, functions and object types."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import Overload
from inkube.schemas.cel.declarations.types import Shape, Type

Functions = Mapping[str, tuple[Overload, ...]]


def functions(*libraries: Iterable[Overload]) -> dict[str, tuple[Overload, ...]]:
    """Return overloads by function name, in the order given."""
    declared: dict[str, tuple[Overload, ...]] = {}
    for library in libraries:
        for overload in library:
            declared[overload.function] = (*declared.get(overload.function, ()), overload)
    return declared


_NAMED_TYPES = {
    declared_type.name: declared_type
    for declared_type in (
        types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES, types.NULL,
        types.TIMESTAMP, types.DURATION, types.TYPE, types.optional_of(types.DYN),
        types.LIST_DYN, types.map_of(types.DYN, types.DYN), types.IP, types.CIDR,
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Environment:
    """Names in scope at the top of an expression: variables with their shapes, functions."""

    functions: Functions
    variables: Mapping[str, Shape] = field(default_factory=dict)
    constructed: Mapping[str, Shape | None] = field(default_factory=dict)
    """Types that `Name{…}` creates; None: `Name` and all `Name.a.b`, with fields of any type."""
    binds: bool = False
    """Whether `cel.bind(name, value, expression)` is a macro."""

    def is_open(self, name: str) -> bool:
        """Return whether objects of this type, created by expressions, can have any field."""
        root = name.partition(".")[0]
        return root in self.constructed and self.constructed[root] is None


def named_type(name: str) -> Type | None:
    """Return the type that a name such as `int` or `google.protobuf.Duration` means; None if
    unknown."""
    return _NAMED_TYPES.get(name)
