"""Values that are not what their schema says, where a rule meets one all the same.

Arrays pass for strings with a format, as the reference lets them (kube-openapi/pkg/validation/
validate type.go), and under a wrong kind the schema is not asked at all. What a rule is told then
follows `UnstructuredToVal` in apiserver/pkg/cel/common/values.go. A value's own type is looked at
first where nobody has; what lies deeper only when a rule came to grief.
"""

from typing import Any

from inkube.schemas.golang import gotext

_EXPECTED = {
    "object": "expected a map for the provided schema with type=object",
    "array": "expected an array for the provided schema with type=array",
    "string": "expected string, got ",
    "number": "expected float, got ",
    "integer": "expected int, got ",
    "boolean": "expected bool, got ",
}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}


def of(schema: Any, value: Any) -> str:
    """What is wrong with the type of a value itself; "" where it fits, or nothing is said of it."""
    if not isinstance(schema, dict) or value is None:
        return ""
    if schema.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, str | int) and not isinstance(value, bool)
        wanted = "expected XIntOrString value to be either a string or integer"
        return "" if fits else f"invalid data, {wanted}"
    kind = schema.get("type", "")
    if kind not in _TYPES:
        return ""
    if isinstance(value, _TYPES[kind]) and (kind == "boolean") == isinstance(value, bool):
        return ""
    expected = _EXPECTED[kind]
    return f"invalid data, {expected}{gotext.type_name(value) if expected[-1] == ' ' else ''}"


def within(schema: Any, value: Any) -> str:
    """The first thing that is wrong with a value or what lies in it; "" where all of it fits."""
    found = of(schema, value)
    if found or not isinstance(schema, dict):
        return found
    if isinstance(value, list):
        items = schema.get("items")
        return next(filter(None, (within(items, item) for item in value)), "")
    if isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        below = (within(properties.get(name, others), item) for name, item in value.items())
        return next(filter(None, below), "")
    return ""
