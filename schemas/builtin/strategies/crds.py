"""CustomResourceDefinitions in the registry. `schemas.crds` contains their rules.

Follows apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go.
"""

from inkube.schemas import crds
from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.lazyproperty import cached_property
from inkube.schemas.metadata import objectmeta
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context


class Definitions(BuiltinStrategy):
    """The strategy of CustomResourceDefinitions."""

    @cached_property
    def _warns(self) -> bool:
        """Whether unknown formats cause a warning in this minor version."""
        return self.definition.minor >= crds.FORMATS_WARN

    def default(self, obj: Object) -> None:
        crds.default(obj)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        crds.prepare_create(obj)

    def prepare_for_update(self, context: Context, obj: Object, old: Object) -> None:
        if context.subresource == "status":
            crds.prepare_status_update(obj, old)
        else:
            crds.prepare_update(obj, old)

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        return crds.validate_create(obj, self.definition.minor)

    def validate_update(self, context: Context, obj: Object, old: Object) -> list[FieldError]:
        errors = objectmeta.validate_update(obj["metadata"], old["metadata"], namespaced=False)
        if context.subresource == "status":
            return errors + crds.validate_status_update(obj, old)
        return errors + crds.validate_update(obj, old, self.definition.minor)

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return crds.warnings(obj) if self._warns else []

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        if not self._warns or context.subresource == "status":
            return []
        return crds.warnings(obj, old)

    def prepare_for_delete(self, obj: Object, now: str) -> bool:
        return crds.prepare_delete(obj, now)
