"""A pydantic model as a structural schema (apiextensions v1), for `schemas.models`.

References are expanded. `X | None` makes a member optional. The server handles the members
apiVersion, kind and metadata. Defaults are kept unless they are empty, because the typed object
reads an absent member like an empty one.
"""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

Schema = dict[str, Any]

_KEYWORDS = (
    "type", "format", "description", "enum", "pattern", "minLength", "maxLength", "minimum",
    "maximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties",
    "maxProperties",
)  # fmt: skip
_FORMATS = frozenset(
    {"date-time", "date", "email", "uri", "uuid", "ipv4", "ipv6", "byte", "duration", "password"}
)


def structural(model: type[BaseModel]) -> Schema:
    """The schema of a whole kind: its root with spec, status and all other declared members."""
    generated = model.model_json_schema(by_alias=True, schema_generator=_Generator)
    definitions = generated.get("$defs", {})
    properties = {
        name: member
        for name, member in generated.get("properties", {}).items()
        if name not in ("apiVersion", "kind", "metadata")
    }
    root = {**generated, "properties": properties}
    schema = _convert(root, definitions, ())
    text = {"type": "string"}
    own = {"apiVersion": text, "kind": text, "metadata": {"type": "object"}}
    schema["properties"] = {**own, **schema.get("properties", {})}
    return schema


class _Generator(GenerateJsonSchema):
    """Makes schemas without titles, which only repeat the names of members."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _convert(schema: Schema, definitions: Schema, inside: tuple[str, ...]) -> Schema:
    """Convert one node; `inside` names the references under expansion, so that recursion ends."""
    if "$ref" in schema:
        return _referred(schema, definitions, inside)
    if "allOf" in schema and len(schema["allOf"]) == 1:
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        return _convert({**schema["allOf"][0], **rest}, definitions, inside)
    if "anyOf" in schema or "oneOf" in schema:
        return _choice(schema, definitions, inside)
    converted = {key: schema[key] for key in _KEYWORDS if key in schema}
    if "const" in schema:
        converted["enum"] = [schema["const"]]
    if converted.get("format", "") not in _FORMATS:
        converted.pop("format", None)
    _bounds(schema, converted)
    _children(schema, converted, definitions=definitions, inside=inside)
    if default := _without_nulls(schema.get("default")):
        converted["default"] = default
    converted.update(
        {key: value for key, value in schema.items() if key.startswith("x-kubernetes-")}
    )
    if "type" not in converted and "x-kubernetes-int-or-string" not in converted:
        converted["x-kubernetes-preserve-unknown-fields"] = True
    return converted


def _without_nulls(value: Any) -> Any:
    """A default without members that are None: an optional member is absent, as no schema accepts
    null."""
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _referred(schema: Schema, definitions: Schema, inside: tuple[str, ...]) -> Schema:
    name = schema["$ref"].rpartition("/")[2]
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    if name in inside:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return _convert({**definitions[name], **rest}, definitions, (*inside, name))


def _choice(schema: Schema, definitions: Schema, inside: tuple[str, ...]) -> Schema:
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
    branches = [
        branch for branch in schema.get("anyOf") or schema["oneOf"] if branch != {"type": "null"}
    ]
    if len(branches) == 1:
        return _convert({**branches[0], **rest}, definitions, inside)
    if {branch.get("type") for branch in branches} == {"integer", "string"}:
        rest["x-kubernetes-int-or-string"] = True
    return _convert(rest, definitions, inside)


def _bounds(schema: Schema, converted: Schema) -> None:
    """Copy the numeric exclusive bounds of JSON Schema in the notation of OpenAPI 3.0."""
    for bound in ("minimum", "maximum"):
        exclusive = f"exclusive{bound.capitalize()}"
        if exclusive in schema:
            converted[bound] = schema[exclusive]
            converted[exclusive] = True


def _children(
    schema: Schema, converted: Schema, *, definitions: Schema, inside: tuple[str, ...]
) -> None:
    if "properties" in schema:
        converted["properties"] = {
            name: _convert(child, definitions, inside)
            for name, child in schema["properties"].items()
        }
    if schema.get("required"):
        converted["required"] = list(schema["required"])
    if "items" in schema:
        converted["items"] = _convert(schema["items"], definitions, inside)
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        converted["additionalProperties"] = _convert(additional, definitions, inside)
    elif additional is True and "properties" not in schema:
        converted["x-kubernetes-preserve-unknown-fields"] = True
