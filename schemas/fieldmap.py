"""The map of a kind's fields: the data about every path that a form builder needs.

Paths are those of causes and of `status.fieldErrors` (`spec.github.branch`); `[]` represents any
index of a list, `{}` for any key of a map.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from inkube.schemas.definitions import Definition, Version
from inkube.schemas.objects import Object

LIMITS = (
    "enum", "default", "format", "pattern", "minimum", "maximum", "minLength", "maxLength",
    "minItems", "maxItems", "nullable",
)  # fmt: skip
"""Keywords of a schema that a form can use, under the same names."""
PARTS = ("spec", "secure", "status")
"""The members listed first, in this order. Type and metadata are omitted: every kind has them."""
COMMON = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True)
class MappedField:
    """One path; `required` applies if its parent object is present."""

    path: str
    type: str
    required: bool
    description: str = ""
    limits: Object = field(default_factory=dict)

    @property
    def read_only(self) -> bool:
        """Whether only the server writes the field."""
        return self.path.partition(".")[0] == "status"

    def plain(self) -> Object:
        """Return the field as JSON."""
        members: Object = {"path": self.path, "type": self.type, "required": self.required}
        if self.read_only:
            members["readOnly"] = True
        if self.description:
            members["description"] = self.description
        return members | self.limits


def fields(schema: Object) -> list[MappedField]:
    """Return every field of an openAPIV3Schema below the object, in the schema's order."""
    properties = schema.get("properties") or {}
    names = sorted(
        properties.keys() - COMMON,
        key=lambda name: (PARTS.index(name) if name in PARTS else len(PARTS), name),
    )
    required = schema.get("required") or ()
    return [
        field
        for name in names
        for field in _walk(name, properties[name], required=name in required)
    ]


def as_json(definition: Definition, version: Version) -> Object:
    """Return the map as JSON, with the names that requests to the kind need."""
    return {
        "group": definition.group,
        "version": version.name,
        "kind": definition.names.kind,
        "plural": definition.names.plural,
        "namespaced": definition.namespaced,
        "fields": [field.plain() for field in fields(version.schema)],
    }


def as_markdown(definition: Definition, version: Version) -> str:
    """Return the map as a readable table in Markdown."""
    lines = [
        f"# {definition.names.kind}",
        "",
        f"`{definition.group}/{version.name}`, `{definition.names.plural}`, "
        + ("namespaced" if definition.namespaced else "cluster-scoped"),
        "",
    ]
    if version.schema.get("description"):
        lines += [_line(version.schema["description"]), ""]
    lines += ["| field | type | required | notes |", "| --- | --- | --- | --- |"]
    lines += [_row(field) for field in fields(version.schema)]
    return "\n".join([*lines, ""])


def _walk(path: str, schema: Object, *, required: bool) -> Iterator[MappedField]:
    yield MappedField(
        path,
        _type(schema),
        required,
        _line(schema.get("description", "")),
        {name: schema[name] for name in LIMITS if name in schema},
    )
    yield from _below(path, schema)


def _below(path: str, schema: Object) -> Iterator[MappedField]:
    """Yield the fields below a path: members, and items of lists and maps that have a schema."""
    required = schema.get("required") or ()
    for name, child in (schema.get("properties") or {}).items():
        yield from _walk(f"{path}.{name}", child, required=name in required)
    for mark, keyword in (("[]", "items"), ("{}", "additionalProperties")):
        child = schema.get(keyword)
        if isinstance(child, dict) and child:
            yield from _walk(path + mark, child, required=False)


def _type(schema: Object) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    kind: str = schema.get("type", "any")
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return "map"
    return kind


def _row(field: MappedField) -> str:
    limits = "; ".join(f"{name}: {_value(value)}" for name, value in field.limits.items())
    required = "yes" if field.required else ""
    text = " ".join(part for part in (field.description, limits) if part).replace("|", "\\|")
    return f"| `{field.path}` | {field.type} | {required} | {text} |"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_value(each) for each in value)
    return f"`{value}`"


def _line(text: str) -> str:
    return " ".join(text.split())
