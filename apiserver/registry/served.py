"""One version of a kind, with what its schema compiles to."""

from functools import cached_property
from typing import TYPE_CHECKING

from inkube.schemas import caches
from inkube.schemas.builtin import decoding
from inkube.schemas.definitions import Definition, Origin, Version
from inkube.schemas.meta import GVK, GVR
from inkube.schemas.ownership.typed import TypedSchema

if TYPE_CHECKING:
    from inkube.schemas.cel.rules.evaluation import RuleSet
    from inkube.schemas.structural.compiled import CompiledSchema


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

    @cached_property
    def schema(self) -> "CompiledSchema":
        """Pruning, defaulting and validation, loaded with the first custom object."""
        from inkube.schemas.structural.compiled import CompiledSchema

        return CompiledSchema(self.version.schema)

    @cached_property
    def rules(self) -> "RuleSet | None":
        """The schema's CEL rules, None without any; the engine is loaded when one is needed."""
        if not self.schema.node.holds("x-kubernetes-validations"):
            return None
        from inkube.schemas.cel.rules.evaluation import RuleSet

        return RuleSet(self.version.schema)

    @cached_property
    def typed(self) -> TypedSchema:
        """How fields merge and who may own them."""
        return TypedSchema(self.version.schema)


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
