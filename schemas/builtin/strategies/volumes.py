"""Persistent volumes, claims and CSI drivers, as stored objects. core.storage.rules and
storage.rules contain the rules for fields."""

from inkube.schemas.builtin.strategies.base import BuiltinStrategy, keep
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same
from inkube.schemas.strategy import Context

_SOURCES_OF_DATA = frozenset({
    ("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"),
})  # fmt: skip


class _Phased(BuiltinStrategy):
    """The behavior of volumes and claims: an object without a phase is Pending (defaults.go)."""

    def default(self, obj: Object) -> None:
        super().default(obj)
        status = obj.get("status") or {}
        if not status.get("phase"):
            obj["status"] = {**status, "phase": "Pending"}


class Claims(_Phased):
    """The strategy of PersistentVolumeClaims: it sets their phase, and copies data sources."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        obj["status"] = {"phase": "Pending"}
        _prepare_sources(obj["spec"], {})

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _prepare_sources(obj["spec"], old["spec"])


class Volumes(_Phased):
    """The strategy of PersistentVolumes: it sets the phase of new ones, and the time of each change
    of the phase."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": context.now}

    def prepare_status(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_status(context, obj, old)
        new, before = obj.setdefault("status", {}), old.get("status") or {}
        member = "lastPhaseTransitionTime"
        is_set = member in new  # Go's zero time is set, and null
        if new.get("phase") == before.get("phase"):
            if not is_set:
                keep(new, before, member)
        elif not is_set or new[member] == before.get(member):
            new[member] = context.now


class Drivers(BuiltinStrategy):
    """The strategy of CSIDrivers: the first change of the spec sets the generation 1."""

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        if not same(obj.get("spec"), old.get("spec")):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _prepare_sources(spec: Object, old: Object) -> None:
    """Settle the sources of data of a claim in place (PrepareForCreate, PrepareForUpdate)."""
    if (spec.get("dataSourceRef") or {}).get("namespace") and not old.get("dataSourceRef"):
        del spec["dataSourceRef"]  # its gate is off (DropDisabledFields)
    if not (spec.get("dataSourceRef") or old.get("dataSource") or old.get("dataSourceRef")):
        _drop_foreign_source(spec)
    _join_sources(spec)


def _drop_foreign_source(spec: Object) -> None:
    """Remove a dataSource that is neither a claim nor a snapshot, as servers did before
    dataSourceRef existed (EnforceDataSourceBackwardsCompatibility)."""
    source = spec.get("dataSource") or {}
    if source and (source.get("apiGroup") or "", source.get("kind")) not in _SOURCES_OF_DATA:
        del spec["dataSource"]


def _join_sources(spec: Object) -> None:
    """Copy dataSource to a missing dataSourceRef, or a dataSourceRef in the same namespace to a
    missing dataSource, in place (NormalizeDataSources)."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)
