"""Namespaces: the label of the name, the finalizer, the phase.

Follows pkg/registry/core/namespace/strategy.go and ValidateNamespace of core validation.
"""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import metadata
from inkube.schemas.builtin.behaviours.base import Behaviour, keep
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


class Namespaces(Behaviour):
    """`spec.finalizers` changes through /finalize only, the status through /status."""

    name_check = "label"
    deletes_itself = True
    returns_deleted = True

    def default(self, obj: Object) -> None:
        meta = obj["metadata"]
        if meta.get("name"):
            meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: meta["name"]}
        if not (found := obj.get("status") or {}).get("phase"):
            obj["status"] = {**found, "phase": "Active"}

    def prepare_create(self, obj: Object) -> None:
        self.default(obj)
        obj["status"] = {"phase": "Active"}
        spec = obj.setdefault("spec", {})
        finalizers = spec.get("finalizers") or []
        if FINALIZER not in finalizers:
            spec["finalizers"] = [*finalizers, FINALIZER]

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep(obj, old, "spec")
        keep(obj, old, "status")

    def prepare_part(self, name: str, obj: Object, old: Object) -> None:
        """A write to /finalize changes the spec alone."""
        keep(obj, old, "status")

    def prepare_delete(self, obj: Object, now: str) -> bool:
        """Terminating first; what `spec.finalizers` names lets go of it later."""
        if "deletionTimestamp" in obj["metadata"]:
            return not self.may_go(obj)
        obj["metadata"]["deletionTimestamp"] = now
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        return True

    def may_go(self, obj: Object) -> bool:
        return not (obj.get("spec") or {}).get("finalizers")

    def check(self, obj: Object) -> list[FieldError]:
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        return metadata.finalizers(finalizers, "spec.finalizers", counted=False)

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        """Nobody is warned. A start writes namespaces, so the table of rules has none of it."""
        return []

    def validate_part(self, name: str, obj: Object, old: Object) -> list[FieldError]:
        """What /finalize is sent."""
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        return metadata.finalizers(finalizers, "spec.finalizers", counted=True)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        phase = (obj.get("status") or {}).get("phase", "")
        deleted = bool(obj["metadata"].get("deletionTimestamp"))
        wanted = "Terminating" if deleted else "Active"
        if phase == wanted:
            return []
        negation = "not " if deleted else ""
        why = f"may only be '{wanted}' if `deletionTimestamp` is {negation}empty"
        return [fielderrors.invalid("status.Phase", phase, why)]
