"""The Go types behind the table: what a field decodes to, and when Go sends it.

Made from `table.table()` when a type is first decoded, and kept.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inkube.schemas.gotypes import table

Schema = dict[str, Any]
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_SPECIAL = {
    f"{_EXTENSIONS}JSON": "json",
    f"{_META}Time": "time",
    f"{_META}MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intstr",
}
_SCALARS = {"string": "string", "boolean": "bool", "number": "float"}
_NAMES = {"quantity": "resource.Quantity", "intstr": "int32", "json": "v1.JSON"}
_PROPS = f"{_EXTENSIONS}JSONSchemaProps"
_UNIONS = {
    f"{_PROPS}OrBool": "orbool",
    f"{_PROPS}OrArray": "orlist",
    f"{_PROPS}OrStringArray": "orstrings",
}
_NEVER_ZERO = ("quantity", "intstr", "raw", "json", *_UNIONS.values())
Leaf = type[str] | type[bool]
_LEAVES: dict[str, Leaf] = {"string": str, "bool": bool}


@dataclass(slots=True)
class GoType:
    """One type. `kind` is string, bool, int32, int64, float, bytes, time, microtime, quantity,
    intstr, raw, json, orbool, orlist, orstrings, list, map or struct; `name` is what Go's errors
    call it. `item` is what lists and maps hold, and the struct that the three unions may be."""

    kind: str
    name: str
    item: "GoType | None" = None
    fields: "dict[str, GoField]" = field(default_factory=dict)
    always: "list[tuple[str, GoField]]" = field(default_factory=list)
    """The fields that are sent even when they were not given."""
    struct: str = ""
    """A struct's name without its package."""


class GoField(NamedTuple):
    """A struct's field. `always`: sent when zero; `pointer`: a zero that was given is kept;
    `value`: a struct that is no pointer; `default`: taken for a zero (`+default`)."""

    type: GoType
    always: bool
    pointer: bool
    value: bool
    default: Any = None
    leaf: Leaf | None = None
    """What is of this Python type stays as it is: most members are texts, which need no walk."""
    zero_kept: bool = False
    """Whether a zero that was given is sent."""


_known: dict[str, GoType] = {}
"""Types made so far; one is entered before its fields, since some types contain themselves."""


def of(name: str) -> GoType:
    """The type of that name in the table."""
    if name not in _known:
        _make(name)
    return _known[name]


def _make(name: str) -> None:
    if name in _SPECIAL:
        kind = _SPECIAL[name]
        _known[name] = GoType(kind, _NAMES.get(kind, kind))
    elif name in _UNIONS:
        union = _known[name] = GoType(_UNIONS[name], _short(name))
        union.item = of(_PROPS)
    else:
        _make_plain(name, table.table().types[name])


def _make_plain(name: str, node: Schema) -> None:
    if "properties" not in node:
        empty_struct = node.keys() == {"type"}
        _known[name] = GoType("struct" if empty_struct else "raw", _short(name))
        return
    made = _known[name] = GoType("struct", _short(name))
    required = frozenset(node.get("required", ()))
    made.struct = name.rpartition(".")[2]
    made.fields = {
        key: _field(child, required=key in required) for key, child in node["properties"].items()
    }
    made.always = [
        (key, known)
        for key, known in made.fields.items()
        if known.always or known.value or known.default is not None
    ]


def _short(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` → `v1.Pod`."""
    return ".".join(name.split(".")[-2:])


def _field(node: Schema, *, required: bool) -> GoField:
    made = _type(node)
    fact = node.get("x-go")
    struct = made.kind == "struct"
    default = node.get("default")
    always = (required and fact != "hidden") or fact == "emitted"
    pointer = fact == "pointer" or (struct and default is None and not required)
    value = struct and default is not None
    return GoField(
        type=made,
        always=always,
        pointer=pointer,
        value=value,
        default=None if struct else default or None,
        leaf=_LEAVES.get(made.kind),
        zero_kept=always or pointer or value or made.kind in _NEVER_ZERO,
    )


def _type(node: Schema) -> GoType:
    target = node.get("$ref")
    if target:
        return of(target)
    kind = node.get("type")
    if kind == "array":
        item = _type(node["items"])
        return GoType("list", f"[]{item.name}", item)
    if kind == "object" and "additionalProperties" in node:
        item = _type(node["additionalProperties"])
        name = "v1.ResourceList" if item.kind == "quantity" else f"map[string]{item.name}"
        return GoType("map", name, item)
    if kind == "integer":
        name = node.get("format", "int64")
        return GoType(name, name)
    if node.get("format") == "byte":
        return GoType("bytes", "[]uint8")
    if kind == "number":
        return GoType("float", "float64")
    name = node.get("x-go-type") or str(kind or "interface {}").replace("boolean", "bool")
    return GoType(_SCALARS.get(kind or "", "raw"), name)
