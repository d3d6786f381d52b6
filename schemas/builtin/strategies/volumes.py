"""Persistent volumes and claims, as stored objects. core.storage.rules contains the rules for
fields."""

from inkube.schemas.builtin.strategies.base import BuiltinStrategy
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_SOURCES_OF_DATA = frozenset({
    ("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"),
})  # fmt: skip


class Claims(BuiltinStrategy):
    """The strategy of PersistentVolumeClaims: it sets their phase, and copies data sources."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        obj["status"] = {"phase": "Pending"}
        _drop_foreign_source(obj["spec"], {})
        _join_sources(obj["spec"])

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _drop_foreign_source(obj["spec"], old["spec"])
        _join_sources(obj["spec"])


class Volumes(BuiltinStrategy):
    """The strategy of PersistentVolumes: it sets the phase of new ones."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        obj["status"] = {"phase": "Pending"}


def _drop_foreign_source(spec: Object, old: Object) -> None:
    """Remove a source in another namespace, because its gate is off, in place
    (DropDisabledFields)."""
    if (spec.get("dataSourceRef") or {}).get("namespace") and not old.get("dataSourceRef"):
        del spec["dataSourceRef"]


def _join_sources(spec: Object) -> None:
    """Copy dataSource to a missing dataSourceRef, or a dataSourceRef of a claim or snapshot in the
    same namespace to a missing dataSource, in place (NormalizeDataSources)."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        group, kind = reference.get("apiGroup") or "", reference.get("kind")
        if (group, kind) in _SOURCES_OF_DATA:
            spec["dataSource"] = dict(reference)
