"""Arrays where the schema has a string with a format.

Schema validation lets them pass, as the reference's does (kube-openapi/pkg/validation/validate
type.go), but they are no strings for a rule. Looked for only when a rule came to grief.
"""

from typing import Any

from inkube.schemas.cel.declarations.functions import EvalError

ERROR = EvalError("invalid data, expected string, got []interface {}")


def has(schema: Any, value: Any) -> bool:
    """Whether there is one anywhere in a value."""
    if not isinstance(schema, dict):
        return False
    if isinstance(value, list):
        if schema.get("type") == "string":
            return True
        return any(has(schema.get("items"), item) for item in value)
    if not isinstance(value, dict):
        return False
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    return any(has(properties.get(name, others), item) for name, item in value.items())
