"""Shapes from structural schemas: what rules may reach, and how large it may be.

Follows apiserver pkg/cel/common/schemas.go SchemaDeclType. Fields without a known type, and those
a schema only preserves, have no shape: rules cannot name them. Object types are named by their
path, so two fields of equal schemas have different types.
"""

from typing import Any, Final

from inkube.schemas.cel import types
from inkube.schemas.cel.decls import Decl, Field
from inkube.schemas.cel.escaping import escape
from inkube.schemas.cel.formats import FORMATS

MAX_REQUEST: Final = 3 * 1024 * 1024
"""Bytes of a request: no value is larger."""
_CODE_POINT: Final = 4
"""Bytes a code point may take: sizes are bytes, maxLength counts code points."""
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_STRING: Final = {"type": "string"}
_IDENTITY: Final = {
    "apiVersion": _STRING,
    "kind": _STRING,
    "metadata": {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}},
}
_SCALARS: Final = {
    "boolean": (types.BOOL, 4),
    "integer": (types.INT, 1),
    "number": (types.DOUBLE, 1),
}

Schema = dict[str, Any]


def declare(schema: Schema, *, is_root: bool = False, name: str = "object") -> Decl | None:
    """The shape of values of a schema; None where rules cannot see them.

    `is_root` is set for a resource's own schema and for embedded resources: apiVersion, kind,
    metadata.name and metadata.generateName are always declared there.
    """
    if schema.get(_INT_OR_STRING):
        return Decl(types.DYN, max_size=MAX_REQUEST - 2, min_bytes=1)
    if is_root:
        schema = with_identity(schema)
    match schema.get("type"):
        case "array":
            return _list(schema, name)
        case "object":
            return _object_or_map(schema, name)
        case "string":
            return _string(schema)
        case "boolean" | "integer" | "number" as kind:
            known, smallest = _SCALARS[kind]
            convert = _double if kind == "number" else None
            return Decl(known, max_size=0, min_bytes=smallest, convert=convert)
    return None


def with_identity(schema: Schema) -> Schema:
    """The schema with apiVersion, kind and the names in metadata (WithTypeAndObjectMeta)."""
    return {**schema, "properties": {**schema.get("properties", {}), **_IDENTITY}}


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _list(schema: Schema, name: str) -> Decl | None:
    items = schema.get("items")
    if not isinstance(items, dict):
        return None
    element = declare(items, is_root=bool(items.get(_EMBEDDED)), name=f"{name}.@idx")
    if element is None:
        return None
    bound = schema.get("maxItems")
    most = max(bound, 0) if bound is not None else (MAX_REQUEST - 2) // (element.min_bytes + 1)
    list_type = schema.get("x-kubernetes-list-type", "")
    return Decl(
        types.list_of(element.type),
        element=element,
        max_size=most,
        min_bytes=2,
        list_type=list_type if list_type in ("set", "map") else "",
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
    )


def _object_or_map(schema: Schema, name: str) -> Decl | None:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        element = declare(values, is_root=bool(values.get(_EMBEDDED)), name=f"{name}.@elem")
        if element is None:
            return None
        bound = schema.get("maxProperties")
        most = max(bound, 0) if bound is not None else (MAX_REQUEST - 2) // (element.min_bytes + 6)
        key = Decl(types.STRING, max_size=0)
        kind = types.map_of(types.STRING, element.type)
        return Decl(kind, key=key, element=element, max_size=most, min_bytes=2)
    return _object(schema, name)


def _object(schema: Schema, name: str) -> Decl:
    required = set(schema.get("required", ()))
    fields: dict[str, Field] = {}
    smallest = 2
    for key, part in schema.get("properties", {}).items():
        escaped = escape(key)
        shape = declare(part, is_root=bool(part.get(_EMBEDDED)), name=f"{name}.{escaped or key}")
        if shape is None:
            continue
        if escaped is not None:
            field = Field(key, shape, nullable=bool(part.get("nullable")))
            fields[escaped] = field
            if escaped == f"__{key}__":
                fields.setdefault(key, field)
        if key in required and part.get("default") is None:
            smallest += len(key.encode()) + shape.min_bytes + 4
    return Decl(types.object_of(name), fields=fields, max_size=0, min_bytes=smallest)


def _string(schema: Schema) -> Decl:
    bound = schema.get("maxLength")
    most = None if bound is None else max(bound, 0)
    known = FORMATS.get(schema.get("format", ""))
    if known is not None:
        size = most if most is not None and known.type is types.BYTES else known.longest
        return Decl(known.type, max_size=size, min_bytes=known.smallest, convert=known.convert)
    unbounded = _longest_choice(schema) or MAX_REQUEST - 2
    size = unbounded if most is None else most * _CODE_POINT
    return Decl(types.STRING, max_size=size, min_bytes=2)


def _longest_choice(schema: Schema) -> int:
    texts = [value for value in schema.get("enum") or () if isinstance(value, str)]
    return max((len(text.encode()) for text in texts), default=0)
