"""Values that do not have the type of their schema when a rule uses them.

Schemas accept arrays as strings with a format, as upstream (kube-openapi/pkg/validation/validate
type.go), and objects of a wrong kind are not validated by the schema. Error texts follow
`UnstructuredToVal` in apiserver/pkg/cel/common/values.go. The type of an unchecked value is checked
before the rule runs. Values inside it that do not fit are an error when the rule reads them.
"""

from typing import Any, NoReturn

from inkube.schemas.cel.declarations.functions import EvalError
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


class Misfit:
    """A value without the type of its schema, for rules: whatever uses it raises EvalError."""

    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, *_others: object) -> NoReturn:
        """Raise the error of the value."""
        raise EvalError(self.text)

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __len__ = __iter__ = fail
    __str__ = __int__ = __float__ = __contains__ = __getitem__ = __add__ = __radd__ = __neg__ = (
        __hash__
    ) = __getattr__ = fail


def marked(schema: Any, value: Any) -> Any:
    """Return the value with a Misfit for each value inside it that does not have the type of its
    schema."""
    if not isinstance(schema, dict):
        return value
    if misfit := of(schema, value):
        return Misfit(misfit)
    if isinstance(value, list):
        items = schema.get("items")
        return [marked(items, item) for item in value]
    if isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        return {name: marked(properties.get(name, others), item) for name, item in value.items()}
    return value


def of(schema: Any, value: Any) -> str:
    """Return the error of the type of a value itself; "" if it fits or the schema has no type."""
    if not isinstance(schema, dict) or value is None:
        return ""
    if schema.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, str | int) and not isinstance(value, bool)
        expectation = "expected XIntOrString value to be either a string or integer"
        return "" if fits else f"invalid data, {expectation}"
    kind = schema.get("type", "")
    if kind not in _TYPES:
        return ""
    if isinstance(value, _TYPES[kind]) and (kind == "boolean") == isinstance(value, bool):
        return ""
    expected = _EXPECTED[kind]
    return f"invalid data, {expected}{gotext.type_name(value) if expected[-1] == ' ' else ''}"


def within(schema: Any, value: Any) -> str:
    """Return the first type error of a value or of the values inside it; "" without an error."""
    misfit = of(schema, value)
    if misfit or not isinstance(schema, dict):
        return misfit
    if isinstance(value, list):
        items = schema.get("items")
        return next(filter(None, (within(items, item) for item in value)), "")
    if isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        below = (within(properties.get(name, others), item) for name, item in value.items())
        return next(filter(None, below), "")
    return ""
