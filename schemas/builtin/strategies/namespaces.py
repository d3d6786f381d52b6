"""Namespaces: the label of the name, the finalizer, the phase. core.rules contains the rules.

Follows pkg/registry/core/namespace/strategy.go.
"""

from inkube.schemas.builtin.rules import UNCHECKED, MetadataChecks
from inkube.schemas.builtin.strategies.base import BuiltinStrategy, keep
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


class Namespaces(BuiltinStrategy):
    """The strategy of Namespaces: only /finalize changes `spec.finalizers`, and only /status the
    status."""

    def default(self, obj: Object) -> None:
        meta = obj["metadata"]
        if meta.get("name"):
            meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: meta["name"]}
        if not (found := obj.get("status") or {}).get("phase"):
            obj["status"] = {**found, "phase": "Active"}

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        self.default(obj)
        obj["status"] = {"phase": "Active"}
        spec = obj.setdefault("spec", {})
        finalizers = spec.get("finalizers") or []
        if FINALIZER not in finalizers:
            spec["finalizers"] = [*finalizers, FINALIZER]

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        keep(obj, old, "spec")
        keep(obj, old, "status")

    def prepare_part(self, context: Context, obj: Object, old: Object) -> None:
        """Keep the status, because /finalize changes only the spec."""
        keep(obj, old, "status")

    def prepare_for_delete(self, obj: Object, now: str) -> bool:
        """Mark the namespace as Terminating. Returns False if it is already marked and has no
        finalizers, so that it can be removed."""
        if "deletionTimestamp" in obj["metadata"]:
            return not self.should_delete_during_update(obj)
        obj["metadata"]["deletionTimestamp"] = now
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        return True

    def should_delete_during_update(self, obj: Object) -> bool:
        return not (obj.get("spec") or {}).get("finalizers")

    def check(self, obj: Object) -> list[FieldError]:
        """Return the errors of the object. The start of a server writes namespaces, and must not
        load the table of rules, which is needed only for finalizers other than the usual one."""
        found = (obj.get("spec") or {}).get("finalizers")
        return [] if found == [FINALIZER] else super().check(obj)

    def check_update(
        self, obj: Object, old: Object, meta: MetadataChecks = UNCHECKED
    ) -> list[FieldError]:
        return meta.metadata() + self.check(obj) + meta.changes()

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        """Return no warnings, without the table of rules."""
        return []

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return []
