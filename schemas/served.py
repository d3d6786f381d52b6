"""One version of a kind as it is served: its names, and the form that objects have in it.

    Served                 what all versions have in common; objects stay as they are
    ├── BuiltinServed      decoded by the kind's Go type (`schemas.builtin.served`)
    ├── DefinitionServed   CustomResourceDefinitions (`schemas.builtin.served`)
    └── CustomServed       pruned and defaulted by a structural schema (`schemas.crds`)

What may be done to objects is said by their kind's strategy (`schemas.strategy`).
"""

from typing import Any

import orjson

from inkube.schemas import cel, structural
from inkube.schemas.definitions import Definition, Version
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.objects import Empty, Object
from inkube.schemas.ownership import TypedSchema

_LOOPS = (b"all(", b"exists", b"map(", b"filter(", b"transform", b"sort")
"""What stands in a rule that goes over a list."""


class Served:
    """A version; what its schema compiles to is made when it is first used."""

    def __init__(self, definition: Definition, version: Version) -> None:
        self.definition = definition
        self.version = version
        self.name = version.name
        self.gvk: GVK = definition.gvk(version.name)
        self.gvr: GVR = definition.gvr(version.name)
        self.api_version = self.gvk.api_version
        self.kind = self.gvk.kind
        self.is_costly = True
        """Whether work with an object may take long, however small it is: the schema is yet to be
        compiled, or has rules with loops, whose cost grows faster than their object."""

    @cached_property
    def schema(self) -> "structural.CompiledSchema":
        """Pruning, defaulting and validation, loaded with the first custom object."""
        made = structural.CompiledSchema(self.version.schema, minor=self.definition.minor)
        self.is_costly = made.node.holds("x-kubernetes-validations") and _loops(self.version.schema)
        return made

    @cached_property
    def rules(self) -> "cel.RuleSet | None":
        """The schema's CEL rules, None without any; the engine is loaded when one is needed."""
        if not self.schema.node.holds("x-kubernetes-validations"):
            return None
        return cel.RuleSet(self.version.schema, minor=self.definition.minor)

    @cached_property
    def typed(self) -> TypedSchema:
        """How fields merge and who may own them."""
        return TypedSchema(self.version.schema)

    def decode(
        self, obj: Object, unknown: list[str] | None, empties: list[Empty] | None = None
    ) -> Object:
        """Give an incoming object its types, and defaults where a schema has some.

        It may be changed in place. Unknown fields go to `unknown` where that is a list, and lists
        and maps that are left out for being empty to `empties`. Raises DecodeError when a value
        cannot be what its field is.
        """
        return obj

    def decode_applied(self, obj: Object) -> Object:
        """The same for what an apply merged, whose fields are known already."""
        return self.decode(obj, None)

    def decode_admitted(self, obj: Object, kind: GVK) -> Object:
        """The same for what a webhook made of an object. Raises DecodeError.

        `kind` is another than the version's where a subresource takes objects of its own.
        """
        return obj

    def converted(self, obj: Object) -> Object:
        """An object of another version in this one, where nobody has to be asked."""
        return obj

    def prune(self, obj: Object) -> None:
        """Drop what this version does not have, of an object that came into it."""

    def fit(self, obj: Object) -> None:
        """Prune and default what came into this version."""

    def complete(self, obj: Object) -> None:
        """Give back their defaults to members dropped on the way, such as a new one's status."""

    def renewed(self, data: bytes, stored: Object) -> Object | None:
        """A stored object, whose bytes are `data`, under this version's schema.

        None where nothing differs.
        """
        return None


def _loops(schema: dict[str, Any]) -> bool:
    """Whether a rule in it goes over a list."""
    text = orjson.dumps(schema)
    return any(loop in text for loop in _LOOPS)
