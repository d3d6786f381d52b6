"""CEL expressions that select devices: their variables and their cost.

Follows dynamic-resource-allocation/cel/compile.go. inkube does not evaluate them, because only a
scheduler does.
"""

from collections.abc import Iterator
from typing import Final

from inkube.schemas import fielderrors
from inkube.schemas.cel import (
    FUNCTIONS,
    CompileError,
    Environment,
    Field,
    Fields,
    Program,
    ProgramError,
    Shape,
    Type,
    checked,
    estimate,
    types,
)
from inkube.schemas.fielderrors import FieldError

_LONGEST: Final = 10 * 1024
_MAX_COST: Final = 1_000_000
_MAX_DOMAIN, _MAX_ID, _MAX_VALUE, _MAX_ENTRIES = 63, 32, 64, 32


class _AnyMember(Fields):
    """The members of a map with any names, all with one shape."""

    def __init__(self, shape: Shape) -> None:
        super().__init__({})
        self._shape = shape

    def find(self, name: str) -> Field | None:
        return Field(name, self._shape)

    def __iter__(self) -> Iterator[Field]:
        return iter(())


def _sized(type: Type, size: int) -> Shape:
    return Shape(type, max_size=size)


def _by_domain(value: Shape) -> Shape:
    """Return the shape of a driver's values for a device: by domain, then by name."""
    inner_type = types.map_of(types.STRING, value.type)
    members = _AnyMember(value) if value.type is types.DYN else None
    inner = Shape(
        Type(inner_type.kind, inner_type.name, inner_type.params, members),
        element=value,
        key=_sized(types.STRING, _MAX_ID),
        max_size=_MAX_ENTRIES,
    )
    return Shape(
        types.map_of(types.STRING, inner.type),
        element=inner,
        key=_sized(types.STRING, _MAX_DOMAIN),
        max_size=_MAX_ENTRIES,
    )


def _environment() -> Environment:
    members = {
        "driver": _sized(types.STRING, _MAX_DOMAIN),
        "attributes": _by_domain(_sized(types.DYN, _MAX_VALUE)),
        "capacity": _by_domain(Shape(types.QUANTITY)),
        "allowMultipleAllocations": Shape.of(types.BOOL),
    }
    fields = Fields({name: Field(name, shape) for name, shape in members.items()})
    device = Shape(types.object_of("kubernetes.DRADevice", fields))
    return Environment(FUNCTIONS, {"device": device}, binds=True)


_ENVIRONMENT: Final = _environment()


def errors(text: str, path: str) -> list[FieldError]:
    """Return the errors of an expression that selects devices."""
    if len(text.encode()) > _LONGEST:
        return [fielderrors.too_long(path, _LONGEST)]
    try:
        found = checked(text, _ENVIRONMENT)
    except CompileError as error:
        return [fielderrors.invalid(path, text, f"compilation failed: {error}")]
    if found.type not in (types.BOOL, types.DYN):
        why = f"must evaluate to bool or the unknown type, not {found.type}"
        return [fielderrors.invalid(path, text, why)]
    try:
        Program(found, _ENVIRONMENT)
    except ProgramError as error:
        return [fielderrors.internal(path, f"program instantiation failed: {error}")]
    if estimate(found.root, _ENVIRONMENT).max > _MAX_COST:
        return [fielderrors.forbidden(path, "too complex, exceeds cost limit")]
    return []
