"""One served version of a kind: its names, and the form of objects in this version.

    Served                 the base of all versions, which does not change objects
    ├── BuiltinServed      decoded by the kind's Go type (`schemas.builtin.served`)
    ├── DefinitionServed   CustomResourceDefinitions (`schemas.builtin.served`)
    └── CustomServed       pruned and defaulted by a structural schema (`schemas.crds`)

The strategy of a kind decides which changes to objects are valid (`schemas.strategy`).
"""

from typing import Any

import orjson

from inkube.schemas import cel, structural
from inkube.schemas.definitions import Definition, Version
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.objects import Empty, Object
from inkube.schemas.ownership import TypedSchema, relabelled

_LOOPS = (b"all(", b"exists", b"map(", b"filter(", b"transform", b"sort")
"""Substrings of CEL rules that iterate over a list."""


class Served:
    """A served version, which compiles its schema at the first use."""

    def __init__(self, definition: Definition, version: Version) -> None:
        self.definition = definition
        self.version = version
        self.name = version.name
        self.gvk: GVK = definition.gvk(version.name)
        self.gvr: GVR = definition.gvr(version.name)
        self.api_version = self.gvk.api_version
        self.kind = self.gvk.kind
        self.is_costly = True
        """Whether work with an object can take long even if the object is small: the schema is not
        yet compiled, or it has rules with loops, whose cost grows faster than the object."""

    @cached_property
    def empty(self) -> Object:
        """An object without values, as its Go type is encoded; {} for custom resources."""
        return {}

    @property
    def blank(self) -> Object:
        """An object without values, as bookmarks of watches contain it: made from the internal type
        of the kind."""
        return self.empty

    @cached_property
    def schema(self) -> "structural.CompiledSchema":
        """Pruning, defaulting and validation, loaded with the first custom object."""
        schema = structural.CompiledSchema(self.version.schema, minor=self.definition.minor)
        self.is_costly = schema.node.holds("x-kubernetes-validations") and _loops(
            self.version.schema
        )
        return schema

    @cached_property
    def rules(self) -> "cel.RuleSet | None":
        """The schema's CEL rules, None without rules; loads the CEL engine at the first use."""
        if not self.schema.node.holds("x-kubernetes-validations"):
            return None
        return cel.RuleSet(self.version.schema, minor=self.definition.minor)

    @cached_property
    def typed(self) -> TypedSchema:
        """The typed view for merging fields and for field ownership."""
        return TypedSchema(self.version.schema, minor=self.definition.minor)

    def decode(
        self, obj: Object, unknown: list[str] | None, empties: list[Empty] | None = None
    ) -> Object:
        """Decode an object from a request by its types, with the defaults of the schema.

        May change `obj` in place. Appends unknown fields to `unknown`, and lists and maps that were
        dropped because they are empty to `empties`, unless they are None. Raises DecodeError if a
        value does not fit the type of its field.
        """
        return obj

    def decode_restored(
        self, obj: Object, unknown: list[str] | None, empties: list[Empty] | None = None
    ) -> Object:
        """`decode` for the result of an apply or a strategic patch, which upstream sets into the Go
        type without a text."""
        return self.decode(obj, unknown, empties)

    def admitted_gvk(self, obj: Object) -> GVK:
        """Return the version and kind by which an object that a webhook changed is read: those of
        a Go type, but for a custom resource those that it names. Raises DecodeError if it names
        none."""
        return self.gvk

    def decode_admitted(self, obj: Object, kind: GVK) -> Object:
        """Decode an object that a webhook changed. Raises DecodeError, also for another kind.

        `kind` differs from the version's kind if a subresource has objects of another kind.
        """
        return obj

    def converted(self, obj: Object) -> Object:
        """Convert an object of another version to this one, without a webhook."""
        return obj

    def reshape(self, obj: Object, api_version: str) -> Object:
        """Return an object in another version of the kind, not pruned; it shares parts with
        `obj`."""
        return relabelled(obj, api_version)

    def prune(self, obj: Object) -> None:
        """Drop the fields that this version does not have from an object converted to it."""

    def fit(self, obj: Object) -> None:
        """Prune an object that was converted to this version, and set its defaults."""

    def complete(self, obj: Object) -> None:
        """Set the defaults of members that were dropped, such as the status of a new object."""

    def renewed(self, data: bytes, stored: Object) -> Object | None:
        """Return a stored object, with the bytes `data`, pruned and defaulted by this version's
        schema.

        None if it equals `stored`.
        """
        return None


def _loops(schema: dict[str, Any]) -> bool:
    """Return whether the schema has a rule that iterates over a list."""
    text = orjson.dumps(schema)
    return any(loop in text for loop in _LOOPS)
