"""Volumes, claims, storage classes and CSI drivers, as stored objects.

Follows core validation ValidatePersistentVolume(Claim) and pkg/apis/storage.
"""

from inkube.schemas import fielderrors, quantity
from inkube.schemas.builtin.behaviours import checks, naming, scheduling
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, same
from inkube.schemas.builtin.behaviours.pods import defaults as poddefaults
from inkube.schemas.builtin.behaviours.pods import volumes
from inkube.schemas.builtin.behaviours.pods import warnings as podwarnings
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_CLAIM_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims\n"
)


_ALONE = "ReadWriteOncePod"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_POSITIVE = "must be greater than zero"
_SOURCES_OF_DATA = frozenset({
    ("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"),
})  # fmt: skip


def _access_modes(spec: Object) -> list[FieldError]:
    modes = spec.get("accessModes") or []
    errors = [
        fielderrors.not_supported("spec.accessModes", mode, _MODES)
        for mode in modes
        if mode not in _MODES
    ]
    if _ALONE in modes and len(modes) > 1:
        why = f"may not use {_ALONE} with other access modes"
        errors.append(fielderrors.forbidden("spec.accessModes", why))
    return errors


def _class_warnings(obj: Object) -> list[str]:
    if _BETA_CLASS not in (obj["metadata"].get("annotations") or {}):
        return []
    where = f"metadata.annotations[{_BETA_CLASS}]"
    return [f'{where}: deprecated since v1.8; use "storageClassName" attribute instead']


class Claims(BuiltinStrategy):
    """Nothing but requests may change."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("volumeMode", "Filesystem")
        for member in ("dataSource", "dataSourceRef"):
            if spec.get(member) is not None:
                spec[member].setdefault("apiGroup", None)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        obj["status"] = {"phase": "Pending"}
        _join_sources(obj["spec"])

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        """pkg/api/persistentvolumeclaim, GetWarningsForPersistentVolumeClaim."""
        requests = (obj["spec"].get("resources") or {}).get("requests") or {}
        path = "spec.resources.requests"
        return [*_class_warnings(obj), *podwarnings.fractions(requests, "storage", path)]

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        if not spec.get("accessModes"):
            why = "at least 1 access mode is required"
            errors.append(fielderrors.required("spec.accessModes", why))
        errors += _access_modes(spec)
        errors += checks.label_selector(spec.get("selector"), "spec.selector")
        storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
        path = "spec.resources[storage]"
        if storage is None:
            errors.append(fielderrors.required(path))
        elif quantity.parse(storage).sign <= 0:
            errors.append(fielderrors.invalid(path, storage, _POSITIVE))
        if spec.get("storageClassName"):
            name = spec["storageClassName"]
            errors += checks.named(name, "spec.storageClassName", naming.subdomain)
        mode = spec.get("volumeMode")
        if mode is not None and mode not in _VOLUME_MODES:
            errors.append(fielderrors.not_supported("spec.volumeMode", mode, _VOLUME_MODES))
        return errors + _sources_of_data(spec)

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self.check(obj)
        bound = (old.get("status") or {}).get("phase") == "Bound"
        new, before = (_fixed_part(one, bound=bound) for one in (obj, old))
        if before.get("storageClassName") is None:
            annotations = old["metadata"].get("annotations") or {}
            if _OLD_CLASS not in annotations:
                new.pop("storageClassName", None)  # the default class may come later
        if not same(new, before):
            errors.append(fielderrors.forbidden("spec", _CLAIM_FIXED))
        elif bound:
            asked, had = (_storage(one["spec"], "requests") for one in (obj, old))
            there = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
            if asked < had and asked < quantity.parse(there):
                why = "field can not be less than status.capacity"
                errors.append(fielderrors.forbidden("spec.resources.requests.storage", why))
        return errors


def _storage(spec: Object, member: str) -> quantity.Quantity:
    return quantity.parse(((spec.get("resources") or {}).get(member) or {}).get("storage", "0"))


def _fixed_part(claim: Object, *, bound: bool) -> Object:
    """What of a claim's spec stays: all but its volume, and its size once it is bound."""
    free = ("volumeName", "volumeAttributesClassName") if bound else ("volumeName",)
    spec = {name: value for name, value in claim["spec"].items() if name not in free}
    if bound:
        resources = dict(spec.get("resources") or {})
        requests = resources.get("requests") or {}
        resources["requests"] = {k: v for k, v in requests.items() if k != "storage"}
        spec["resources"] = resources
    return spec


class Volumes(BuiltinStrategy):
    """Persistent volumes."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        poddefaults.fill(
            spec, {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}
        )
        if spec.get("hostPath") is not None:
            spec["hostPath"].setdefault("type", "")

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        obj["status"] = {"phase": "Pending"}

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        if not spec.get("accessModes"):
            errors.append(fielderrors.required("spec.accessModes"))
        errors += _access_modes(spec)
        capacity = spec.get("capacity") or {}
        if not capacity:
            errors.append(fielderrors.required("spec.capacity"))
        if capacity.keys() != {"storage"}:
            shown = spec.get("capacity") or None
            errors.append(fielderrors.not_supported("spec.capacity", shown, ["storage"]))
        for name, amount in sorted(capacity.items()):
            if name == "storage":
                errors += _amount(amount, f"spec.capacity[{name}]")
        errors += _source_of_volume(spec)
        policies = ("Delete", "Recycle", "Retain")
        policy = spec.get("persistentVolumeReclaimPolicy")
        if policy not in policies:
            place = "spec.persistentVolumeReclaimPolicy"
            errors.append(fielderrors.not_supported(place, policy or "", policies))
        mode = spec.get("volumeMode")
        if mode is not None and mode not in _VOLUME_MODES:
            errors.append(fielderrors.not_supported("spec.volumeMode", mode, _VOLUME_MODES))
        if spec.get("storageClassName"):
            name = spec["storageClassName"]
            errors += checks.named(name, "spec.storageClassName", naming.subdomain)
        if _MOUNTS in (obj["metadata"].get("annotations") or {}) or spec.get("mountOptions"):
            errors += _mount_options(spec)
        return errors + _node_affinity(spec)

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self.check(obj)
        spec, before = obj["spec"], old["spec"]
        new, kept = ({name: one[name] for name in _sources(one)} for one in (spec, before))
        if not same(new, kept):
            why = "spec.persistentvolumesource is immutable after creation\n"
            errors.append(fielderrors.forbidden("spec.persistentvolumesource", why))
        errors += checks.immutable(spec, before, "spec.", "volumeMode")
        affinity, known = spec.get("nodeAffinity"), before.get("nodeAffinity")
        if known and not same(affinity, known):
            errors.append(fielderrors.invalid("spec.nodeAffinity", affinity, checks.IMMUTABLE))
        return errors

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        """pkg/api/persistentvolume, GetWarningsForPersistentVolume."""
        spec = obj["spec"]
        found = _class_warnings(obj)
        mounts = _MOUNTS
        if mounts in (obj["metadata"].get("annotations") or {}):
            where = f"metadata.annotations[{mounts}]"
            found.append(
                f'{where}: deprecated since v1.31; use "spec.mountOptions" attribute instead'
            )
        if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
            found.append(
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
                "Instead, the recommended approach is to use dynamic provisioning."
            )
        capacity = spec.get("capacity") or {}
        return [*found, *podwarnings.fractions(capacity, "storage", "spec.capacity")]


_MOUNTS = "volume.beta.kubernetes.io/mount-options"
_MOUNTED = frozenset({
    "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi",
    "gcePersistentDisk", "glusterfs", "iscsi", "nfs", "rbd", "vsphereVolume",
})  # fmt: skip
"""Sources that mount with options (pkg/volume/validation)."""


def _mount_options(spec: Object) -> list[FieldError]:
    if _MOUNTED.intersection(_sources(spec)):
        return []
    why = "may not specify mount options for this volume type"
    return [fielderrors.forbidden("metadata.annotations", why)]


_NO_SOURCES = frozenset({"capacity", "claimRef", "nodeAffinity"})


def _join_sources(spec: Object) -> None:
    """dataSource and dataSourceRef tell the same where one is missing (NormalizeDataSources)."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        group, kind = reference.get("apiGroup") or "", reference.get("kind")
        if (group, kind) in _SOURCES_OF_DATA:
            spec["dataSource"] = dict(reference)


def _sources_of_data(spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for member in ("dataSource", "dataSourceRef"):
        given = spec.get(member)
        if given is None:
            continue
        errors += [
            fielderrors.required(f"spec.{member}.{part}")
            for part in ("name", "kind")
            if not given.get(part)
        ]
        if not given.get("apiGroup") and given.get("kind") not in ("", "PersistentVolumeClaim"):
            why = "apiGroup is required when kind is not 'PersistentVolumeClaim'"
            errors.append(fielderrors.invalid(f"spec.{member}", given.get("kind", ""), why))
    if source is not None and reference is not None and not reference.get("namespace"):
        parts = ("apiGroup", "kind", "name")
        if any((source.get(part) or "") != (reference.get(part) or "") for part in parts):
            shown = fielderrors.Verbatim("{}")
            errors.append(fielderrors.invalid("spec", shown, "must match dataSourceRef"))
    return errors


def _sources(spec: Object) -> list[str]:
    given = [m for m in spec if isinstance(spec[m], dict) and m not in _NO_SOURCES]
    order = volumes.ORDER
    return sorted(given, key=lambda m: order.index(m) if m in order else len(order))


def _amount(amount: str, path: str) -> list[FieldError]:
    found = quantity.parse(amount)
    errors: list[FieldError] = []
    if found.sign < 0:
        shown = found.value * 10**found.scale if found.scale >= 0 else amount
        errors.append(fielderrors.invalid(path, shown, "must be a valid resource quantity"))
    if found.sign <= 0:
        errors.append(fielderrors.invalid(path, amount, _POSITIVE))
    return errors


def _source_of_volume(spec: Object) -> list[FieldError]:
    sources = _sources(spec)
    if not sources:
        return [fielderrors.required("spec", "must specify a volume type")]
    first = sources[0]
    errors = volumes.source(first, spec[first], f"spec.{first}")
    if first == "local" and not spec[first].get("path"):
        errors.append(fielderrors.required("spec.local.path"))
    if first == "csi" and not spec[first].get("volumeHandle"):
        errors.append(fielderrors.required("spec.csi.volumeHandle"))
    recycled = spec.get("persistentVolumeReclaimPolicy") == "Recycle"
    if first == "hostPath" and spec[first].get("path") == "/" and recycled:
        why = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(fielderrors.forbidden("spec.persistentVolumeReclaimPolicy", why))
    return errors + [
        fielderrors.forbidden(f"spec.{member}", "may not specify more than 1 volume type")
        for member in sources[1:]
    ]


def _node_affinity(spec: Object) -> list[FieldError]:
    affinity, path = spec.get("nodeAffinity"), "spec.nodeAffinity"
    if affinity is None:
        if spec.get("local") is not None:
            return [fielderrors.required(path, "Local volume requires node affinity")]
        return []
    if affinity.get("required") is None:
        return [fielderrors.required(f"{path}.required", "must specify required node constraints")]
    return scheduling.node_selector(affinity["required"], f"{path}.required")
