"""Kinds declared in Python: how their functions take part in admission.

The modules themselves are `controllers.kinds.KindModule`s; this file sees only a protocol.
"""

from collections.abc import Callable
from typing import Any, Protocol

from inkube.apiserver.registry.admission import Attributes, Operation, Plugin
from inkube.apiserver.registry.resources import Resource
from inkube.schemas import status
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import FieldError

Object = dict[str, Any]


class Module(Protocol):
    """What a kind brings along."""

    @property
    def definition(self) -> Definition: ...

    def mutate(self, obj: Object, old: Object | None) -> Object:
        """Normalise in place."""
        ...

    def validate(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Static rules."""
        ...

    async def check(self, obj: Object, old: Object | None, env: Any) -> list[FieldError]:
        """Live checks of a dry run."""
        ...

    async def check_delete(self, obj: Object, env: Any) -> list[FieldError]:
        """Why it must stay."""
        ...

    async def persist(self, obj: Object) -> None:
        """Keep secure values before a real write."""
        ...


class ModuleAdmission(Plugin):
    """Runs the mutators of every module, its live checks under dry run, its deletion guards."""

    def __init__(self, environment: Callable[[], Any]) -> None:
        self._environment = environment
        self._modules: dict[tuple[str, str], Module] = {}

    def add(self, module: Module) -> None:
        """Take a kind's module in."""
        definition = module.definition
        self._modules[definition.group, definition.names.plural] = module

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return (resource.group, resource.plural) in self._modules

    def _module(self, attributes: Attributes) -> Module:
        resource = attributes.call.resource
        return self._modules[resource.group, resource.plural]

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.object is not None and not attributes.call.subresource:
            self._module(attributes).mutate(attributes.object, attributes.old)
            attributes.call.served.schema.default(attributes.object)

    async def validate(self, attributes: Attributes) -> None:
        module, call = self._module(attributes), attributes.call
        if call.subresource:
            return
        env = self._environment()
        if attributes.object is None:
            assert attributes.old is not None, "a deletion has an old object"
            errors = await module.check_delete(attributes.old, env)
        elif attributes.dry_run:
            errors = await module.check(attributes.object, attributes.old, env)
        else:
            await module.persist(attributes.object)
            return
        if errors:
            raise status.invalid(call.resource.group, call.resource.kind, call.name, errors)
