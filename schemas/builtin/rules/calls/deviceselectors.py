"""CEL expressions that select devices: their variables, their cost, and whether they match.

Follows dynamic-resource-allocation/cel/compile.go.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from inkube.schemas import caches, fielderrors
from inkube.schemas import quantity as quantities
from inkube.schemas.cel import (
    FUNCTIONS,
    CompileError,
    Environment,
    EvalError,
    Field,
    Fields,
    Program,
    ProgramError,
    QuantityValue,
    Shape,
    Type,
    checked,
    estimate,
    semver,
    types,
)
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

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
_NAMES: Final = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}
"""The names of types whose `String` differs from that in errors of the compiler."""
_WORDS: Final = re.compile(r"\b(null|timestamp|duration)\b")


def errors(text: str, path: str) -> list[FieldError]:
    """Return the errors of an expression that selects devices."""
    if len(text.encode()) > _LONGEST:
        return [fielderrors.too_long(path, _LONGEST)]
    try:
        found = checked(text, _ENVIRONMENT)
    except CompileError as error:
        return [fielderrors.invalid(path, text, f"compilation failed: {error}")]
    if found.type not in (types.BOOL, types.DYN):
        shown = _WORDS.sub(lambda word: _NAMES[word[0]], str(found.type))
        why = f"must evaluate to bool or the unknown type, not {shown}"
        return [fielderrors.invalid(path, text, why)]
    try:
        Program(found, _ENVIRONMENT)
    except ProgramError as error:
        return [fielderrors.internal(path, f"program instantiation failed: {error}")]
    if estimate(found.root, _ENVIRONMENT).max > _MAX_COST:
        return [fielderrors.forbidden(path, "too complex, exceeds cost limit")]
    return []


def matches(text: str, driver: str, device: Object) -> bool:
    """Return whether an expression selects a device of a ResourceSlice (DeviceMatches).

    Raises CompileError, ProgramError or EvalError.
    """
    attributes = {name: _value(one) for name, one in (device.get("attributes") or {}).items()}
    capacity = {
        name: QuantityValue(quantities.parse(str(one["value"])))
        for name, one in (device.get("capacity") or {}).items()
    }
    variable = {
        "driver": driver,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
        "attributes": _domains(attributes, driver),
        "capacity": _domains(capacity, driver),
    }
    found = _program(text).evaluate({"device": variable}, _MAX_COST)
    if not isinstance(found, bool):
        raise EvalError("CEL result could not be converted to bool")
    return found


@caches.of_texts(256)
def _program(text: str) -> Program:
    return Program(checked(text, _ENVIRONMENT), _ENVIRONMENT)


def _value(attribute: Object) -> Any:
    if "version" in attribute:
        return semver.parse(attribute["version"])
    return next(iter(attribute.values()))


def _domains(values: Mapping[str, Any], driver: str) -> Mapping[str, Mapping[str, Any]]:
    """Return values by domain and name; a domain without values is empty, not missing."""
    found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for name, value in values.items():
        domain, slash, short = name.rpartition("/")
        found[domain if slash else driver][short] = value
    return found
