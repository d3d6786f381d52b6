"""The Go types of the table: how a field is decoded, and when Go encodes it.

They are created from `table.table()` at the first use of a type, and kept.
"""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from inkube.schemas import caches, releases
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
UNIONS = frozenset(_UNIONS.values())
"""The kinds of unions of JSONSchemaProps and another type."""
_NEVER_ZERO = ("quantity", "intstr", "raw", "json", *UNIONS)
_TIMES = ("time", "microtime")
_OMITTED_TIME = "creationTimestamp"
"""The optional time that is no pointer: Go omits its zero."""
_EMBEDDED_SINCE = 35
"""The minor since which errors name the embedded struct of a field (Go 1.25)."""
Leaf = type[str] | type[bool]
_LEAVES: dict[str, Leaf] = {"string": str, "bool": bool}


@dataclass(slots=True)
class GoType:
    """One type. `kind` is string, bool, int32, int64, float, bytes, time, microtime, quantity,
    intstr, raw, json, orbool, orlist, orstrings, list, map or struct. `name` is the name in Go's
    errors. `item` is the type of the items of a list or of the values of a map, or the struct of
    one of the three unions."""

    kind: str
    name: str
    item: "GoType | None" = None
    fields: "dict[str, GoField]" = field(default_factory=dict)
    always: "list[tuple[str, GoField]]" = field(default_factory=list)
    """The fields that are encoded even if they are missing."""
    struct: str = ""
    """A struct's name without its package."""


class GoField(NamedTuple):
    """A struct's field. `always`: also a zero value is encoded. `pointer`: a given zero value
    stays. `value`: a struct that is not a pointer. `default`: replaces a zero value
    (`+default`)."""

    type: GoType
    always: bool
    pointer: bool
    value: bool
    default: Any = None
    leaf: Leaf | None = None
    """Values with this Python type stay as they are. Most members are texts, for which this saves
    time."""
    zero_kept: bool = False
    """Whether a given zero value is encoded."""
    place: str = ""
    """The name of the field in Go's errors: its key, after the embedded structs that contain it."""
    within: str = ""
    """The embedded structs that contain the field, separated by dots."""


class UnfinishedTypes(dict[str, GoType]):
    """Types by name. They are incomplete while their fields are created, because types can contain
    themselves."""

    def __init__(self, minor: int) -> None:
        super().__init__()
        self.minor = minor
        self.nodes = table.table(minor).types


_MADE: Final[caches.Table[tuple[str, int], GoType]] = caches.Table(
    __name__, "_MADE", 2048 * len(releases.RECORDED)
)
"""Complete types. A minor has fewer than 2,048."""


def of(name: str, minor: int = releases.NEWEST.minor) -> GoType:
    """Return the type with that name in the table of a minor."""
    return _MADE.get((name, minor)) or _make(name, UnfinishedTypes(minor))


def _make(name: str, unfinished: UnfinishedTypes) -> GoType:
    found = _MADE.get((name, unfinished.minor)) or unfinished.get(name)
    if found is None:
        made = unfinished[name] = GoType(*_kind(name, unfinished))
        _fill(made, name, unfinished)
        if next(iter(unfinished)) == name:  # the outermost: all are complete now
            for key, whole in unfinished.items():
                _MADE.keep((key, unfinished.minor), whole)
        return made
    return found


def _kind(name: str, unfinished: UnfinishedTypes) -> tuple[str, str]:
    """Return a type's kind, and its name in Go's errors."""
    if name in _SPECIAL:
        kind = _SPECIAL[name]
        return kind, _NAMES.get(kind, kind)
    if name in _UNIONS:
        return _UNIONS[name], _short(name)
    node = unfinished.nodes[name]
    struct = "properties" in node or node.keys() == {"type"}
    return "struct" if struct else "raw", _short(name)


def _fill(go_type: GoType, name: str, unfinished: UnfinishedTypes) -> None:
    if go_type.kind in UNIONS:
        go_type.item = _make(_PROPS, unfinished)
    elif go_type.kind == "struct":
        node = unfinished.nodes[name]
        required, minor = frozenset(node.get("required", ())), unfinished.minor
        go_type.struct = name.rpartition(".")[2]
        go_type.fields = {
            key: _field(key, _type(child, unfinished), child, required=key in required, minor=minor)
            for key, child in node.get("properties", {}).items()
        }
        go_type.always = [
            (key, known)
            for key, known in go_type.fields.items()
            if known.always or known.value or known.default is not None
        ]


def _short(name: str) -> str:
    """`io.k8s.api.core.v1.Pod` → `v1.Pod`."""
    return ".".join(name.split(".")[-2:])


def _field(key: str, go_type: GoType, node: Schema, *, required: bool, minor: int) -> GoField:
    fact = node.get("x-go")
    struct = go_type.kind == "struct"
    default = node.get("default")
    always = (required and fact != "hidden") or fact in ("emitted", "null")
    pointer = fact in ("pointer", "null") or (struct and default is None and not required)
    value = struct and default is not None
    is_kept_time = go_type.kind in _TIMES and key != _OMITTED_TIME
    names_embedded = minor >= _EMBEDDED_SINCE and "x-go-in" in node
    return GoField(
        type=go_type,
        always=always,
        pointer=pointer,
        value=value,
        default=None if struct or not (default or pointer) else default,
        leaf=_LEAVES.get(go_type.kind),
        zero_kept=always or pointer or value or go_type.kind in _NEVER_ZERO or is_kept_time,
        place=f"{node['x-go-in']}.{key}" if names_embedded else key,
        within=node.get("x-go-in", ""),
    )


def _type(node: Schema, unfinished: UnfinishedTypes) -> GoType:
    target = node.get("$ref")
    if target:
        return _make(target, unfinished)
    kind = node.get("type")
    if kind == "array":
        item = _type(node["items"], unfinished)
        return GoType("list", node.get("x-go-type") or f"[]{item.name}", item)
    if kind == "object" and "additionalProperties" in node:
        item = _type(node["additionalProperties"], unfinished)
        name = "v1.ResourceList" if item.kind == "quantity" else f"map[string]{item.name}"
        return GoType("map", node.get("x-go-type") or name, item)
    if kind == "integer":
        name = node.get("format", "int64")
        return GoType(name, name)
    if node.get("format") == "byte":
        return GoType("bytes", "[]uint8")
    if kind == "number":
        return GoType("float", "float64")
    name = node.get("x-go-type") or str(kind or "interface {}").replace("boolean", "bool")
    return GoType(_SCALARS.get(kind or "", "raw"), name)
