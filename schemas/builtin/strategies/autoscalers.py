"""HorizontalPodAutoscalers of both versions are prepared and validated as v2, as upstream does with
the internal type: annotations of v1 contain parts of the spec and of the status."""

from collections.abc import Callable
from functools import partial

from inkube.schemas.builtin import conversion
from inkube.schemas.builtin.rules import UNCHECKED, MetadataChecks
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Autoscalers(BuiltinStrategy):
    """The behavior of HorizontalPodAutoscalers."""

    def default(self, obj: Object) -> None:
        """Set the defaults. Those of v1 metrics depend on annotations, so the conversion to the
        internal type sets them, and drops annotations that it cannot read."""
        super().default(obj)
        self._change(obj, lambda internal: None)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        self._change(obj, partial(super().prepare_for_create, context))

    def prepare_for_update(self, context: Context, obj: Object, old: Object) -> None:
        """Keep the parts of the old object that a write must not change, also those that
        annotations of v1 contain."""
        self._change(obj, partial(super().prepare_for_update, context, old=self._internal(old)))

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

    def _change(self, obj: Object, change: Callable[[Object], None]) -> None:
        """Change an object of any version in its internal form."""
        version = obj.get("apiVersion", self.gvk.api_version)
        if version == self.gvk.api_version:
            change(obj)
            return
        internal = self._internal(obj)
        change(internal)
        obj.update(conversion.convert(internal, version))

    def _internal(self, obj: Object) -> Object:
        return conversion.convert(obj, self.gvk.api_version)
