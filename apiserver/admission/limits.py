"""LimitRanger admission: default and permitted resources of containers in a namespace.

Follows plugin/pkg/admission/limitranger. `limitranges` contains the meaning of a LimitRange.
"""

from collections.abc import Iterator

from inkube.apiserver.registry import OfStore, Write, keys, refused
from inkube.schemas.builtin import limitranges
from inkube.schemas.objects import Object

_BOUND = (("", "pods"), ("", "persistentvolumeclaims"))
_PREFIX = keys.prefix("limitranges")


class LimitRanger(OfStore):
    """Sets default resources of new pods, and refuses pods and claims outside the limits."""

    name = "LimitRanger"
    kinds = _BOUND
    operations = ("CREATE",)

    async def mutate(self, write: Write) -> None:
        if write.request.resource.plural != "pods" or write.request.subresource:
            return
        for limit_range in self._ranges(write):
            if write.object is not None:
                limitranges.fill(write.object, limit_range)

    async def validate(self, write: Write) -> None:
        request = write.request
        if request.subresource:
            return
        for limit_range in self._ranges(write):
            errors = limitranges.violations(write.object or {}, limit_range)
            if errors:
                text = errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"
                raise refused(write, text)

    def _ranges(self, write: Write) -> Iterator[Object]:
        """Yield the LimitRanges of the namespace."""
        for entry in self._store.list(f"{_PREFIX}{write.request.namespace}/"):
            yield entry.value
