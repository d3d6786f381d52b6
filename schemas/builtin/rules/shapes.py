"""The Go types of `gotypes` as rules need them: the types of fields, and whether they are
pointers."""

from typing import Any, NamedTuple

from inkube.schemas import caches, releases
from inkube.schemas.gotypes import table, types

_PREFIXES = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}
_NUMBERS = frozenset({"int32", "int64", "float"})


class Shape(NamedTuple):
    """A field's type. `kind` is as in `gotypes.types.GoType`. `struct` is the short name of a
    struct, or of the elements of a list or map. `keys` identify the items of a list
    (`+listMapKey`)."""

    kind: str
    struct: str
    item: str
    pointer: bool
    keys: tuple[str, ...]

    @property
    def is_number(self) -> bool:
        """Whether a missing value is a number 0 in Go, which checks see."""
        return self.kind in _NUMBERS and not self.pointer


ANYTHING = Shape("raw", "", "", pointer=False, keys=())


def full_name(short: str) -> str:
    """Return the name of a type in `gotypes` for its short name, such as `core.v1.PodSpec`."""
    package, _, rest = short.partition(".")
    return f"{_PREFIXES.get(package, f'io.k8s.api.{package}')}.{rest}"


def short_name(full: str) -> str:
    """Return the last three parts of a name: `core.v1.PodSpec`."""
    return ".".join(full.split(".")[-3:])


@caches.of_values(2048 * len(releases.RECORDED))
def fields(short: str, minor: int = releases.NEWEST.minor) -> dict[str, Shape]:
    """Return the fields of a struct in a minor. Raises KeyError for an unknown type."""
    name = short_name(full_name(short.partition("/")[0]))
    full = full_name(name)
    made = types.of(full, minor)
    nodes: dict[str, Any] = table.table(minor).types[full].get("properties", {})
    return {field: _shape(made.fields[field], node) for field, node in nodes.items()}


def at(short: str, path: list[str], minor: int = releases.NEWEST.minor) -> Shape:
    """Return the type at a path in a struct. Raises KeyError for an unknown type or field."""
    shape = ANYTHING
    for part in path:
        shape = fields(short, minor)[part]
        short = shape.struct
    return shape


def is_later(short: str, path: list[str], minor: int) -> bool:
    """Return whether a type, or a field at a path in it, exists in the newest minor but not in this
    one."""
    return not _has(short, path, minor) and _has(short, path, releases.NEWEST.minor)


def _has(short: str, path: list[str], minor: int) -> bool:
    try:
        for part in path:
            short = fields(short, minor)[part].struct
    except KeyError:
        return False
    return bool(path) or full_name(short_name(short.partition("/")[0])) in table.table(minor).types


def _shape(known: types.GoField, node: dict[str, Any]) -> Shape:
    inner = node.get("items") or node.get("additionalProperties") or {}
    target = node if known.type.kind == "struct" else inner
    reference = target.get("$ref", "") if isinstance(target, dict) else ""
    item = known.type.item
    held = item.kind if item is not None else ""
    is_struct = "struct" in (known.type.kind, held)
    return Shape(
        kind=known.type.kind,
        struct=short_name(reference) if reference and is_struct else "",
        item=held,
        pointer=known.pointer,
        keys=tuple(node.get("x-kubernetes-list-map-keys", ())),
    )
