"""Types of values for merging: scalar, list or map, and the ownership of their children.

A `Type` describes the valid forms of a value, several if the schema does not decide. It is created
from the JSON schema of a CustomResourceDefinition or of a built-in kind: both have the same
`x-kubernetes-*` keywords. Follows kube-openapi pkg/schemaconv and structured-merge-diff schema/.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from inkube.schemas.ownership import pathelements

Schema = dict[str, Any]

NUMERIC = "numeric"
STRING = "string"
BOOLEAN = "boolean"
UNTYPED = "untyped"


@dataclass(slots=True, eq=False)
class ListType:
    """A list: atomic, a set (`keyed` false), or a map by `keys`, which are sorted by name."""

    element: "Type"
    atomic: bool = True
    keys: tuple[str, ...] = ()
    declared_keys: tuple[str, ...] = ()
    defaults: tuple[Any, ...] = ()
    """The default of the field of each key, None without one."""
    key: Callable[..., str] = pathelements.value
    """The path element of an item, from the values of its keys, or in a set from the item."""


@dataclass(slots=True, eq=False)
class MapType:
    """A struct, a map, or both: declared `fields`, and `element` for all other keys."""

    fields: "dict[str, Type]" = field(default_factory=dict)
    element: "Type | None" = None
    atomic: bool = False
    exact: bool = False
    """Whether `==` distinguishes all values below. It does not for open types: true equals 1."""


@dataclass(slots=True, eq=False)
class Type:
    """The valid forms of a value; structured-merge-diff's Atom."""

    scalar: str | None = None
    list: ListType | None = None
    map: MapType | None = None
    default: Any = None
    """The default of the field with this type; only defaults of list keys are used."""
    mixed: bool = True
    """Whether values of an open type can have any form; int-or-string is open, but not mixed."""

    @property
    def open(self) -> bool:
        """Whether any value fits the type."""
        return self.scalar == UNTYPED and self.list is not None and self.map is not None

    @property
    def exact(self) -> bool:
        """Whether `==` distinguishes all values of this type."""
        if self.open:
            return not self.mixed
        if self.list is not None:
            return self.list.element.exact
        return self.map is None or self.map.exact


def is_in_whole_list(kind: Type, path: Sequence[str | int]) -> bool:
    """Return whether a path leads into a list that is atomic or inside an atomic value."""
    is_atomic, inner = False, kind
    for step in path:
        if isinstance(step, int):
            if inner.list is None:
                return False
            if is_atomic or inner.list.atomic:
                return True
            inner = inner.list.element
        else:
            if inner.map is None:
                return False
            is_atomic |= inner.map.atomic
            below = inner.map.fields.get(step, inner.map.element)
            if below is None:
                return False
            inner = below
    return False


def _deduced() -> Type:
    """Return the type of values without a schema: granular maps, atomic lists."""
    anything = Type(scalar=UNTYPED)
    anything.list = ListType(Type(scalar=UNTYPED, list=None, map=None))
    anything.list.element = anything
    anything.map = MapType(element=anything)
    return anything


DEDUCED = _deduced()
_SCALARS = {"integer": NUMERIC, "number": NUMERIC, "boolean": BOOLEAN}
_STRING_FORMATS = frozenset({"", "byte"})
_RECURSIVE = "x-recursive"


def of_schema(schema: Schema, *, preserve: bool = False, struct: Type | None = None) -> Type:
    """Return the type that a JSON schema describes; `preserve`: whether a parent keeps unknown
    fields. `struct` is the nearest struct that contains the schema: the type of places that
    `gotypes.table` marks as recursive."""
    if struct is not None and schema.get(_RECURSIVE):
        return struct
    preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
    kind = schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string"):
        kind = ""
    merge_type = Type(
        default=schema.get("default"), mixed=not schema.get("x-kubernetes-int-or-string")
    )
    below = merge_type if schema.get("properties") else struct
    if kind in ("", "array"):
        merge_type.list = _list(schema, preserve, below)
    if kind in ("", "object"):
        merge_type.map = _map(schema, preserve, below)
    if kind not in ("array", "object"):
        merge_type.scalar = _scalar(kind, schema.get("format", ""))
    return merge_type


def _scalar(kind: str, form: str) -> str:
    if kind == "string" and form in _STRING_FORMATS:
        return STRING
    return _SCALARS.get(kind, UNTYPED)


def _map(schema: Schema, preserve: bool, struct: Type | None) -> MapType:
    properties: Schema = schema.get("properties") or {}
    if "managedFields" in properties and "ownerReferences" in properties and OBJECT_META.map:
        return OBJECT_META.map  # of a template inside a built-in kind
    fields = {
        name: of_schema(child, preserve=preserve, struct=struct)
        for name, child in properties.items()
    }
    if schema.get("x-kubernetes-embedded-resource"):
        text = Type(scalar=STRING)
        fields |= {"apiVersion": text, "kind": text, "metadata": OBJECT_META}
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    return _map_type(fields, _element(schema, preserve, struct), atomic)


def _map_type(fields: dict[str, Type], element: Type | None, atomic: bool = False) -> MapType:
    below = [*fields.values()] if element is None else [*fields.values(), element]
    return MapType(fields, element, atomic, exact=all(child.exact for child in below))


def _element(schema: Schema, preserve: bool, struct: Type | None) -> Type | None:
    """Return the type of undeclared keys; None if they are not allowed."""
    additional = schema.get("additionalProperties")
    if additional is None:
        return DEDUCED if preserve or not schema.get("properties") else None
    if isinstance(additional, dict):
        return of_schema(additional, preserve=preserve, struct=struct)
    return DEDUCED if additional else None


def _list(schema: Schema, preserve: bool, struct: Type | None) -> ListType:
    items, element = schema.get("items"), DEDUCED
    if isinstance(items, dict):
        element = of_schema(items, preserve=preserve, struct=struct)
    relation = schema.get("x-kubernetes-list-type")
    if relation == "set":
        return ListType(element, atomic=False)
    if relation == "map":
        return _keyed(element, tuple(schema.get("x-kubernetes-list-map-keys") or ()))
    strategy = schema.get("x-kubernetes-patch-strategy", "")
    if relation is None and strategy in ("merge", "merge,retainKeys"):
        key = schema.get("x-kubernetes-patch-merge-key")
        return _keyed(element, (key,) if key else ())
    return ListType(element)


def _keyed(element: Type, keys: tuple[str, ...]) -> ListType:
    fields = element.map.fields if element.map else {}
    ordered = tuple(sorted(keys))
    defaults = tuple(fields[key].default if key in fields else None for key in ordered)
    text = partial(pathelements.key, ordered) if ordered else pathelements.value
    return ListType(element, False, ordered, keys, defaults, text)


_TEXT = {"type": "string"}
_TIME = {"type": "string", "format": "date-time"}
_INT = {"type": "integer"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_OWNER = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "properties": {
        "apiVersion": _TEXT, "blockOwnerDeletion": {"type": "boolean"},
        "controller": {"type": "boolean"}, "kind": _TEXT, "name": _TEXT,
        "uid": {"type": "string", "default": ""},
    },
}  # fmt: skip
_ENTRY = {
    "type": "object",
    "properties": {
        "apiVersion": _TEXT, "fieldsType": _TEXT, "fieldsV1": {"type": "object"},
        "manager": _TEXT, "operation": _TEXT, "subresource": _TEXT, "time": _TIME,
    },
}  # fmt: skip
OBJECT_META = Type()
OBJECT_META.map = of_schema(
    {
        "type": "object",
        "properties": {
            "annotations": _TEXTS,
            "creationTimestamp": _TIME,
            "deletionGracePeriodSeconds": _INT,
            "deletionTimestamp": _TIME,
            "finalizers": {"type": "array", "items": _TEXT, "x-kubernetes-list-type": "set"},
            "generateName": _TEXT,
            "generation": _INT,
            "labels": _TEXTS,
            "managedFields": {"type": "array", "items": _ENTRY},
            "name": _TEXT,
            "namespace": _TEXT,
            "ownerReferences": {
                "type": "array",
                "items": _OWNER,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["uid"],
            },
            "resourceVersion": _TEXT,
            "selfLink": _TEXT,
            "uid": _TEXT,
        },
    }
).map
"""ObjectMeta, which every kind has, independent of the metadata in its schema.

managedFields is an atomic list here, but it is never merged, compared or owned.
"""


def of_builtin(schema: Schema) -> Type:
    """Return the type of a whole object of a built-in kind. A RawExtension, an object of any form,
    has one owner (schemaconv/openapi.go)."""
    return of_kind(_with_raw_values(schema))


def _with_raw_values(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_raw_values(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _with_raw_values(value) for key, value in schema.items()}
    if made == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}:
        made["x-kubernetes-map-type"] = "atomic"
    return made


def of_kind(schema: Schema) -> Type:
    """Return the type of a whole object: its schema with apiVersion, kind and ObjectMeta added."""
    if not schema:
        return _whole(MapType(element=DEDUCED))
    merge_type = of_schema({"type": "object", **schema})
    return _whole(merge_type.map or MapType(element=DEDUCED))


def _whole(declared: MapType) -> Type:
    text = Type(scalar=STRING)
    if not declared.fields and declared.element is DEDUCED:
        return Type(map=_map_type({"metadata": OBJECT_META}, DEDUCED))
    fields = {**declared.fields, "apiVersion": text, "kind": text, "metadata": OBJECT_META}
    return Type(map=_map_type(fields, declared.element, declared.atomic))
