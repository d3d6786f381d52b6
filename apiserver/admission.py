"""Admission: what may change or refuse a write after decoding and before storing.

The chain runs every plugin's `mutate` in order, later every plugin's `validate`. Plugins see the
same Attributes. Follows apiserver/pkg/admission.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

from inkube.apiserver.calls import Call
from inkube.apiserver.options import DeleteOptions
from inkube.apiserver.resources import Resource

Object = dict[str, Any]
Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@dataclass(slots=True)
class Attributes:
    """One write as admission sees it. `object` is None on DELETE, `old` on CREATE."""

    operation: Operation
    call: Call
    object: Object | None
    old: Object | None = None
    dry_run: bool = False
    delete_options: DeleteOptions | None = None


class Plugin:
    """Base of all plugins: does nothing. Both hooks raise StatusError to refuse."""

    def handles(self, resource: Resource, operation: Operation) -> bool:
        """Whether it has anything to say; asked once per resource and operation."""
        return True

    async def mutate(self, attributes: Attributes) -> None:
        """Change `attributes.object` in place. Must not depend on later plugins."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse, or not. Must not change the object."""


Chosen = WeakKeyDictionary[Resource, dict[Operation, tuple[Plugin, ...]]]


class Chain:
    """The plugins in declared order."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self._plugins = tuple(plugins)
        # weak: what is asked of a resource while it goes away must not keep it
        self._mutators: Chosen = WeakKeyDictionary()
        self._validators: Chosen = WeakKeyDictionary()

    async def mutate(self, attributes: Attributes) -> None:
        """Run every mutator that handles this write."""
        for plugin in self._chosen(self._mutators, "mutate", attributes):
            await plugin.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Run every validator that handles this write."""
        for plugin in self._chosen(self._validators, "validate", attributes):
            await plugin.validate(attributes)

    def forget(self, resource: Resource) -> None:
        """Drop what is remembered of a resource that is no longer served."""
        self._mutators.pop(resource, None)
        self._validators.pop(resource, None)

    def _chosen(self, chosen: Chosen, hook: str, attributes: Attributes) -> tuple[Plugin, ...]:
        resource, operation = attributes.call.resource, attributes.operation
        known = chosen.get(resource)
        if known is None:
            known = chosen[resource] = {}
        plugins = known.get(operation)
        if plugins is None:
            plugins = known[operation] = tuple(
                plugin
                for plugin in self._plugins
                if getattr(type(plugin), hook) is not getattr(Plugin, hook)
                and plugin.handles(resource, operation)
            )
        return plugins
