"""LimitRanger admission: default and permitted resources of containers in a namespace.

Follows plugin/pkg/admission/limitranger. `limitranges` contains the meaning of a LimitRange.
"""

from collections.abc import Iterator

from inkube.apiserver.registry import Attributes, Operation, Plugin, Resource, keys
from inkube.schemas import status
from inkube.schemas.builtin import limitranges
from inkube.schemas.objects import Object
from inkube.storage import Store

_BOUND = (("", "pods"), ("", "persistentvolumeclaims"))
_PREFIX = keys.prefix("limitranges")


class LimitRanger(Plugin):
    """Sets default resources of new pods, and refuses pods and claims outside the limits."""

    name = "LimitRanger"

    def __init__(self, store: Store) -> None:
        self._store = store

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return (resource.group, resource.plural) in _BOUND and operation == "CREATE"

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.call.resource.plural != "pods" or attributes.call.subresource:
            return
        for limit_range in self._ranges(attributes):
            if attributes.object is not None:
                limitranges.fill(attributes.object, limit_range)

    async def validate(self, attributes: Attributes) -> None:
        call = attributes.call
        if call.subresource:
            return
        for limit_range in self._ranges(attributes):
            errors = limitranges.violations(attributes.object or {}, limit_range)
            if errors:
                text = errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"
                raise status.forbidden(call.resource.group, call.resource.plural, call.name, text)

    def _ranges(self, attributes: Attributes) -> Iterator[Object]:
        """Yield the LimitRanges of the namespace."""
        for entry in self._store.list(f"{_PREFIX}{attributes.call.namespace}/"):
            yield entry.value
