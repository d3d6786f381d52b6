"""The Go types behind the table: what a field decodes to, and when Go sends it.

Made from `types.table()` when a kind is first decoded, and kept.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inkube.schemas.builtin import types

Schema = dict[str, Any]
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SPECIAL = {
    f"{_META}Time": "time",
    f"{_META}MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intstr",
}
_SCALARS = {"string": "string", "boolean": "bool", "number": "float"}
_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_UNIONS = {f"{_PROPS}OrBool", f"{_PROPS}OrArray"}


@dataclass(slots=True)
class GoType:
    """One type. `kind` is string, bool, int32, int64, float, bytes, time, microtime, quantity,
    intstr, raw, union, list, map or struct; `name` is what Go's errors call it."""

    kind: str
    name: str
    item: "GoType | None" = None
    fields: "dict[str, GoField]" = field(default_factory=dict)


class GoField(NamedTuple):
    """A struct's field. `always`: sent when zero; `pointer`: a zero that was given is kept;
    `value`: a struct that is no pointer; `default`: taken for a zero (`+default`)."""

    type: GoType
    always: bool
    pointer: bool
    value: bool
    default: Any = None


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
        _known[name] = GoType(
            kind, {"quantity": "resource.Quantity", "intstr": "int32"}.get(kind, kind)
        )
    elif name in _UNIONS:
        union = _known[name] = GoType("union", "interface {}")
        union.item = of(_PROPS)
    else:
        _make_plain(name, types.table().types[name])


def _make_plain(name: str, node: Schema) -> None:
    if "properties" not in node:
        empty_struct = node.keys() == {"type"}
        _known[name] = GoType("struct" if empty_struct else "raw", _short(name))
        return
    made = _known[name] = GoType("struct", _short(name))
    required = frozenset(node.get("required", ()))
    made.fields = {
        key: _field(child, required=key in required) for key, child in node["properties"].items()
    }


def _short(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` → `v1.Pod`."""
    return ".".join(name.split(".")[-2:])


def _field(node: Schema, *, required: bool) -> GoField:
    made = _type(node)
    fact = node.get("x-go")
    struct = made.kind == "struct"
    default = node.get("default")
    return GoField(
        type=made,
        always=(required and fact != "hidden") or fact == "emitted",
        pointer=fact == "pointer" or (struct and default is None and not required),
        value=struct and default is not None,
        default=None if struct else default or None,
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
    return GoType(
        _SCALARS.get(kind or "", "raw"), str(kind or "interface {}").replace("boolean", "bool")
    )
