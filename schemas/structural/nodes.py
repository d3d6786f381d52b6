"""Structural schemas for validators: one `Node` per schema node, parsed at the first visit.

A Node is a normalised view of an openAPIV3Schema given as plain JSON. Writes of a definition refuse
a schema that is not structural; this module reads such a schema as upstream reads it. Follows
apiextensions-apiserver/pkg/apiserver/schema/{structural,convert,kubeopenapi}.go.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.structural import formats

Schema = Mapping[str, Any]
META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
"""The fields that every embedded resource has, declared or not."""

_FORMATS_OF_TYPE = {
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}


class Node:
    """One node of a schema. Its children are also Nodes, created at the first use."""

    __slots__ = ("__dict__", "raw")

    def __init__(self, raw: Schema) -> None:
        self.raw = raw

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The allowed JSON types; empty: any type."""
        if self.raw.get("x-kubernetes-int-or-string"):
            return ("integer", "string")
        declared = self.raw.get("type")
        return (declared,) if declared else ()

    @cached_property
    def format(self) -> str:
        """The format, or "" if upstream does not know it for this type."""
        name: str = self.raw.get("format") or ""
        kind = self.types[0] if len(self.types) == 1 else ""
        if kind in {"", "string"} and len(self.types) < 2:
            return name if formats.is_known(name) else ""
        return name if name in _FORMATS_OF_TYPE.get(kind, ()) else ""

    @cached_property
    def nullable(self) -> bool:
        """Whether null is a valid value."""
        return bool(self.raw.get("nullable"))

    @cached_property
    def preserve(self) -> bool:
        """Whether unknown fields are kept."""
        return bool(self.raw.get("x-kubernetes-preserve-unknown-fields"))

    @cached_property
    def embedded(self) -> bool:
        """Whether values are whole objects with apiVersion, kind and metadata."""
        return bool(self.raw.get("x-kubernetes-embedded-resource"))

    @cached_property
    def list_type(self) -> str:
        """The list type: `atomic`, `set`, `map` or ""."""
        return self.raw.get("x-kubernetes-list-type") or ""

    @cached_property
    def holds_list_types(self) -> bool:
        """Whether this node or a node below it has a list type."""
        return self.holds("x-kubernetes-list-type")

    @cached_property
    def typed_lists(self) -> tuple[tuple[str, "Node"], ...]:
        """The declared fields with list types at or below them."""
        fields = ((name, self.children[name]) for name in self.raw.get("properties") or {})
        return tuple((name, node) for name, node in fields if node and node.holds_list_types)

    @cached_property
    def typed_values(self) -> bool:
        """Whether the schema of undeclared names has list types at or below it."""
        return self.additional is not None and self.additional.holds_list_types

    @cached_property
    def list_map_keys(self) -> tuple[str, ...]:
        """The key fields, which identify an item of a map list."""
        return tuple(self.raw.get("x-kubernetes-list-map-keys") or ())

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the required fields."""
        return tuple(self.raw.get("required") or ())

    @cached_property
    def enum(self) -> list[Any]:
        """The allowed values; empty: any value."""
        return self.raw.get("enum") or []

    @cached_property
    def children(self) -> "Children":
        """The Node of each field by name; None if the schema does not describe the field."""
        return Children(self.raw.get("properties") or {}, self.additional)

    @cached_property
    def additional(self) -> "Node | None":
        """The schema of map values; `NOTHING` for `additionalProperties: true` or false: as
        upstream, both keep the keys, which false then forbids."""
        declared = self.raw.get("additionalProperties")
        if isinstance(declared, bool):
            return NOTHING
        return Node(declared) if isinstance(declared, Mapping) else None

    @cached_property
    def items(self) -> "Node | None":
        """The schema of list items."""
        declared = self.raw.get("items")
        return Node(declared) if isinstance(declared, Mapping) else None

    def branches(self, keyword: str) -> list["Node"]:
        """Return the schemas under allOf, anyOf or oneOf; the same Nodes every time."""
        nodes = self._branches.get(keyword)
        if nodes is None:
            nodes = self._branches[keyword] = [Node(raw) for raw in self.raw.get(keyword) or ()]
        return nodes

    def holds(self, keyword: str) -> bool:
        """Return whether this node or a node below it has the keyword, without nodes in
        combinators."""
        is_held = self._held.get(keyword)
        if is_held is None:
            is_held = self._held[keyword] = _mentions(self.raw, keyword)
        return is_held

    @cached_property
    def _held(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _branches(self) -> dict[str, list["Node"]]:
        return {}

    @cached_property
    def has_default(self) -> bool:
        """Whether the node has a default; a default of null does not count."""
        return self.raw.get("default") is not None

    @cached_property
    def defaults(self) -> tuple[tuple[str, "Node"], ...]:
        """The declared fields that have a default."""
        properties = self.raw.get("properties") or {}
        names = [name for name, raw in properties.items() if raw.get("default") is not None]
        return tuple((name, node) for name in names if (node := self.children[name]))

    def new_default(self) -> Any:
        """Return a copy of the default, which the caller can change."""
        default = self.raw.get("default")
        return orjson.loads(self._default_bytes) if type(default) in {dict, list} else default

    @cached_property
    def _default_bytes(self) -> bytes:
        return orjson.dumps(self.raw["default"])


class Children(dict[str, Node | None]):
    """Field name → Node, filled at lookups; undeclared names share one Node."""

    __slots__ = ("additional", "declared")

    def __init__(self, declared: Schema, additional: Node | None) -> None:
        super().__init__()
        self.declared = declared
        """The schemas of the properties. Other names are keys of a map."""
        self.additional = additional

    def __missing__(self, name: str) -> Node | None:
        raw = self.declared.get(name)
        if raw is None:
            if name in META_FIELDS:  # few names, so they can be stored; keys of maps are not
                self[name] = self.additional
            return self.additional
        node = self[name] = Node(raw)
        return node


NOTHING = Node({})
"""The empty schema of keys without their own: it prunes all fields and has no checks."""


def _mentions(raw: Schema, keyword: str) -> bool:
    pending = [raw]
    while pending:
        schema = pending.pop()
        if schema.get(keyword):
            return True
        pending.extend(sub for sub in (schema.get("properties") or {}).values() if sub)
        below = (schema.get("items"), schema.get("additionalProperties"))
        pending.extend(sub for sub in below if isinstance(sub, Mapping))
    return False
