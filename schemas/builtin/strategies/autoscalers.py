"""HorizontalPodAutoscalers of both versions are validated as v2, as upstream validates the internal
type: annotations of v1 contain metrics and behavior, too."""

from inkube.schemas.builtin import conversion
from inkube.schemas.builtin.rules import UNCHECKED, MetadataChecks
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object


class Autoscalers(BuiltinStrategy):
    """The behavior of HorizontalPodAutoscalers."""

    def default(self, obj: Object) -> None:
        """Set the defaults. Those of v1 metrics depend on annotations, so the conversion to the
        internal type sets them, and drops annotations that it cannot read."""
        super().default(obj)
        version = obj.get("apiVersion", self.gvk.api_version)
        if version != self.gvk.api_version:
            obj.update(conversion.convert(self._internal(obj), version))

    def check(self, obj: Object) -> list[FieldError]:
        return self.rules.of_object(self._internal(obj), self.gvk)

    def check_update(
        self, obj: Object, old: Object, meta: MetadataChecks = UNCHECKED
    ) -> list[FieldError]:
        new, before = self._internal(obj), self._internal(old)
        return self.rules.update_errors(new, self.gvk, before, meta)

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        new, before = self._internal(obj), self._internal(old)
        return self.rules.part_errors(new, self.gvk, before, "status")

    def _internal(self, obj: Object) -> Object:
        return conversion.convert(obj, self.gvk.api_version)
