"""One version of a kind, with what its schema compiles to."""

from typing import Any

import orjson

from inkube.schemas import caches, cel, structural
from inkube.schemas.builtin import decoding
from inkube.schemas.definitions import Definition, Origin, Version
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.ownership.typed import TypedSchema

_LOOPS = (b"all(", b"exists", b"map(", b"filter(", b"transform", b"sort")
"""What stands in a rule that goes over a list."""


class Served:
    """A version as behaviours, voices and calls see it; compiles its schema on first use."""

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
        made = structural.CompiledSchema(self.version.schema)
        self.is_costly = made.node.holds("x-kubernetes-validations") and _loops(self.version.schema)
        return made

    @cached_property
    def rules(self) -> "cel.RuleSet | None":
        """The schema's CEL rules, None without any; the engine is loaded when one is needed."""
        if not self.schema.node.holds("x-kubernetes-validations"):
            return None
        return cel.RuleSet(self.version.schema)

    @cached_property
    def typed(self) -> TypedSchema:
        """How fields merge and who may own them."""
        return TypedSchema(self.version.schema)


def _loops(schema: dict[str, Any]) -> bool:
    """Whether a rule in it goes over a list."""
    text = orjson.dumps(schema)
    return any(loop in text for loop in _LOOPS)


class _BuiltinServed(Served):
    @cached_property
    def typed(self) -> TypedSchema:
        empty = decoding.empty(self.gvk)
        return TypedSchema(self.version.schema, custom=False, empty=empty)


@caches.of_values(512)
def _builtin(definition: Definition, version: Version) -> Served:
    """One for all servers of the process: they come and go with tests, what is compiled stays."""
    return _BuiltinServed(definition, version)


def of(definition: Definition, version: Version) -> Served:
    """What serves a version."""
    make = _builtin if definition.origin is Origin.BUILTIN else Served
    return make(definition, version)
