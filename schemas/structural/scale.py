"""Checks of the fields that the scale subresource of a custom resource reads.

Follows apiextensions-apiserver/pkg/registry/customresource/validator.go (ValidateScaleSpec,
ValidateScaleStatus) and the texts of apimachinery's unstructured helpers.
"""

from typing import Any

from inkube.schemas.definitions import Scale
from inkube.schemas.fielderrors import FieldError, invalid
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object

_MOST = 2**31 - 1
_GO_TYPES: dict[type, str] = {int: "int64", str: "string"}
_ABSENT = object()


def spec(obj: Object, scale: Scale) -> list[FieldError]:
    """Return the errors of the replicas in the spec."""
    return _replicas(obj, scale.spec_replicas)


def status(obj: Object, scale: Scale) -> list[FieldError]:
    """Return the errors of the replicas in the status, and of the selector."""
    errors = _replicas(obj, scale.status_replicas)
    if scale.label_selector:
        text = _trouble(obj, scale.label_selector, str)
        errors += [invalid(scale.label_selector, "", text)] if text else []
    return errors


def _replicas(obj: Object, path: str) -> list[FieldError]:
    text = _trouble(obj, path, int)
    if text:
        return [invalid(path, 0, text)]
    number = _find(obj, path)[0]
    if number is _ABSENT:
        return []
    if number < 0:
        return [invalid(path, number, "should be a non-negative integer")]
    if number > _MOST:
        return [invalid(path, number, f"should be less than or equal to {_MOST}")]
    return []


def _trouble(obj: Object, path: str, expected_type: type) -> str:
    """Return the error for a value with another type at the path; "" if it has the type or is
    missing."""
    value, place, inside = _find(obj, path)
    if value is _ABSENT or (not inside and type(value) is expected_type):
        return ""
    expected = "map[string]interface{}" if inside else _GO_TYPES[expected_type]
    kind = gotext.type_name(value)
    return (
        f"{place} accessor error: {gotext.plain(value)} is of the type {kind}, expected {expected}"
    )


def _find(obj: Object, path: str) -> tuple[Any, str, bool]:
    """Return the value at the path, or the value that blocks the path because it is not an object.

    Returns the value (or _ABSENT), its path, and whether it blocks the path.
    """
    value: Any = obj
    names = path.removeprefix(".").split(".")
    for depth, name in enumerate(names):
        if value is None:
            return _ABSENT, path, False
        if not isinstance(value, dict):
            return value, f".{'.'.join(names[: depth + 1])}", True
        if name not in value:
            return _ABSENT, path, False
        value = value[name]
    return value, f".{'.'.join(names)}", False
