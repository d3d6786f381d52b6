"""Admission: what may change or refuse a write after decoding and before storing.

The chain runs every plugin's `mutate` in order, later every plugin's `validate`. Plugins see the
same Attributes. Follows apiserver/pkg/admission.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inkube.apiserver.registry.calls import Call, DeleteOptions
from inkube.apiserver.registry.resources import Resource

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


Hook = Literal["mutate", "validate"]


class Chain:
    """The plugins in declared order."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self._plugins = tuple(plugins)

    async def mutate(self, attributes: Attributes) -> None:
        """Run every mutator that handles this write."""
        for plugin in self._chosen("mutate", attributes):
            await plugin.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Run every validator that handles this write."""
        for plugin in self._chosen("validate", attributes):
            await plugin.validate(attributes)

    def _chosen(self, hook: Hook, attributes: Attributes) -> tuple[Plugin, ...]:
        resource, operation = attributes.call.resource, attributes.operation

        def choose() -> tuple[Plugin, ...]:
            return tuple(
                plugin
                for plugin in self._plugins
                if getattr(type(plugin), hook) is not getattr(Plugin, hook)
                and plugin.handles(resource, operation)
            )

        return resource.once((hook, operation), choose)
