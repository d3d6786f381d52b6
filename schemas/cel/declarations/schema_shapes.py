"""Shapes from structural schemas: the fields that rules can use, and their largest sizes.

Follows apiserver pkg/cel/common/schemas.go SchemaDeclType. Fields without a known type, and fields
that a schema only preserves, have no shape, so rules cannot name them. The path of an object is the
name of its type, so two fields with equal schemas have different types. A field is declared at its
first use in a rule, because rules use a small part of a large schema.
"""

from collections.abc import Iterator
from typing import Any, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.escaping import escape
from inkube.schemas.cel.declarations.string_formats import FORMATS
from inkube.schemas.cel.declarations.types import Field, Fields, Shape

MAX_REQUEST: Final = 3 * 1024 * 1024
"""The largest size of a request, and so of every value, in bytes."""
_CODE_POINT: Final = 4
"""The most bytes of a code point: sizes are in bytes, but maxLength counts code points."""
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


def declare(
    schema: Schema, *, is_root: bool = False, name: str = "object", plain_words: bool = True
) -> Shape | None:
    """Return the shape of values of a schema; None if rules cannot use them.

    `is_root` is set for a resource's own schema and for embedded resources: apiVersion, kind,
    metadata.name and metadata.generateName are always declared there. With `plain_words`,
    expressions can use properties named like reserved words by their own names, too.
    """
    if schema.get(_INT_OR_STRING):
        bound = schema.get("maxLength")
        longest = MAX_REQUEST - 2 if bound is None else max(bound, 0) * _CODE_POINT
        return Shape(types.DYN, max_size=longest)
    if is_root:
        schema = with_identity(schema)
    match schema.get("type"):
        case "array":
            return _list(schema, name, plain_words)
        case "object":
            return _object_or_map(schema, name, plain_words)
        case "string":
            return _string(schema)
        case "boolean" | "integer" | "number" as kind:
            convert = _double if kind == "number" else None
            return Shape(_SCALARS[kind][0], max_size=0, convert=convert)
    return None


def shortest(schema: Schema, *, is_root: bool = False) -> int:
    """Return the size of the shortest JSON of a schema's values in bytes; 0 if rules cannot use
    them."""
    if schema.get(_INT_OR_STRING):
        return 1
    match schema.get("type"):
        case "array":
            return 2 if _is_visible(schema.get("items")) else 0
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return 2 if _is_visible(schema["additionalProperties"]) else 0
        case "object":
            return _shortest_object(with_identity(schema) if is_root else schema)
        case "string":
            string_format = FORMATS.get(schema.get("format", ""))
            return 2 if string_format is None else string_format.smallest
        case "boolean" | "integer" | "number" as kind:
            return _SCALARS[kind][1]
    return 0


def _shortest_object(schema: Schema) -> int:
    smallest, properties = 2, schema.get("properties", {})
    for key in set(schema.get("required", ())) & properties.keys():
        part = properties[key]
        if part.get("default") is None:
            least = shortest(part, is_root=bool(part.get(_EMBEDDED)))
            smallest += len(key.encode()) + least + 4 if least else 0
    return smallest


def _is_visible(schema: Any) -> bool:
    return isinstance(schema, dict) and bool(shortest(schema))


def with_identity(schema: Schema) -> Schema:
    """Return the schema with apiVersion, kind and the names in metadata (WithTypeAndObjectMeta)."""
    return {**schema, "properties": {**schema.get("properties", {}), **_IDENTITY}}


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _list(schema: Schema, name: str, plain_words: bool) -> Shape | None:
    items = schema.get("items")
    if not isinstance(items, dict):
        return None
    element = declare(
        items, is_root=bool(items.get(_EMBEDDED)), name=f"{name}.@idx", plain_words=plain_words
    )
    if element is None:
        return None
    bound = schema.get("maxItems")
    most = max(bound, 0) if bound is not None else _fitting(items, 1)
    list_type = schema.get("x-kubernetes-list-type", "")
    return Shape(
        types.list_of(element.type),
        element=element,
        max_size=most,
        list_type=list_type if list_type in ("set", "map") else "",
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
    )


def _object_or_map(schema: Schema, name: str, plain_words: bool) -> Shape | None:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        is_root = bool(values.get(_EMBEDDED))
        element = declare(values, is_root=is_root, name=f"{name}.@elem", plain_words=plain_words)
        if element is None:
            return None
        bound = schema.get("maxProperties")
        most = max(bound, 0) if bound is not None else _fitting(values, 6)
        key = Shape(types.STRING, max_size=0)
        kind = types.map_of(types.STRING, element.type)
        return Shape(kind, key=key, element=element, max_size=most)
    return Shape(types.object_of(name, _Declared(schema, name, plain_words)), max_size=0)


def _fitting(schema: Schema, beside: int) -> int:
    """Return the number of values that fit into a request, each with `beside` additional bytes."""
    return (MAX_REQUEST - 2) // (shortest(schema, is_root=bool(schema.get(_EMBEDDED))) + beside)


class _Declared(Fields):
    """The properties of a schema, each declared at its first use."""

    def __init__(self, schema: Schema, name: str, plain_words: bool) -> None:
        self._name = name
        self._plain_words = plain_words
        self._properties: Schema = schema.get("properties", {})
        self._declared: dict[str, Field | None] = {}

    def find(self, name: str) -> Field | None:
        if name not in self._declared:
            key = self._key(name)
            self._declared[name] = None if key is None else self._declare(key)
        return self._declared[name]

    def __iter__(self) -> Iterator[Field]:
        for key in self._properties:
            name = escape(key)
            field = None if name is None else self.find(name)
            if field is not None:
                yield field

    def _key(self, name: str) -> str | None:
        """Return the property with this escaped name; reserved words can also be used unescaped, if
        `plain_words` permits it."""
        if name in self._properties:
            escaped = escape(name)
            if escaped == name or (self._plain_words and escaped == f"__{name}__"):
                return name
        return next((key for key in self._properties if escape(key) == name), None)

    def _declare(self, key: str) -> Field | None:
        part = self._properties[key]
        name = f"{self._name}.{escape(key) or key}"
        is_root = bool(part.get(_EMBEDDED))
        shape = declare(part, is_root=is_root, name=name, plain_words=self._plain_words)
        return None if shape is None else Field(key, shape, nullable=bool(part.get("nullable")))


def _string(schema: Schema) -> Shape:
    bound = schema.get("maxLength")
    most = None if bound is None else max(bound, 0)
    string_format = FORMATS.get(schema.get("format", ""))
    if string_format is not None:
        size = (
            most
            if most is not None and string_format.type is types.BYTES
            else string_format.longest
        )
        return Shape(string_format.type, max_size=size, convert=string_format.convert)
    unbounded = _longest_choice(schema) or MAX_REQUEST - 2
    size = unbounded if most is None else most * _CODE_POINT
    return Shape(types.STRING, max_size=size)


def _longest_choice(schema: Schema) -> int:
    texts = [value for value in schema.get("enum") or () if isinstance(value, str)]
    return max((len(text.encode()) for text in texts), default=0)
