"""A pydantic model as a structural schema (apiextensions v1), for `schemas.models`.

References are expanded. `X | None` makes a member optional. The server handles the members
apiVersion, kind and metadata. Defaults are kept unless they are empty, because the typed object
reads an absent member like an empty one. Every default must fit its own schema, also an empty one
and one that a factory makes: a typed object has it, and a client could not send it.
"""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from inkube.schemas import crds, releases
from inkube.schemas import structural as structural_schemas
from inkube.schemas.fielderrors import FieldError, show

Schema = dict[str, Any]

_MADE = "x-inkube-made"
"""The keyword for the value that the factory of a default makes."""
_KEYWORDS = (
    "type", "format", "description", "enum", "pattern", "minLength", "maxLength", "minimum",
    "maximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties",
    "maxProperties",
)  # fmt: skip
_FORMATS = frozenset(
    {"date-time", "date", "email", "uri", "uuid", "ipv4", "ipv6", "byte", "duration", "password"}
)


def structural(model: type[BaseModel]) -> Schema:
    """Return the schema of a whole kind: its root with spec, status and all other declared members.

    Raises ValueError for a default that the schema of its field refuses.
    """
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
    """Makes schemas without titles of members, which only repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> Schema:
        """Add what a factory makes, which is checked like a default but is not one."""
        generated = super().default_schema(schema)
        if "default_factory" in schema and not schema.get("default_factory_takes_data"):
            generated[_MADE] = self.encode_default(schema["default_factory"]())
        return generated


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


def _check_default(name: str, member: Schema, converted: Schema) -> None:
    """Raise ValueError if the schema of a field refuses its default. None stands for an absent
    member."""
    default = _without_nulls(member.get("default", member.get(_MADE)))
    if default is not None:
        check_default(name, converted, default)


def check_default(name: str, schema: Schema, default: Any) -> None:
    """Raise ValueError if a schema refuses a default. `name` is the field of a model."""
    if errors := _refusals(schema, default):
        texts = "; ".join(" ".join(error.text().split()) for error in errors)
        shown = show(default)
        raise ValueError(f"{name} has the default {shown}, which its schema refuses: {texts}")


def _refusals(schema: Schema, default: Any) -> list[FieldError]:
    """Return the errors of a default, with paths below it: those of a CRD's default, and repeated
    members of sets and keyed lists."""
    errors = crds.default_errors({**schema, "default": default}, releases.NEWEST.minor)
    if not errors:
        holder = {"type": "object", "properties": {"default": schema}}
        compiled = structural_schemas.CompiledSchema(holder, resource_root=False)
        errors = compiled.other_errors({"default": default})
    return [error._replace(field=_below(error.field)) for error in errors]


def _below(path: str) -> str:
    """Return the part of a path below the default."""
    return path.removeprefix(".").removeprefix("default").removeprefix(".")


def _without_nulls(value: Any) -> Any:
    """Return a default without members that are None: an optional member is absent, as no schema
    accepts null."""
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
        for name, child in schema["properties"].items():
            _check_default(f"{schema.get('title')}.{name}", child, converted["properties"][name])
    if schema.get("required"):
        converted["required"] = list(schema["required"])
    if "items" in schema:
        converted["items"] = _convert(schema["items"], definitions, inside)
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        converted["additionalProperties"] = _convert(additional, definitions, inside)
    elif additional is True and "properties" not in schema:
        converted["x-kubernetes-preserve-unknown-fields"] = True
